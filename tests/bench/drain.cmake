# What the agent's drain thread costs.
add_executable(bench-drain drain.c)
target_link_libraries(bench-drain PRIVATE heapcast_streamer heapcast_proto heapcast_base heapcast_flags)
set_target_properties(bench-drain PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
heapcast_whole(bench-drain)
