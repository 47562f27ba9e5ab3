# Exports: checked with readers that are not ours (jansson, python3's XML and JSON). Recordings come from the builders of
# tests/unit/store and tests/unit/query.
if(NOT TARGET heapcast_writers)
	return()
endif()
heapcast_unit_tests(answers heapcast_answers heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base
	${CMAKE_DL_LIBS} m)
heapcast_unit_tests(formats heapcast_formats heapcast_writers heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base
	${CMAKE_DL_LIBS} m)
