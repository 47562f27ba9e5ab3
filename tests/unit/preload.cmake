# The preload library: each source is a test; they share an agent of their own (preload/support), and run the programs of
# tests/targets.
if(HEAPCAST_AGENT AND TARGET heapcast_preload AND NOT HEAPCAST_SANITIZE)
	add_library(preload_support STATIC ${CMAKE_CURRENT_LIST_DIR}/preload/support/ring_agent.c
		${CMAKE_CURRENT_LIST_DIR}/preload/support/ring_agent_read.c
		${CMAKE_CURRENT_LIST_DIR}/preload/support/tally.c)
	target_link_libraries(preload_support PRIVATE heapcast_flags heapcast_sanitize PUBLIC m)
	target_compile_definitions(preload_support PRIVATE BUILD_FOLDER="${CMAKE_BINARY_DIR}"
		PUBLIC SOURCE_FOLDER="${CMAKE_SOURCE_DIR}")

	# Those of another processor are started by way of the kernel (emulated), as qemu-user starts none; what asks for this machine's
	# programs, or for an agent that the library starts, has none there.
	if(CMAKE_CROSSCOMPILING)
		set(but EXCEPT programs starting)
		math(EXPR class "${CMAKE_SIZEOF_VOID_P} / 4")
		set(machine_aarch64 b7)
		set(machine_arm 28)
		set(machine_mips64 08)
		string(CONCAT kind [[\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x]] ${machine_${CMAKE_SYSTEM_PROCESSOR}} [[\x00]])
		if(CMAKE_C_BYTE_ORDER STREQUAL BIG_ENDIAN)
			string(CONCAT kind [[\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x]] ${machine_${CMAKE_SYSTEM_PROCESSOR}})
		endif()
		string(CONCAT magic [[\x7fELF\x0]] ${class} ${kind})
		# The sysroot has no library of C++; the compiler has.
		file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tests/libraries)
		if(CMAKE_CXX_COMPILER)
			foreach(library libstdc++.so.6 libgcc_s.so.1)
				execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library}
					OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
				file(CREATE_LINK ${path} ${CMAKE_BINARY_DIR}/tests/libraries/${library} SYMBOLIC)
			endforeach()
		endif()
		list(GET CMAKE_CROSSCOMPILING_EMULATOR 0 qemu)
		set(emulated ${CMAKE_CURRENT_LIST_DIR}/emulated ${qemu} ${BOARD_ROOT} ${magic} ${CMAKE_BINARY_DIR}/tests/libraries)
	endif()
	heapcast_unit_tests(preload preload_support ${but})

	file(GLOB preload_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/preload/*.c)
	foreach(source ${preload_tests})
		get_filename_component(name ${source} NAME_WE)
		if(NOT TARGET unit.preload.${name})
			continue()
		endif()
		if(CMAKE_CROSSCOMPILING)
			set_target_properties(unit.preload.${name} PROPERTIES CROSSCOMPILING_EMULATOR "${emulated}")
		endif()
		set_tests_properties(unit.preload.${name} PROPERTIES RUN_SERIAL ON)
		add_dependencies(unit.preload.${name} heapcast_preload targets_cxx target_allocators target_api_c target_cancel target_churn target_clones
			target_closer target_cxx_loader target_death target_deep_twice target_dlopener target_exec_self target_fake_agent target_family target_first_vfork target_fork_all
			target_forks target_handover target_jumper target_jump_alloc target_late_frees target_left_lock target_linked target_mappings target_marker_order target_marks target_modes target_nested
			target_plugin1 target_plugin2 target_reused target_sampled target_sandbox target_short_threads target_sigtimer target_stamps target_stepped target_switches target_taken target_tls_user target_toggles target_unlike
			target_words target_zeroed)
	endforeach()

	# It steps through a hook instruction by instruction: 20 s alone, and a minute where others work, too.
	math(EXPR stepping "300 * ${patience}")
	set_tests_properties(unit.preload.signals PROPERTIES TIMEOUT ${stepping})

	# The part of the library that runs filters.
	target_sources(unit.preload.calls PRIVATE ${CMAKE_SOURCE_DIR}/agent/preload/record/filter.c)
	target_include_directories(unit.preload.calls PRIVATE $<TARGET_PROPERTY:heapcast_preload,INCLUDE_DIRECTORIES>)
endif()
