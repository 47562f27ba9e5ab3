# Boards with a 32-bit ARM processor (ARMv7 with a floating point unit; Thumb-2) and musl's libc; see arm64-musl.cmake.
set(BOARD armhf-musl)
set(HEAPCAST_BOARD armhf) # whose agent it is
set(BOARD_TRIPLE arm-linux-gnueabihf)
set(BOARD_QEMU arm)
set(BOARD_MUSL /lib/ld-musl-armhf.so.1)
set(CMAKE_SYSTEM_PROCESSOR arm)
include(${CMAKE_CURRENT_LIST_DIR}/board.cmake)
