# What the toolchains of boards share. Their file sets BOARD (the processor as Debian calls it), BOARD_TRIPLE (as its compilers do),
# BOARD_QEMU (as qemu does) and CMAKE_SYSTEM_PROCESSOR, and includes this one.
#
# Libraries come from the sysroot that deploy/sysroots has made in build/sysroots/BOARD, or in another folder than build/sysroots:
# HEAPCAST_SYSROOTS, a variable of CMake or of the environment. (A file that sets BOARD_ROOT has no sysroot; libraries are there.)
# A file that sets BOARD_MUSL, the path of musl's loader on the board, has a sysroot with musl's libc.
# Programs that run while building are this machine's. Tests run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)

find_program(BOARD_CC ${BOARD_TRIPLE}-gcc)
if(NOT BOARD_CC)
	message(FATAL_ERROR "there is no ${BOARD_TRIPLE}-gcc; deploy/install-packages board installs it")
endif()
set(CMAKE_C_COMPILER ${BOARD_CC})
# Not this machine's compiler in its place. For musl there is none: the C++ library is for glibc.
if(BOARD_MUSL)
	set(BOARD_CXX BOARD_CXX-NOTFOUND)
else()
	find_program(BOARD_CXX ${BOARD_TRIPLE}-g++)
endif()
set(CMAKE_CXX_COMPILER ${BOARD_CXX})
set(CMAKE_LIBRARY_ARCHITECTURE ${BOARD_TRIPLE})
if(BOARD_MUSL)
	# With the compiler, as CMAKE_C_FLAGS may be given by whoever builds.
	set(CMAKE_C_COMPILER ${BOARD_CC} -specs=${CMAKE_CURRENT_LIST_DIR}/musl.specs ${BOARD_FLAGS})
	set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,--dynamic-linker=${BOARD_MUSL})
endif()

if(NOT BOARD_ROOT)
	if(NOT HEAPCAST_SYSROOTS)
		set(HEAPCAST_SYSROOTS $ENV{HEAPCAST_SYSROOTS})
	endif()
	if(NOT HEAPCAST_SYSROOTS)
		get_filename_component(HEAPCAST_SYSROOTS ${CMAKE_CURRENT_LIST_DIR}/../../build/sysroots ABSOLUTE)
	endif()
	list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEAPCAST_SYSROOTS)
	set(BOARD_ROOT ${HEAPCAST_SYSROOTS}/${BOARD})
	set(CMAKE_SYSROOT ${BOARD_ROOT})
	if(NOT EXISTS ${BOARD_ROOT}/usr/include)
		message(FATAL_ERROR "there is no sysroot ${BOARD_ROOT}; `deploy/sysroots ${BOARD}` makes build/sysroots/${BOARD}")
	endif()
endif()
set(CMAKE_FIND_ROOT_PATH ${BOARD_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${BOARD_QEMU}-static;-L;${BOARD_ROOT})

set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_LIBDIR} ${BOARD_ROOT}/usr/lib/${BOARD_TRIPLE}/pkgconfig:${BOARD_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${BOARD_ROOT})
