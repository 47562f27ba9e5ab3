# Orders at the collector's control socket and in requests.
if(TARGET heapcast_http)
	heapcast_fuzz_target(control_lines heapcast_control heapcast_http heapcast_base)
endif()
