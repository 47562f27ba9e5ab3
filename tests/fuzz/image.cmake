# Modules of other processes, walked through by the agent.
if(TARGET heapcast_ebpf)
	heapcast_fuzz_target(image heapcast_ebpf)
endif()
