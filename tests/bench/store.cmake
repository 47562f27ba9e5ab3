# What the collector's store does with recordings of any size.
if(TARGET heapcast_store)
	foreach(program generate intake)
		add_executable(bench-${program} ${program}.c)
		target_link_libraries(bench-${program} PRIVATE heapcast_store heapcast_flags)
		set_target_properties(bench-${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
	endforeach()
endif()
