# One test plays a server on loopback.
if(NOT TARGET heapcast_clickhouse)
	return()
endif()
heapcast_unit_tests(clickhouse heapcast_clickhouse heapcast_base)
