# What questions cost for each row.
if(TARGET heapcast_query)
	add_executable(bench-queries queries.c)
	target_link_libraries(bench-queries PRIVATE heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base
		heapcast_flags)
	set_target_properties(bench-queries PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()
