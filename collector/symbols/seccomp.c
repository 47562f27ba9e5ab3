/*
 * The worker's system call filter (seccomp(2), filter mode). An ELF file that takes over the worker
 * finds a process that can read what its user can read, compute, and answer over its socket. It has
 * no execve, no fork, no connections, no writing and no signals to other processes.
 *
 *   the architecture must be ours; open, openat: for reading; prlimit64: of itself; calls in the
 *   list; else EPERM
 */
#include "collector/symbols/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/ban.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#endif

/*
 * The calls of glibc, libelf, libdw and liblzma for reading a file, and the worker's own. A call
 * that exists only on some architectures gets a number that no call has elsewhere.
 */
#define NO_CALL 0xffffffffu
#ifdef SYS_open
#define CALL_OPEN SYS_open
#else
#define CALL_OPEN NO_CALL
#endif
#ifdef SYS_stat
#define CALL_STAT SYS_stat
#else
#define CALL_STAT NO_CALL
#endif
#ifdef SYS_readlink
#define CALL_READLINK SYS_readlink
#else
#define CALL_READLINK NO_CALL
#endif
#ifdef SYS_access
#define CALL_ACCESS SYS_access
#else
#define CALL_ACCESS NO_CALL
#endif

static const uint32_t allowed[] = {
	SYS_read,
	SYS_write,
	SYS_pread64,
	SYS_lseek,
	SYS_close,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_readlinkat,
	SYS_faccessat,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_futex,
	SYS_getrandom,
	SYS_getrusage,
	SYS_uname,
	SYS_exit,
	SYS_exit_group,
	SYS_fcntl,
	SYS_rt_sigreturn,
	SYS_clock_gettime,
	CALL_STAT,
	CALL_READLINK,
	CALL_ACCESS,
	SYS_getpid,
	SYS_gettid,
	SYS_rt_sigprocmask,
	SYS_sched_yield,
	SYS_restart_syscall,
};

#define COUNT	(sizeof(allowed) / sizeof(allowed[0]))
#define WRITING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

#define LOAD(field)	 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUAL(k, t, f)	 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (t), (f))
#define ANY_BIT(k, t, f) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (k), (t), (f))
#define RETURN(k)	 BPF_STMT(BPF_RET | BPF_K, (k))

/* Loads the low half of an argument. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOAD_ARGUMENT(n) LOAD(args[n])
#else
#define LOAD_ARGUMENT(n)                                                                           \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]) + 4)
#endif

int seccomp_read_only(void)
{
	struct sock_filter code[COUNT + 18];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;

	code[n++] = (struct sock_filter)LOAD(arch);
	code[n++] = (struct sock_filter)EQUAL(ARCHITECTURE, 1, 0);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)LOAD(nr);
	code[n++] = (struct sock_filter)EQUAL(SYS_openat, 0, 3);
	code[n++] = (struct sock_filter)LOAD_ARGUMENT(2);
	code[n++] = (struct sock_filter)ANY_BIT(WRITING, (uint8_t)(COUNT + 9), 0);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)EQUAL(CALL_OPEN, 0, 3);
	code[n++] = (struct sock_filter)LOAD_ARGUMENT(1);
	code[n++] = (struct sock_filter)ANY_BIT(WRITING, (uint8_t)(COUNT + 5), 0);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)EQUAL(SYS_prlimit64, 0, 3);
	code[n++] = (struct sock_filter)LOAD_ARGUMENT(0); /* the process; 0 is the caller */
	code[n++] = (struct sock_filter)EQUAL(0, 0, (uint8_t)(COUNT + 1));
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	for (unsigned i = 0; i < COUNT; i++)
		code[n++] = (struct sock_filter)EQUAL(allowed[i], (uint8_t)(COUNT - i), 0);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	program.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}
