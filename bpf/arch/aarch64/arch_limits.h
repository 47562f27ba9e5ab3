#pragma once
/* How many processes can be probed at a time: the kernel sets no limit. */
#define ARCH_PROCESSES_MAX UINT32_MAX
