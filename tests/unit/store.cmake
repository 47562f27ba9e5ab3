if(NOT TARGET heapcast_store)
	return()
endif()
heapcast_unit_tests(store heapcast_store)
target_compile_definitions(unit.store.golden PRIVATE GOLDEN_ROWS="${CMAKE_SOURCE_DIR}/tests/golden/rows-1")
# Kills writers and compares rows again and again.
set_tests_properties(unit.store.sealed unit.store.sealed_damage PROPERTIES TIMEOUT 300)
