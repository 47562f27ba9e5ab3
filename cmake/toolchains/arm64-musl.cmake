# Boards with a 64-bit ARM processor and musl's libc: libheapcast.so alone (option HEAPCAST_LIBRARY_ONLY); the agent for them is static.
set(BOARD arm64-musl)
set(HEAPCAST_BOARD arm64) # whose agent it is
set(BOARD_TRIPLE aarch64-linux-gnu)
set(BOARD_QEMU aarch64)
set(BOARD_MUSL /lib/ld-musl-aarch64.so.1)
set(BOARD_FLAGS -mno-outline-atomics) # those ask glibc for what the processor has
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/board.cmake)
