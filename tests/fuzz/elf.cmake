# Symbol tables, build ids, notes and DWARF of an ELF file, in one process.
if(TARGET heapcast_symbols)
	heapcast_fuzz_target(elf heapcast_symbols)
endif()
