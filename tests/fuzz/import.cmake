# A target a format of `collector import`.
if(TARGET heapcast_formats)
	foreach(format collapsed heaptrack jemalloc gperftools pprof)
		heapcast_fuzz_target(import_${format} heapcast_formats heapcast_query heapcast_store heapcast_symbols
			heapcast_proto heapcast_base)
	endforeach()
endif()
