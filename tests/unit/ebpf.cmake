# The walk in the kernel and the agent's of other processes, against the engine at home.
if(TARGET heapcast_ebpf)
	heapcast_bpf(walk_test ebpf/kernel/walk.bpf.c)
	add_library(heapcast_ebpf_tests INTERFACE)
	target_link_libraries(heapcast_ebpf_tests INTERFACE heapcast_ebpf heapcast_unwind heapcast_bpf_walk_test Threads::Threads
		${CMAKE_DL_LIBS})
	heapcast_unit_tests(ebpf heapcast_ebpf_tests)
	add_dependencies(unit.ebpf.remote unwind_shapes)
	# It copies its own stack.
	set_source_files_properties(ebpf/remote.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
	add_dependencies(unit.ebpf.walk unwind_shapes)
	target_include_directories(unit.ebpf.walk PRIVATE ${CMAKE_CURRENT_LIST_DIR}/ebpf/arch/${HEAPCAST_BPF_ARCH})
	target_compile_options(unit.ebpf.walk PRIVATE -O2 -fomit-frame-pointer -fno-optimize-sibling-calls)
	set_tests_properties(unit.ebpf.walk PROPERTIES TIMEOUT 300)
endif()
