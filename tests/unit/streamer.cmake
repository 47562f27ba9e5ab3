# These ask much of the kernel: an emulator shows itself instead of the program, lacks some of it, and its root is the
# folder of the sysroot, which other users may not search below /root.
set(natively)
if(CMAKE_CROSSCOMPILING)
	set(natively access agent agent_collectors beacon children control_socket dialer dialer_turned drain handshake life listener observer programs session_file symbol_files_found symbol_place symbol_place_debug target)
endif()
# Reads code of x86-64.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
	list(APPEND natively own_allocator)
endif()
heapcast_unit_tests(streamer heapcast_streamer heapcast_proto heapcast_base EXCEPT ${natively})
