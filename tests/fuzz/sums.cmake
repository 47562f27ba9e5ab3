# The sums that are kept beside a recording.
if(TARGET heapcast_query)
	heapcast_fuzz_target(sums heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
endif()
