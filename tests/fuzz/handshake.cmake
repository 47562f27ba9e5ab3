# The handshake of a program with its agent, over the Unix socket.
if(TARGET heapcast_streamer)
	heapcast_fuzz_target(handshake heapcast_streamer)
endif()
