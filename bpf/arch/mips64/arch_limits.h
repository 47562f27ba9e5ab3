#pragma once
/*
 * How many processes may be probed at a time. The kernel notes where a thread goes on behind a
 * probed instruction in the probe, which belongs to the file, not to the thread (resume_epc,
 * arch/mips/kernel/uprobes.c): where a file is mapped at different addresses a thread that is
 * preempted there, or one of another processor, would go on at the other process's address.
 */
#define ARCH_PROCESSES_MAX 1
