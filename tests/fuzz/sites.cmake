# The search for places of probes in a program file.
if(TARGET heapcast_ebpf)
	heapcast_fuzz_target(sites heapcast_ebpf)
	# The unwinder's library is built without sanitizers: what reads code here is built once more, with them.
	if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
		foreach(source place arch/x86_64/effect arch/x86_64/entry arch/x86_64/follow arch/x86_64/height arch/x86_64/insn
			arch/x86_64/place)
			target_sources(fuzz.sites PRIVATE ${CMAKE_SOURCE_DIR}/agent/unwind/${source}.c)
		endforeach()
	endif()
endif()
