# Recordings are those of the tests of queries.
if(NOT TARGET heapcast_snapshot)
	return()
endif()
heapcast_unit_tests(snapshot heapcast_snapshot heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
