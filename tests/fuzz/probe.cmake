# The parser of UDP probes, as the agent sees them.
if(TARGET heapcast_streamer)
	heapcast_fuzz_target(probe heapcast_streamer)
endif()
