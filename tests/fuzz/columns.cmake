# The decoder of columns of events.
heapcast_fuzz_target(columns heapcast_proto)
