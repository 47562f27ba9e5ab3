# Cost of the walk in the kernel, beside a probe that does nothing. Run as root.
if(TARGET heapcast_ebpf AND NOT CMAKE_CROSSCOMPILING)
	heapcast_bpf(walk_bench walk_kernel/walk.bpf.c)
	add_executable(bench.walk walk.c)
	target_link_libraries(bench.walk PRIVATE heapcast_ebpf heapcast_bpf_walk_bench heapcast_flags)
	target_compile_options(bench.walk PRIVATE -O2 -fomit-frame-pointer -fno-optimize-sibling-calls)
	set_target_properties(bench.walk PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()
