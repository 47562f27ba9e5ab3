# Where uprobes go, held against objdump, nm and a debugger's single steps: of this processor.
if(TARGET heapcast_ebpf AND NOT CMAKE_CROSSCOMPILING)
	heapcast_unit_tests(sites heapcast_ebpf)

	# Programs with an allocator inside, for unit.sites.places; where a static library is missing, one less.
	set(sites_folder ${CMAKE_BINARY_DIR}/tests/sites)
	set(sites_made)
	function(heapcast_sites_program name library)
		if(NOT library)
			return()
		endif()
		string(REPLACE "none" "" library ${library})
		add_custom_command(OUTPUT ${sites_folder}/${name}
			COMMAND ${CMAKE_COMMAND} -E make_directory ${sites_folder}
			COMMAND g++ -O2 -w -static -o ${sites_folder}/${name} ${CMAKE_CURRENT_SOURCE_DIR}/sites/programs/program.cc
				-Wl,--whole-archive ${library} -Wl,--no-whole-archive -Wl,--no-warnings
			DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/sites/programs/program.cc VERBATIM)
		set(sites_made ${sites_made} ${sites_folder}/${name} PARENT_SCOPE)
	endfunction()
	find_library(HEAPCAST_STATIC_JEMALLOC libjemalloc.a)
	find_library(HEAPCAST_STATIC_TCMALLOC libtcmalloc_minimal.a)
	heapcast_sites_program(static-libc none)
	heapcast_sites_program(static-jemalloc ${HEAPCAST_STATIC_JEMALLOC})
	heapcast_sites_program(static-tcmalloc ${HEAPCAST_STATIC_TCMALLOC})
	add_custom_command(OUTPUT ${sites_folder}/operators
		COMMAND ${CMAKE_COMMAND} -E make_directory ${sites_folder}
		COMMAND g++ -O2 -w -o ${sites_folder}/operators ${CMAKE_CURRENT_SOURCE_DIR}/sites/programs/operators.cc
		DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/sites/programs/operators.cc VERBATIM)
	add_custom_target(sites_programs DEPENDS ${sites_made} ${sites_folder}/operators)
	if(HEAPCAST_SANITIZE)
		target_compile_definitions(unit.sites.traced PRIVATE SKIP_REASON="a sanitizer does not go with another malloc")
	endif()
	add_dependencies(unit.sites.places sites_programs)
	target_compile_definitions(unit.sites.places PRIVATE SITES_FOLDER="${sites_folder}")
endif()
