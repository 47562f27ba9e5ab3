# The search for allocators inside a program file.
if(TARGET heapcast_streamer)
	heapcast_fuzz_target(own_allocator heapcast_streamer)
endif()
