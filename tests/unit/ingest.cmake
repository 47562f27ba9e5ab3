# The tests share the two ends of the protocol (ingest/support).
if(NOT TARGET heapcast_ingest)
	return()
endif()
add_library(ingest_support STATIC ${CMAKE_CURRENT_LIST_DIR}/ingest/support/peers.c)
target_link_libraries(ingest_support PRIVATE heapcast_ingest heapcast_flags heapcast_sanitize PkgConfig::CMOCKA)

heapcast_unit_tests(ingest ingest_support heapcast_ingest)
