# The preload library: each source is a test; they share an agent of their own (preload/support), and run the programs of
# tests/targets. (Which an emulator of one process, as cross compiled tests have it, does not start.)
if(HEAPCAST_AGENT AND NOT CMAKE_CROSSCOMPILING)
	add_library(preload_support STATIC ${CMAKE_CURRENT_LIST_DIR}/preload/support/ring_agent.c
		${CMAKE_CURRENT_LIST_DIR}/preload/support/tally.c)
	target_link_libraries(preload_support PRIVATE heapcast_flags heapcast_sanitize PUBLIC m)
	target_compile_definitions(preload_support PRIVATE BUILD_FOLDER="${CMAKE_BINARY_DIR}"
		PUBLIC SOURCE_FOLDER="${CMAKE_SOURCE_DIR}")

	heapcast_unit_tests(preload preload_support)

	file(GLOB preload_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/preload/*.c)
	foreach(source ${preload_tests})
		get_filename_component(name ${source} NAME_WE)
		set_tests_properties(unit.preload.${name} PROPERTIES RUN_SERIAL ON)
		add_dependencies(unit.preload.${name} heapcast_preload targets_cxx target_allocators target_api_c target_cancel target_churn target_clones
			target_closer target_cxx_loader target_death target_dlopener target_exec_self target_fake_agent target_family target_first_vfork target_fork_all
			target_forks target_handover target_jumper target_jump_alloc target_late_frees target_left_lock target_linked target_mappings target_marks target_modes target_nested
			target_plugin1 target_plugin2 target_sampled target_sandbox target_short_threads target_sigtimer target_stamps target_switches target_taken target_tls_user target_toggles
			target_zeroed)
	endforeach()
endif()
