# Boards with a little-endian MIPS64 processor.
set(BOARD mips64el)
set(BOARD_TRIPLE mips64el-linux-gnuabi64)
set(BOARD_QEMU mips64el)
set(CMAKE_SYSTEM_PROCESSOR mips64)
include(${CMAKE_CURRENT_LIST_DIR}/board.cmake)
