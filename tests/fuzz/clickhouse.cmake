# URLs and answers of ClickHouse.
if(TARGET heapcast_clickhouse)
	heapcast_fuzz_target(clickhouse heapcast_clickhouse heapcast_base)
endif()
