# Orders that an agent reads off a link.
if(TARGET heapcast_streamer)
	heapcast_fuzz_target(orders heapcast_streamer)
endif()
