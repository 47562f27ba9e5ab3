# A catalogue that says anything.
if(TARGET heapcast_store)
	heapcast_fuzz_target(catalogue heapcast_store)
endif()
