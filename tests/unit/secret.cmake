heapcast_unit_tests(secret heapcast_secret)
target_sources(unit.secret.without PRIVATE ${CMAKE_SOURCE_DIR}/base/secure/secret_none.c)
