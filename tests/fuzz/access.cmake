# What a request says of who asks.
if(TARGET heapcast_http)
	heapcast_fuzz_target(access heapcast_http heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
endif()
