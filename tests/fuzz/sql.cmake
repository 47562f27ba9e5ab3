# Statements of SQL, and conditions of filters.
if(TARGET heapcast_sql)
	heapcast_fuzz_target(sql heapcast_sql heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
endif()
