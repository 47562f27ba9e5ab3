# What plays a fleet of agents.
if(TARGET heapcast_ingest)
	add_executable(bench-player player.c player_options.c played.c)
	target_link_libraries(bench-player PRIVATE heapcast_ingest heapcast_store heapcast_flags)
	set_target_properties(bench-player PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()
