# How every target of the project is compiled, and the two helpers that folders use to declare themselves.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT HEAPCAST_STATIC)
	set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g") # asserts stay on outside of releases
if(HEAPCAST_SANITIZE) # compiling takes half the time so, and the reports still name lines
	set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h HEAPCAST_GLIBC) # else it is musl

add_library(heapcast_flags INTERFACE)
target_include_directories(heapcast_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_definitions(heapcast_flags INTERFACE _GNU_SOURCE HEAPCAST_VERSION="${PROJECT_VERSION}")
# Sizes of files and times have 64 bits on processors of 32, too; but not in what stands in front of libc's functions, under the
# names and with the types that the program has (heapcast_plain_libc).
set(heapcast_plain_libc "")
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
	target_compile_definitions(heapcast_flags INTERFACE _FILE_OFFSET_BITS=64 _TIME_BITS=64)
	set(heapcast_plain_libc -U_FILE_OFFSET_BITS -U_TIME_BITS)
endif()
target_compile_options(heapcast_flags INTERFACE
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
	-Wvla -Walloca $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation> -Wundef -Wformat=2 -Wimplicit-fallthrough
	-funwind-tables -fno-strict-aliasing
	$<$<C_COMPILER_ID:GNU>:-Wcast-qual> # clang finds it in the initialisers that protobuf-c generates
	$<$<BOOL:${HEAPCAST_WERROR}>:-Werror>)

# Hardening of the programs; the preload library chooses its own (it may not call what these bring in).
add_library(heapcast_hardening INTERFACE)
target_compile_options(heapcast_hardening INTERFACE
	$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
target_link_options(heapcast_hardening INTERFACE -Wl,-z,relro,-z,now)
if(HEAPCAST_STATIC) # nothing moves it, nothing unwinds it, and what nobody calls is left out
	target_compile_options(heapcast_hardening INTERFACE -fno-pie -ffunction-sections -fdata-sections -fno-unwind-tables -fno-asynchronous-unwind-tables)
	target_link_options(heapcast_hardening INTERFACE -no-pie -Wl,--gc-sections)
	if(CMAKE_SYSTEM_PROCESSOR MATCHES "^mips64")
		# Below 2 GiB an address is two instructions and a call is one; the usual place of programs, above 4 GiB, takes it out of a
		# table for each. Up to 64 KiB of padding stand in the file where data would become read-only.
		target_compile_options(heapcast_hardening INTERFACE -fno-pic -mno-shared -mplt -msym32)
		target_link_options(heapcast_hardening INTERFACE -Wl,-Ttext-segment=0x10000000 -Wl,-z,norelro -Wl,-z,common-page-size=64)
	endif()
endif()

# Sanitizers go into everything but what is loaded into foreign programs.
add_library(heapcast_sanitize INTERFACE)
if(HEAPCAST_SANITIZE)
	target_compile_options(heapcast_sanitize INTERFACE -fsanitize=${HEAPCAST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
	target_link_options(heapcast_sanitize INTERFACE -fsanitize=${HEAPCAST_SANITIZE})
endif()

# Under libFuzzer, what is fuzzed counts its branches.
if(HEAPCAST_FUZZ)
	target_compile_options(heapcast_sanitize INTERFACE -fsanitize=fuzzer-no-link)
endif()

# The agent's work at each event runs through reader, stream, stack table and columns: what is compiled as one whole costs a tenth
# less. Where there are tests, objects are fat: tests link them as they are, and only who asks for it (heapcast_whole) waits for the
# linker. For another processor, too: its `ar` has no plugin that lists what is in slim ones.
set(whole "")
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT HEAPCAST_SANITIZE AND NOT HEAPCAST_FUZZ AND
		NOT (CMAKE_CROSSCOMPILING AND CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo)) # a board's tests need no tenth
	set(whole -flto=auto)
	if(HEAPCAST_TESTS OR CMAKE_CROSSCOMPILING)
		list(APPEND whole -ffat-lto-objects)
	endif()
endif()

function(heapcast_whole target)
	target_compile_options(${target} PRIVATE ${whole})
	target_link_options(${target} PRIVATE ${whole} -O2)
endfunction()

# heapcast_library(NAME [WHOLE] SOURCES... LINK TARGETS...): a folder of the host side (agent or collector). WHOLE: it can be
# linked as a part of one.
function(heapcast_library name)
	cmake_parse_arguments(P "WHOLE" "" "SOURCES;LINK" ${ARGN})
	add_library(heapcast_${name} STATIC ${P_SOURCES})
	target_link_libraries(heapcast_${name} PUBLIC ${P_LINK} PRIVATE heapcast_flags heapcast_hardening heapcast_sanitize)
	target_include_directories(heapcast_${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
	if(P_WHOLE)
		target_compile_options(heapcast_${name} PRIVATE ${whole})
	endif()
endfunction()

# heapcast_program(NAME SOURCES... LINK TARGETS...): an executable.
function(heapcast_program name)
	cmake_parse_arguments(P "" "" "SOURCES;LINK" ${ARGN})
	add_executable(${name} ${P_SOURCES})
	target_link_libraries(${name} PRIVATE ${P_LINK} heapcast_flags heapcast_hardening heapcast_sanitize)
endfunction()

# heapcast_install_beside(NAME): installs agent or collector where `heapcast` looks for it, as heapcast-NAME; and a link of its own
# name, for those who know it by that. Such links are the install component former-names: `agent` and `collector` are names of
# other programs, too, so packages leave it out.
function(heapcast_install_beside name)
	set(bin ${CMAKE_INSTALL_BINDIR})
	install(PROGRAMS $<TARGET_FILE:${name}> DESTINATION ${bin} RENAME heapcast-${name})
	install(CODE "
		if(CMAKE_INSTALL_DO_STRIP)
			execute_process(COMMAND \"${CMAKE_STRIP}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${bin}/heapcast-${name}\")
		endif()")
	heapcast_install_former(${name} heapcast-${name} ${bin})
endfunction()

# heapcast_install_former(NAME TO FOLDER): a link NAME to the file TO beside it.
function(heapcast_install_former name to folder)
	set(links ${CMAKE_BINARY_DIR}/former-names/${folder})
	file(MAKE_DIRECTORY ${links})
	file(CREATE_LINK ${to} ${links}/${name} SYMBOLIC)
	install(FILES ${links}/${name} DESTINATION ${folder} COMPONENT former-names)
endfunction()
