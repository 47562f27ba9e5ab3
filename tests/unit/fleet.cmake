if(NOT TARGET heapcast_fleet)
	return()
endif()
heapcast_unit_tests(fleet heapcast_fleet heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base m)
# A busy machine took more than a minute.
set_tests_properties(unit.fleet.fleets PROPERTIES TIMEOUT 300)
