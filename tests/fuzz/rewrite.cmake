# A recording from the first frame to one that is written anew.
if(TARGET heapcast_store)
	heapcast_fuzz_target(rewrite heapcast_store)
endif()
