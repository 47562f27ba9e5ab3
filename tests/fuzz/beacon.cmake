# The parser of UDP beacons, as the collector sees them.
if(TARGET heapcast_ingest)
	heapcast_fuzz_target(beacon heapcast_ingest)
endif()
