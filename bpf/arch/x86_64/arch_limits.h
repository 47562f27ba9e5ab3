#pragma once
/* The most processes that can be probed at a time. The kernel sets no limit. */
#define ARCH_PROCESSES_MAX UINT32_MAX
