# A target a format of `collector import`.
if(TARGET heapcast_readers)
	foreach(format collapsed heaptrack jemalloc gperftools pprof)
		heapcast_fuzz_target(import_${format} heapcast_readers heapcast_query heapcast_store heapcast_symbols
			heapcast_proto heapcast_base)
	endforeach()
endif()
