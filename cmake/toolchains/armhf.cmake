# Boards with a 32-bit ARM processor (ARMv7 with a floating point unit; Thumb-2).
set(BOARD armhf)
set(BOARD_TRIPLE arm-linux-gnueabihf)
set(BOARD_QEMU arm)
set(CMAKE_SYSTEM_PROCESSOR arm)
include(${CMAKE_CURRENT_LIST_DIR}/board.cmake)
