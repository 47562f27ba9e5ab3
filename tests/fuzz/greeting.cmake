# The query string of a request, and the questions that it asks.
if(TARGET heapcast_http)
	heapcast_fuzz_target(greeting heapcast_http heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
endif()
