# What plays a fleet of agents.
if(TARGET heapcast_ingest)
	add_executable(bench-player player.c player_options.c player_told.c played.c)
	target_link_libraries(bench-player PRIVATE heapcast_ingest heapcast_store heapcast_flags)
	set_target_properties(bench-player PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()

# What is played: many call sites.
add_executable(bench-sites sites.c)
target_link_libraries(bench-sites PRIVATE heapcast_flags)
target_compile_options(bench-sites PRIVATE -fno-builtin -fno-optimize-sibling-calls)
set_target_properties(bench-sites PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
