# Many sums by minute, for tests/bench/fleet-top.
if(TARGET heapcast_sums AND TARGET heapcast_clickhouse)
	add_executable(made-sums made_sums.c)
	target_link_libraries(made-sums PRIVATE heapcast_sums heapcast_query heapcast_store heapcast_proto heapcast_base heapcast_flags)
	set_target_properties(made-sums PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()
