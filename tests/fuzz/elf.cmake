if(TARGET heapcast_symbols)
	heapcast_fuzz_target(elf heapcast_symbols)
endif()
