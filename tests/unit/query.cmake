# recording.h builds on the recording builder of tests/unit/store.
heapcast_unit_tests(query heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
