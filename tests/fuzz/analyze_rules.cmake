# Rules for collector analyze.
if(TARGET heapcast_analyze)
	heapcast_fuzz_target(analyze_rules heapcast_analyze heapcast_base)
endif()
