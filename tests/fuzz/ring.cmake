# The ring as the agent sees it, written by a hostile program.
if(TARGET heapcast_streamer)
	heapcast_fuzz_target(ring heapcast_streamer)
endif()
