#pragma once
/* How many processes can be probed at a time: one. The kernel notes in the probe where a thread
 * goes on behind a probed instruction, and the probe belongs to the file, not to the thread
 * (resume_epc, arch/mips/kernel/uprobes.c). If a file is mapped at different addresses, a thread
 * that is preempted there, or a thread on another processor, would go on at the other process's
 * address. */
#define ARCH_PROCESSES_MAX 1
