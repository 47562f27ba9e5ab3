# The server is asked over loopback, on a port of its own.
if(NOT TARGET heapcast_http)
	return()
endif()
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
heapcast_unit_tests(http heapcast_http heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base
	PkgConfig::JANSSON)
