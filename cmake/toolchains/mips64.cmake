# Boards with a big-endian MIPS64 processor: libheapcast.so alone (option HEAPCAST_LIBRARY_ONLY).
set(BOARD mips64)
set(BOARD_TRIPLE mips64-linux-gnuabi64)
set(BOARD_QEMU mips64)
set(CMAKE_SYSTEM_PROCESSOR mips64)
set(BOARD_ROOT /usr/mips64-linux-gnuabi64) # the cross compiler's; Debian has no others
include(${CMAKE_CURRENT_LIST_DIR}/board.cmake)
