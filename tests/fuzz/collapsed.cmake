# Files of collapsed stacks, and what is made of them.
if(TARGET heapcast_analyze)
	heapcast_fuzz_target(collapsed heapcast_analyze heapcast_collapsed heapcast_writers heapcast_query heapcast_base)
endif()
