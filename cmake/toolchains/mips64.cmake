# Boards with a big-endian MIPS64 processor.
set(BOARD mips64)
set(BOARD_TRIPLE mips64-linux-gnuabi64)
set(BOARD_QEMU mips64)
set(CMAKE_SYSTEM_PROCESSOR mips64)
include(${CMAKE_CURRENT_LIST_DIR}/board.cmake)
