# Costs of what runs in the kernel. Run as root.
if(TARGET heapcast_ebpf AND NOT CMAKE_CROSSCOMPILING)
	heapcast_bpf(walk_bench walk_kernel/walk.bpf.c)
	add_executable(bench.walk walk.c)
	target_link_libraries(bench.walk PRIVATE heapcast_ebpf heapcast_bpf_walk_bench heapcast_flags)
	target_compile_options(bench.walk PRIVATE -O2 -fomit-frame-pointer -fno-optimize-sibling-calls)
	set_target_properties(bench.walk PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

	# What tests/bench/attach can't be cheaper than.
	add_executable(bench-bare bare.c)
	target_link_libraries(bench-bare PRIVATE heapcast_ebpf heapcast_flags)
	set_target_properties(bench-bare PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()
