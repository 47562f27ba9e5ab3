if(NOT TARGET heapcast_store)
	return()
endif()
heapcast_unit_tests(store heapcast_store)
target_compile_definitions(unit.store.golden PRIVATE GOLDEN_ROWS="${CMAKE_SOURCE_DIR}/tests/golden/rows-1")
foreach(test composed rewritten)
	target_compile_definitions(unit.store.${test} PRIVATE GOLDEN_REWRITTEN="${CMAKE_SOURCE_DIR}/tests/golden/rewritten")
endforeach()
# Kills writers and compares rows again and again.
set_tests_properties(unit.store.sealed unit.store.sealed_damage PROPERTIES TIMEOUT 900)
set_tests_properties(unit.store.scarce PROPERTIES TIMEOUT 300) # a busy machine took more than a minute
