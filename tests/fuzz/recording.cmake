# A recording from the first frame to its rows.
if(TARGET heapcast_store)
	heapcast_fuzz_target(recording heapcast_store)
endif()
