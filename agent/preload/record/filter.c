/* Runs a seccomp filter; see filter.h. */
#include "agent/preload/record/filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "agent/preload/system/state.h"
#include "agent/preload/system/sys.h"
#include "arch.h"

#include "agent/preload/poison.h"

#define FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* Descriptors and addresses are invalid, so that the calls do nothing. */
const struct filter_call filter_calls[] = {
	{SYS_futex, CALLS_WAIT, 2, {0, FUTEX_WAIT}},
	{SYS_futex, CALLS_WAIT, 2, {0, FUTEX_WAKE}},
	{SYS_futex, CALLS_WAIT, 2, {0, FUTEX_WAIT_PRIVATE}},
	{CALL_MMAP, CALLS_MEMORY, 12, {0, 0, PROT_READ | PROT_WRITE, FLAGS}},
	{CALL_MMAP, CALLS_MEMORY, 12, {0, 0, PROT_NONE, FLAGS}},
	{SYS_mprotect, CALLS_MEMORY, 4, {0, 0, PROT_READ | PROT_WRITE}},
	{SYS_mprotect, CALLS_MEMORY, 4, {0, 0, PROT_READ}},
	{SYS_mremap, CALLS_MEMORY, 8, {0, 0, 0, MREMAP_MAYMOVE}},
	{SYS_gettid, CALLS_NUMBERS, 0, {0}},
	{SYS_getpid, CALLS_NUMBERS, 0, {0}},
	{SYS_sched_getscheduler, CALLS_NUMBERS, 0, {0}},
	{SYS_sigaltstack, CALLS_STACK, 1, {0}},
	{CALL_CLOCK, CALLS_CLOCK, 1, {CLOCK_MONOTONIC}},
	{SYS_getcwd, CALLS_FILES, 0, {0}},
	{SYS_readlinkat, CALLS_FILES, 0, {-1}},
	{SYS_munlock, CALLS_REST, 0, {0}},
	{SYS_pwrite64, CALLS_CODE, 0, {-1}},
	{SYS_kill, CALLS_REST, 0, {0}},
	{SYS_prctl, CALLS_START, 0, {-1}},
	{SYS_statx, CALLS_START, 0, {-1}},
	{SYS_socket, CALLS_START, 1, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0}},
	{SYS_connect, CALLS_START, 0, {-1}},
	{SYS_getsockopt, CALLS_START, 0, {-1}},
	{SYS_geteuid, CALLS_START, 0, {0}},
	{SYS_sendmsg, CALLS_START, 0, {-1}},
	{SYS_ppoll, CALLS_START, 0, {0, 0, 1}},
	{SYS_recvmsg, CALLS_START, 0, {-1}},
	{SYS_lseek, CALLS_START, 0, {-1}},
	{SYS_fcntl, CALLS_START, 2, {-1, F_GET_SEALS}},
	{CALL_MMAP, CALLS_START, 12, {0, 0, PROT_NONE, MAP_SHARED}},
	{SYS_munmap, CALLS_START, 0, {0}},
	{SYS_madvise, CALLS_START, 0, {0}},
	{SYS_close, CALLS_START, 0, {-1}},
	{SYS_faccessat, CALLS_START, 0, {-1}},
	{SYS_wait4, CALLS_START, 0, {-1}},
	{SYS_openat, CALLS_START, 0, {-1}},
	{SYS_read, CALLS_START, 0, {-1}},
	{SYS_writev, CALLS_START, 0, {-1}},
	{SYS_getppid, CALLS_START, 0, {0}},
	{SYS_getsid, CALLS_START, 0, {0}},
	{SYS_rt_sigpending, CALLS_START, 0, {0}},
	{SYS_rt_sigprocmask, CALLS_START, 0, {0}},
	{SYS_rt_sigtimedwait, CALLS_START, 0, {0}},
};
const size_t filter_calls_count = sizeof(filter_calls) / sizeof(*filter_calls);

#define WORDS (sizeof(struct seccomp_data) / sizeof(uint32_t))

/* The filter's input for a call. */
struct input {
	union {
		struct seccomp_data data;
		uint32_t word[WORDS];
	};
	uint32_t known; /* bits of the words whose value is certain */
};

static struct input input_of(const struct filter_call *call)
{
	struct input in = {.known = 3};

	in.data.nr = call->number;
	in.data.arch = ARCH_AUDIT;
	for (unsigned i = 0; i < 4; i++) {
		if (!(call->known >> i & 1))
			continue;
		in.data.args[i] = (uint32_t)call->argument[i];
		in.known |= 3u << (4 + 2 * i);
	}
	return in;
}

struct machine {
	uint32_t a, x;
	uint32_t memory[BPF_MEMWORDS];
};

static uint32_t *cell(struct machine *m, uint32_t k)
{
	return &m->memory[k % BPF_MEMWORDS];
}

/* Returns false if the value is unknown. */
static bool filter_load(struct machine *m, const struct sock_filter *f, const struct input *in)
{
	uint32_t *to = BPF_CLASS(f->code) == BPF_LD ? &m->a : &m->x;

	switch (BPF_MODE(f->code)) {
	case BPF_IMM:
		*to = f->k;
		return true;
	case BPF_LEN:
		*to = sizeof(struct seccomp_data);
		return true;
	case BPF_MEM:
		*to = *cell(m, f->k);
		return true;
	}
	if (f->k >= sizeof(struct seccomp_data) || f->k % 4 || !(in->known >> f->k / 4 & 1))
		return false;
	*to = in->word[f->k / 4];
	return true;
}

static bool calculate(struct machine *m, unsigned operation, uint32_t by)
{
	switch (operation) {
	case BPF_ADD:
		m->a += by;
		return true;
	case BPF_SUB:
		m->a -= by;
		return true;
	case BPF_MUL:
		m->a *= by;
		return true;
	case BPF_DIV:
		if (by)
			m->a /= by;
		return by != 0;
	case BPF_AND:
		m->a &= by;
		return true;
	case BPF_OR:
		m->a |= by;
		return true;
	case BPF_XOR:
		m->a ^= by;
		return true;
	case BPF_LSH:
		m->a <<= by & 31;
		return true;
	case BPF_RSH:
		m->a >>= by & 31;
		return true;
	case BPF_NEG:
		m->a = -m->a;
		return true;
	}
	return false;
}

static uint32_t filter_jump(const struct machine *m, const struct sock_filter *f, uint32_t with)
{
	bool yes = false;

	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return f->k;
	case BPF_JEQ:
		yes = m->a == with;
		break;
	case BPF_JGT:
		yes = m->a > with;
		break;
	case BPF_JGE:
		yes = m->a >= with;
		break;
	case BPF_JSET:
		yes = m->a & with;
		break;
	}
	return yes ? f->jt : f->jf;
}

/* Runs the filter, which only jumps forward. Returns true if it allows or logs the call; false for
 * any other action, and for an invalid program. */
static bool says_yes(const struct sock_fprog *program, const struct input *in)
{
	struct machine m = {0};

	for (uint64_t at = 0; at < program->len; at++) {
		const struct sock_filter *f = &program->filter[at];
		uint32_t operand = BPF_SRC(f->code) == BPF_X ? m.x : f->k;
		uint32_t answer = BPF_RVAL(f->code) == BPF_A ? m.a : f->k;

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
		case BPF_LDX:
			if (!filter_load(&m, f, in))
				return false;
			break;
		case BPF_ST:
			*cell(&m, f->k) = m.a;
			break;
		case BPF_STX:
			*cell(&m, f->k) = m.x;
			break;
		case BPF_ALU:
			if (!calculate(&m, BPF_OP(f->code), operand))
				return false;
			break;
		case BPF_JMP:
			at += filter_jump(&m, f, operand);
			break;
		case BPF_RET:
			answer &= SECCOMP_RET_ACTION_FULL;
			return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG;
		default:
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
	}
	return false;
}

uint32_t filter_refuses(const struct sock_fprog *program)
{
	uint32_t refused = 0;

	for (size_t i = 0; i < filter_calls_count; i++) {
		struct input in = input_of(&filter_calls[i]);

		if (!says_yes(program, &in))
			refused |= filter_calls[i].class;
	}
	return refused;
}
