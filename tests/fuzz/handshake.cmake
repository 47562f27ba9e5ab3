if(TARGET heapcast_streamer)
	heapcast_fuzz_target(handshake heapcast_streamer)
endif()
