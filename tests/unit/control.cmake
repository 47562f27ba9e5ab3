if(NOT TARGET heapcast_control)
	return()
endif()
heapcast_unit_tests(control heapcast_control)
