# What is said while an agent and a collector pair, and codes.
heapcast_fuzz_target(pairing heapcast_pairing)
