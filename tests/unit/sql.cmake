# SQL over small recordings.
if(TARGET heapcast_sql)
	heapcast_unit_tests(sql heapcast_sql heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
endif()
