#pragma once
/* How many processes may be probed at a time, as the kernel goes: any number. */
#define ARCH_PROCESSES_MAX UINT32_MAX
