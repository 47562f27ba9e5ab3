# From the agent's ring to the collector's rows: both sides of what is culled. Their headers don't go together in one source.
if(NOT TARGET heapcast_store)
	return()
endif()
add_library(culling_read STATIC ${CMAKE_CURRENT_SOURCE_DIR}/culling/collector/read.c)
target_link_libraries(culling_read PRIVATE heapcast_store heapcast_flags heapcast_sanitize)
heapcast_unit_tests(culling culling_read heapcast_streamer heapcast_store heapcast_proto heapcast_base)
