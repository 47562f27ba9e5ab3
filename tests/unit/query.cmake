# recording.h builds on the recording builder of tests/unit/store.
if(NOT TARGET heapcast_query)
	return()
endif()
heapcast_unit_tests(query heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
# With HEAPCAST_TEST_FULL thousands of programs, each received by stores that are killed.
math(EXPR programs_seconds "1500 * (1 + ${sanitized} / 5)")
set_tests_properties(unit.query.oracle unit.query.answers unit.query.answers_groups PROPERTIES TIMEOUT ${programs_seconds})
foreach(test golden golden_damage golden_large)
	target_compile_definitions(unit.query.${test} PRIVATE EXPECT="${CMAKE_CURRENT_SOURCE_DIR}/query" BOARDS="${CMAKE_SOURCE_DIR}/tests/golden/boards")
endforeach()
