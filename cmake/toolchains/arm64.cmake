# Boards with a 64-bit ARM processor.
set(BOARD arm64)
set(BOARD_TRIPLE aarch64-linux-gnu)
set(BOARD_QEMU aarch64)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/board.cmake)
