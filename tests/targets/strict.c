/*
 * A program that forbids itself system calls, or its counter, and allocates on.
 *
 *	strict WHAT HOW WHO [BLOCKS]
 *
 *	WHAT	none
 *		futex	a list of allowed calls without futex; any other kills
 *		gettid	the same with futex, without gettid
 *		no-socket, no-ptrace, no-sigaltstack, no-gettid, no-munlock, no-pwrite64, no-kill,
 *		no-mremap, no-futex
 *			all but that one
 *		open	all but opening of files: nothing that is missed
 *		mode	SECCOMP_MODE_STRICT
 *		tsc	the time stamp counter
 *	HOW	prctl; syscall; raw: by an instruction of its own, and nothing is allocated for three seconds
 *	WHO	main	there is no other thread
 *		all	three threads, and all of them (SECCOMP_FILTER_FLAG_TSYNC)
 *		one	three threads, and only one of them
 *		new	three threads that are made afterwards
 *		exec	main; it becomes the program BLOCKS
 *
 * It waits by sleeping; in mode strict by reading from a pipe, and the thread ends by exit: the only one, or one of several.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/targets/target.h"

#ifdef SYS_mmap2
#define MAP SYS_mmap2
#else
#define MAP SYS_mmap
#endif
#define DEEPEST	      9
#define THREADS	      3
#define ALLOWED_MAX   32
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *what, *how, *who;
static unsigned long blocks = 20000;
static unsigned ready, go, done;
static int gate[2]; /* a pipe */

static void nap(long seconds, long ns)
{
	nanosleep(&(struct timespec){.tv_sec = seconds, .tv_nsec = ns}, NULL);
}

/* Filters. */

static struct sock_filter code[2 * ALLOWED_MAX + 2];
static struct sock_fprog filter = {.filter = code};

static void put(struct sock_filter instruction)
{
	code[filter.len++] = instruction;
}

static void put_answer(unsigned call, unsigned answer)
{
	put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
	put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/* 0: a list of what is allowed. */
static unsigned only_one(void)
{
	static const struct {
		const char *name;
		unsigned call;
	} calls[] = {{"open", SYS_openat},	    {"no-socket", SYS_socket},
		     {"no-ptrace", SYS_ptrace},	    {"no-sigaltstack", SYS_sigaltstack},
		     {"no-gettid", SYS_gettid},	    {"no-munlock", SYS_munlock},
		     {"no-pwrite64", SYS_pwrite64}, {"no-kill", SYS_kill},
		     {"no-mremap", SYS_mremap},	    {"no-futex", SYS_futex}};

	for (unsigned i = 0; i < LENGTH(calls); i++)
		if (!strcmp(what, calls[i].name))
			return calls[i].call;
	return 0;
}

static void make_filter(void)
{
	static const unsigned allowed[] = {
		SYS_read, SYS_write, SYS_exit, SYS_exit_group, MAP, SYS_munmap, SYS_brk, SYS_madvise, SYS_mprotect,
		SYS_clone, SYS_clone3, SYS_rt_sigaction, SYS_getrandom, SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_nanosleep,
		SYS_clock_nanosleep,
#ifdef SYS_clock_nanosleep_time64
		SYS_clock_nanosleep_time64,
#endif
	};
	unsigned all = only_one();

	put((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	for (unsigned i = 0; i < LENGTH(allowed) && !all; i++)
		put_answer(allowed[i], SECCOMP_RET_ALLOW);
	if (!strcmp(what, "gettid"))
		put_answer(SYS_futex, SECCOMP_RET_ALLOW);
	if (all)
		put_answer(all, SECCOMP_RET_KILL_PROCESS);
	put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, all ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS));
}

static long instruction(long number, long a, long b, long c)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
#else
	(void)number, (void)a, (void)b, (void)c;
	return -ENOSYS;
#endif
}

static int forbid_mode(void)
{
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (!strcmp(how, "syscall"))
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
	return (int)instruction(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 0);
}

static int forbid_tsc(void)
{
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	return (int)syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

static int forbid_others(void)
{
	long flags = !strcmp(who, "all") ? SECCOMP_FILTER_FLAG_TSYNC : 0;

	make_filter();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	if (!strcmp(how, "syscall"))
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
	return (int)instruction(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, (long)&filter);
}

/* Is refused with EFAULT: how programs ask whether the kernel knows filters. It forbids nothing. */
static bool knows_filters(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 && errno == EFAULT &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) < 0 && errno == EFAULT;
}

static void forbid(void)
{
	int result = 0;

	if (!knows_filters())
		_exit(77);
	if (!strcmp(what, "mode"))
		result = forbid_mode();
	else if (!strcmp(what, "tsc"))
		result = forbid_tsc();
	else if (strcmp(what, "none"))
		result = forbid_others();
	if (result)
		_exit(77);
	if (!strcmp(how, "raw") && !strcmp(what, "mode"))
		(void)!read(gate[0], &result, 1);
	else if (!strcmp(how, "raw"))
		nap(3, 0);
}

/* Work. */

__attribute__((noinline)) static void deeper(unsigned depth)
{
	char *volatile p = use(malloc(own(64 + 16 * depth)));

	if (depth)
		deeper(depth - 1);
	free(p);
}

static void allocate(void)
{
	for (unsigned long i = 0; i < blocks / (DEEPEST + 1); i++)
		deeper(DEEPEST);
}

static void await(const unsigned *number, unsigned least)
{
	while (__atomic_load_n(number, __ATOMIC_ACQUIRE) < least)
		nap(0, 1000000);
}

/* Its arena is its own from its first block on. */
static void *work(void *argument)
{
	bool forbids = argument != NULL;

	deeper(0);
	__atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
	await(&go, 1);
	if (forbids)
		forbid();
	allocate();
	__atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
	if (forbids && !strcmp(what, "mode"))
		syscall(SYS_exit, 0);
	for (;;)
		nap(1, 0);
	return NULL;
}

static void start(bool one_forbids)
{
	pthread_t thread;

	for (unsigned i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, work, one_forbids && !i ? &what : NULL))
			_exit(98);
		await(&ready, i + 1);
	}
}

int main(int argc, char **argv)
{
	unsigned long threads = THREADS;

	what = argc > 1 ? argv[1] : "none";
	how = argc > 2 ? argv[2] : "prctl";
	who = argc > 3 ? argv[3] : "main";
	if (argc > 4)
		blocks = strtoul(argv[4], NULL, 10);
	if (pipe(gate))
		return 98;
	free(use(malloc(100000))); /* the heap has room for what comes */
	if (!strcmp(who, "all") || !strcmp(who, "one"))
		start(!strcmp(who, "one"));
	if (strcmp(who, "one"))
		forbid();
	if (!strcmp(who, "exec") && argc > 4)
		return execv(argv[4], argv + 4);
	if (!strcmp(who, "main"))
		threads = 0;
	if (!strcmp(who, "new"))
		start(false);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	allocate();
	if (!strcmp(how, "raw") && !strcmp(what, "mode")) {
		nap(3, 0);
		(void)!write(gate[1], "", 1);
	}
	await(&done, (unsigned)threads);
	say("events", 2 * (blocks * (threads + 1) + threads + 1));
	if (!strcmp(what, "mode") && strcmp(who, "one"))
		syscall(SYS_exit, 9);
	return 9;
}
