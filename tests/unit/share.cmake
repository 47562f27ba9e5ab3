if(NOT TARGET heapcast_share)
	return()
endif()
heapcast_unit_tests(share heapcast_share heapcast_clickhouse heapcast_fleet heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
