# The agent's steps as the collector reads them: both sides in one program.
if(TARGET heapcast_streamer AND TARGET heapcast_store)
	heapcast_unit_tests(maps heapcast_streamer heapcast_store heapcast_proto heapcast_base)
endif()
