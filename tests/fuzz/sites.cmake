# The search for places of probes in a program file.
if(TARGET heapcast_ebpf)
	heapcast_fuzz_target(sites heapcast_ebpf)
endif()
