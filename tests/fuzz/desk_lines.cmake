# Questions and answers of `agent ctl`.
if(TARGET heapcast_streamer)
	heapcast_fuzz_target(desk_lines heapcast_streamer)
endif()
