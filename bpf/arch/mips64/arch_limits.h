#pragma once
/* The most processes that can be probed at a time. The kernel stores the address at which a thread
 * resumes after a probed instruction in the probe, which belongs to the file and not to the thread
 * (resume_epc, arch/mips/kernel/uprobes.c). If two processes map the file at different addresses, a
 * thread that is preempted there, or a thread on another processor, would resume at the other
 * process's address. */
#define ARCH_PROCESSES_MAX 1
