# A compressed recording that says anything.
if(TARGET heapcast_store)
	heapcast_fuzz_target(compressed heapcast_store)
endif()
