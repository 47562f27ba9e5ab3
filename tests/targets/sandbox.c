/*
 * A program that shuts itself in, and allocates on.
 *
 *	sandbox seccomp         any system call but read, write, exit, futex and what libc's allocator makes kills
 *	sandbox rounds          likewise, and it allocates again for each byte of its standard input
 *	sandbox chroot FOLDER   (as root)
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/targets/target.h"

#ifdef SYS_mmap2 /* as processors of 32 bits have it */
#define MAP SYS_mmap2
#else
#define MAP SYS_mmap
#endif

#define BLOCKS	      20000
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static int shut_in(void)
{
	static const unsigned allowed[] = {
		SYS_read,   SYS_write, SYS_exit,    SYS_exit_group, SYS_futex,	     MAP,
		SYS_munmap, SYS_brk,   SYS_madvise, SYS_mprotect,   SYS_rt_sigreturn};
	struct sock_filter filter[2 * LENGTH(allowed) + 2];
	struct sock_fprog program = {.filter = filter};
	unsigned n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < LENGTH(allowed); i++) {
		filter[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)n;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* New places on the stack, too: their tables are read in the sandbox. */
__attribute__((noinline)) static void deeper(unsigned depth)
{
	char *volatile p = use(malloc(own(64 + 16 * depth)));

	if (depth)
		deeper(depth - 1);
	free(p);
}

static void allocate(void)
{
	for (unsigned i = 0; i < BLOCKS / 10; i++)
		deeper(9);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	unsigned long rounds = 2;
	int failed = 1;
	char byte;

	allocate();
	if (!strcmp(how, "seccomp") || !strcmp(how, "rounds"))
		failed = shut_in();
	else if (argc > 2)
		failed = chroot(argv[2]) || chdir("/");
	if (failed)
		return 77;
	allocate();
	for (; !strcmp(how, "rounds") && read(0, &byte, 1) == 1; rounds++) {
		allocate();
		say("round", rounds);
	}
	say("allocations", rounds * BLOCKS);
	say("frees", rounds * BLOCKS);
	return 9;
}
