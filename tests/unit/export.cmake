# Exports: checked with readers that are not ours (jansson, python3's XML and JSON). Recordings come from the builders of
# tests/unit/store and tests/unit/query.
if(NOT TARGET heapcast_export)
	return()
endif()
heapcast_unit_tests(export heapcast_export heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base
	${CMAKE_DL_LIBS} m)
