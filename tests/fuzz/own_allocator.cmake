if(TARGET heapcast_streamer)
	heapcast_fuzz_target(own_allocator heapcast_streamer)
endif()
