# The kernel's ring buffer with a hostile program's words in it.
if(TARGET heapcast_ebpf_capture)
	heapcast_fuzz_target(kernel_ring heapcast_ebpf_capture)
endif()
