# An agent's replies to orders.
if(TARGET heapcast_ingest)
	heapcast_fuzz_target(reply heapcast_ingest heapcast_store heapcast_proto heapcast_base)
endif()
