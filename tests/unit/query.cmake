# recording.h builds on the recording builder of tests/unit/store.
heapcast_unit_tests(query heapcast_query heapcast_store heapcast_symbols heapcast_proto heapcast_base)
# Minutes, in its long form.
set_tests_properties(unit.query.oracle PROPERTIES TIMEOUT 900)
