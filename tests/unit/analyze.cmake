# The reader of collapsed stacks, and the analysis of stacks by rules.
if(TARGET heapcast_analyze)
	heapcast_unit_tests(analyze heapcast_analyze heapcast_collapsed heapcast_query heapcast_base)
endif()
