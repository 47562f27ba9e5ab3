# Requests of the REST API, by the table of its routes.
if(TARGET heapcast_http)
	pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
	heapcast_fuzz_target(http heapcast_http heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base PkgConfig::JANSSON)
endif()
