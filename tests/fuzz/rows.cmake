# A packed block of rows, all columns.
if(TARGET heapcast_store)
	heapcast_fuzz_target(rows heapcast_store)
endif()
