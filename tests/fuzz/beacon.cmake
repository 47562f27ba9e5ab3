if(TARGET heapcast_ingest)
	heapcast_fuzz_target(beacon heapcast_ingest)
endif()
