# Maps: the parser of smaps, and the steps that a collector puts together.
if(TARGET heapcast_streamer AND TARGET heapcast_store)
	heapcast_fuzz_target(maps heapcast_streamer heapcast_store)
endif()
