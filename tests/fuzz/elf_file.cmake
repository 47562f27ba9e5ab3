# The reader of ELF files that an agent may give away.
if(TARGET heapcast_streamer)
	heapcast_fuzz_target(elf_file heapcast_streamer)
endif()
