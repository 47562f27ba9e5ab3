if(TARGET heapcast_streamer)
	heapcast_fuzz_target(ring heapcast_streamer)
endif()
