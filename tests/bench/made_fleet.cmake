# Recordings of a made-up fleet, for collector fleet.
if(TARGET heapcast_store)
	add_executable(made-fleet made_fleet.c)
	target_link_libraries(made-fleet PRIVATE heapcast_store heapcast_proto heapcast_base heapcast_flags)
	set_target_properties(made-fleet PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()
