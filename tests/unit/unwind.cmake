# The unwinder against other unwinders: glibc's backtrace (libgcc) always, libunwind and libdw where they are installed.
pkg_check_modules(LIBUNWIND IMPORTED_TARGET libunwind)
pkg_check_modules(LIBDW IMPORTED_TARGET libdw libelf)

# The tests look inside: rows are compared one by one.
add_library(heapcast_unwind_tests INTERFACE)
target_link_libraries(heapcast_unwind_tests INTERFACE heapcast_unwind Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(heapcast_unwind_tests INTERFACE
	$<TARGET_PROPERTY:heapcast_unwind,INCLUDE_DIRECTORIES>)
if(LIBUNWIND_FOUND)
	target_link_libraries(heapcast_unwind_tests INTERFACE PkgConfig::LIBUNWIND)
	target_compile_definitions(heapcast_unwind_tests INTERFACE HAVE_LIBUNWIND)
endif()
if(LIBDW_FOUND)
	target_link_libraries(heapcast_unwind_tests INTERFACE PkgConfig::LIBDW)
	target_compile_definitions(heapcast_unwind_tests INTERFACE HAVE_LIBDW)
endif()
heapcast_unit_tests(unwind heapcast_unwind_tests)
# These two leave stacks by longjmp, unmap them and map others there: the sanitizers keep books on stacks and lose track.
set_source_files_properties(unwind/prefix.c unwind/oracle.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
if(HEAPCAST_SANITIZE MATCHES thread)
	set_source_files_properties(unwind/prefix.c unwind/oracle.c PROPERTIES COMPILE_DEFINITIONS
		[[SKIP_REASON="the thread sanitizer does not know stacks made by makecontext and delays signals"]])
endif()
