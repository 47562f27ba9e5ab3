# The unwinder against other unwinders: glibc's backtrace (libgcc) always, libunwind and libdw where they are installed.
pkg_check_modules(LIBUNWIND IMPORTED_TARGET libunwind)
pkg_check_modules(LIBDW IMPORTED_TARGET libdw libelf)

# The tests look inside: rows are compared one by one.
add_library(heapcast_unwind_tests INTERFACE)
target_link_libraries(heapcast_unwind_tests INTERFACE heapcast_unwind Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(heapcast_unwind_tests INTERFACE
	$<TARGET_PROPERTY:heapcast_unwind,INCLUDE_DIRECTORIES>)
target_compile_options(heapcast_unwind_tests INTERFACE ${HEAPCAST_ARCH_FIXED})
if(LIBUNWIND_FOUND)
	target_link_libraries(heapcast_unwind_tests INTERFACE PkgConfig::LIBUNWIND)
	target_compile_definitions(heapcast_unwind_tests INTERFACE HAVE_LIBUNWIND)
endif()
if(LIBDW_FOUND)
	target_link_libraries(heapcast_unwind_tests INTERFACE PkgConfig::LIBDW)
	target_compile_definitions(heapcast_unwind_tests INTERFACE HAVE_LIBDW)
endif()
# Some read, or are written in, code of x86-64.
set(elsewhere compile effect entry follow framed held insn joins kept oracle recall registers restorer scan scan_made stepped steps switched traces)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
	set(elsewhere "")
endif()
# Signatures in return addresses are AArch64's.
set(signs OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND CMAKE_C_COMPILER_ID STREQUAL GNU)
	set(signs ON)
else()
	list(APPEND elsewhere signed)
endif()
heapcast_unit_tests(unwind heapcast_unwind_tests EXCEPT ${elsewhere})
# These two leave stacks by longjmp, unmap them and map others there: the sanitizers keep books on stacks and lose track.
set_source_files_properties(unwind/prefix.c unwind/framed.c unwind/oracle.c unwind/shapes.c unwind/untold.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
if(HEAPCAST_SANITIZE MATCHES thread)
	set_source_files_properties(unwind/prefix.c unwind/framed.c unwind/oracle.c unwind/shapes.c unwind/untold.c PROPERTIES COMPILE_DEFINITIONS
		[[SKIP_REASON="the thread sanitizer does not know stacks made by makecontext and delays signals"]])
endif()

# Libraries that different compilers and linkers have made, for unit.unwind.shapes.
set(shapes_folder ${CMAKE_BINARY_DIR}/tests/unwind-shapes)
set(shapes_source ${CMAKE_CURRENT_SOURCE_DIR}/unwind/shapes)
find_program(HEAPCAST_SHAPES_CLANG clang)
find_program(HEAPCAST_SHAPES_RUSTC rustc)
set(shapes_made)
function(heapcast_shapes name source)
	add_custom_command(OUTPUT ${shapes_folder}/${name}.so
		COMMAND ${CMAKE_COMMAND} -E make_directory ${shapes_folder}
		COMMAND ${ARGN} -o ${shapes_folder}/${name}.so ${shapes_source}/${source}
		DEPENDS ${shapes_source}/${source} VERBATIM)
	set(shapes_made ${shapes_made} ${shapes_folder}/${name}.so PARENT_SCOPE)
endfunction()
set(shapes_c -O2 -fomit-frame-pointer -fPIC -shared)
set(shapes_gcc ${CMAKE_C_COMPILER} ${shapes_c})
if(CMAKE_SYSROOT)
	list(APPEND shapes_gcc --sysroot=${CMAKE_SYSROOT})
endif()
heapcast_shapes(gcc shapes.c ${shapes_gcc})
heapcast_shapes(separate shapes.c ${shapes_gcc} -Wl,-z,separate-code)
heapcast_shapes(together shapes.c ${shapes_gcc} -Wl,-z,noseparate-code)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$") # return addresses with signatures
	heapcast_shapes(pac shapes.c ${shapes_gcc} -mbranch-protection=standard)
endif()
if(HEAPCAST_SHAPES_CLANG)
	heapcast_shapes(clang shapes.c ${HEAPCAST_SHAPES_CLANG} ${shapes_c})
endif()
if(HEAPCAST_SHAPES_RUSTC)
	heapcast_shapes(rustc shapes.rs ${HEAPCAST_SHAPES_RUSTC} -O --crate-type cdylib)
endif()
if(signs)
	set(signed -march=armv8.3-a -mbranch-protection=standard)
	heapcast_shapes(signed signed.c ${shapes_gcc} ${signed} -DDESCEND=descend_library)
	target_sources(unit.unwind.signed PRIVATE unwind/shapes/signed.c)
	target_compile_definitions(unit.unwind.signed PRIVATE DESCEND=descend_program)
	set_source_files_properties(unwind/shapes/signed.c PROPERTIES COMPILE_OPTIONS "${signed}")
	target_compile_options(unit.unwind.signed PRIVATE -mbranch-protection=standard) # what older processors pass over
endif()
add_custom_target(unwind_shapes DEPENDS ${shapes_made})
add_dependencies(unit.unwind.shapes unwind_shapes)
if(signs)
	add_dependencies(unit.unwind.signed unwind_shapes)
endif()
find_library(HEAPCAST_BOOST_CONTEXT boost_context)
if(HEAPCAST_BOOST_CONTEXT)
	target_link_libraries(unit.unwind.shapes PRIVATE ${HEAPCAST_BOOST_CONTEXT})
	target_compile_definitions(unit.unwind.shapes PRIVATE HAVE_BOOST_CONTEXT)
endif()

# Reading code and tables of other processors, compiled for this one.
set(foreign_tables ${CMAKE_SOURCE_DIR}/agent/unwind/cfi.c ${CMAKE_SOURCE_DIR}/agent/unwind/compile.c
	${CMAKE_SOURCE_DIR}/agent/unwind/eh_frame.c ${CMAKE_SOURCE_DIR}/agent/unwind/plt_none.c)
function(heapcast_foreign_scan arch board triple most_wrong least_told)
	set(target unit.unwind.scan_${arch})
	file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/agent/unwind/arch/${arch}/*.c)
	add_executable(${target} ${CMAKE_CURRENT_LIST_DIR}/unwind/foreign/scan.c ${CMAKE_CURRENT_LIST_DIR}/unwind/foreign/sites_${arch}.c
		${sources} ${foreign_tables})
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/agent/unwind/arch/${arch}
		${CMAKE_SOURCE_DIR}/agent/unwind/own_engine)
	target_link_libraries(${target} PRIVATE heapcast_flags heapcast_sanitize PkgConfig::CMOCKA PkgConfig::LIBDW)
	target_compile_definitions(${target} PRIVATE TRIPLE="${triple}" BOARD="${board}" SYSROOTS="${CMAKE_SOURCE_DIR}/build/sysroots"
		WRONG_MOST=${most_wrong} TOLD_LEAST=${least_told})
	set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
	add_test(NAME ${target} COMMAND ${target})
	set_tests_properties(${target} PROPERTIES LABELS unit TIMEOUT 60 SKIP_RETURN_CODE 77)
endfunction()
if(LIBDW_FOUND AND NOT CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
	heapcast_foreign_scan(mips64 mips64el mips64el-linux-gnuabi64 0.002 0)
	heapcast_foreign_scan(arm armhf arm-linux-gnueabihf 0.005 0.1)
	heapcast_foreign_scan(aarch64 arm64 aarch64-linux-gnu 0.0005 0.99)
endif()
