# A whole agent, and programs of this machine that ask it.
if(CMAKE_CROSSCOMPILING)
	return()
endif()
heapcast_unit_tests(serve heapcast_streamer heapcast_proto heapcast_base)
