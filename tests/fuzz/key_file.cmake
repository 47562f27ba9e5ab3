# What is read of a key file.
heapcast_fuzz_target(key_file heapcast_secret)
