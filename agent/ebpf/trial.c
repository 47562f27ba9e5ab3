/* Makes experiments with the kernel. See trial.h. For the calls see bpf(2), perf_event_open(2), and
 * include/uapi/linux/bpf.h of Linux 6.13. */
#include "agent/ebpf/trial.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/ebpf/multi.h"
#include "base/cleanup.h"
#include "base/proc/file.h"
#include "base/proc/maps.h"
#include "base/ban.h"

#define SELF	   "/proc/self/exe"
#define EVENT_TYPE "/sys/bus/event_source/devices/uprobe/type"

/* The probed functions. Not static, so that the compiler can assume nothing about their callers. */
unsigned trial_emulated(unsigned a, unsigned b);
unsigned trial_stepped(unsigned a, unsigned b);

__attribute__((noinline, patchable_function_entry(1, 0))) unsigned trial_emulated(unsigned a,
										  unsigned b)
{
	return a + b;
}

__attribute__((noinline)) unsigned trial_stepped(unsigned a, unsigned b)
{
	return a + b;
}

static unsigned (*volatile const functions[])(unsigned a, unsigned b) = {
	[TRIAL_EMULATED] = trial_emulated, [TRIAL_STEPPED] = trial_stepped};

/* Returns the function's offset in this program's file; 0 if it is not found. */
static uint64_t offset_of(enum trial_function function)
{
	uint64_t address = (uint64_t)(uintptr_t)functions[function];
	cleanup(cleanup_close) int proc = proc_open(getpid());
	struct proc_mapping m;

	return proc_maps_find(proc, address, &m) ? address - m.start + m.offset : 0;
}

int trial_counter(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "heapcast_trial", 4, 8, 1, NULL);

	return fd < 0 ? -errno : fd;
}

int trial_ring_buffer(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "heapcast_trial", 0, 0,
				(uint32_t)getpagesize(), NULL);

	return fd < 0 ? -errno : fd;
}

/* r0 = lookup(map, &0); if (r0) *r0 += 1; return 0 */
int trial_program(int counter, enum trial_kind kind)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4},
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = 1,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = counter},
		{0},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .off = 2},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1},
		{.code = BPF_STX | BPF_ATOMIC | BPF_DW, .src_reg = 1, .imm = BPF_ADD},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options);
	int fd;

	if (kind != TRIAL_EVENT)
		options.expected_attach_type =
			(enum bpf_attach_type)(kind == TRIAL_MULTI ? MULTI_UPROBES : MULTI_SESSION);
	fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "heapcast_trial", "GPL", program,
			   sizeof(program) / sizeof(program[0]), &options);
	return fd < 0 ? -errno : fd;
}

static int open_event(enum trial_function function, bool returns)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .config = returns};
	cleanup(cleanup_fclose) FILE *type = fopen(EVENT_TYPE, "re");
	int fd;

	if (!type || fscanf(type, "%u", &attr.type) != 1)
		return -ENOENT;
	attr.config1 = (uint64_t)(uintptr_t)SELF;
	attr.config2 = offset_of(function);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int begin_event(struct trial *t, enum trial_function function, bool returns)
{
	t->event = open_event(function, returns);
	if (t->event < 0)
		return t->event;
	if (ioctl(t->event, PERF_EVENT_IOC_SET_BPF, t->program) ||
	    ioctl(t->event, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return 0;
}

static int begin_multi(struct trial *t, enum trial_kind kind, enum trial_function function,
		       bool returns)
{
	const uint64_t offset = offset_of(function);
	const struct multi_probe probe = {
		.program = t->program,
		.type = kind == TRIAL_MULTI ? MULTI_UPROBES : MULTI_SESSION,
		.returns = kind == TRIAL_MULTI && returns,
		.path = SELF,
		.offset = &offset,
		.count = 1,
	};

	t->link = multi_attach(&probe);
	return t->link < 0 ? t->link : 0;
}

int trial_begin(struct trial *trial, enum trial_kind kind, enum trial_function function,
		bool returns)
{
	*trial = (struct trial){-1, -1, -1, -1};
	trial->counter = trial_counter();
	if (trial->counter < 0)
		return trial->counter;
	trial->program = trial_program(trial->counter, kind);
	if (trial->program < 0)
		return trial->program;
	return kind == TRIAL_EVENT ? begin_event(trial, function, returns)
				   : begin_multi(trial, kind, function, returns);
}

void trial_done(struct trial *trial)
{
	cleanup_close(&trial->link);
	cleanup_close(&trial->event);
	cleanup_close(&trial->program);
	cleanup_close(&trial->counter);
	*trial = (struct trial){-1, -1, -1, -1};
}

int trial_cookie(void)
{
	cleanup(trial_done) struct trial t = {trial_counter(), -1, -1, -1};
	LIBBPF_OPTS(bpf_link_create_opts, options);

	if (t.counter < 0)
		return t.counter;
	t.program = trial_program(t.counter, TRIAL_EVENT);
	if (t.program < 0)
		return t.program;
	t.event = open_event(TRIAL_EMULATED, false);
	if (t.event < 0)
		return t.event;
	options.perf_event.bpf_cookie = 1;
	t.link = bpf_link_create(t.program, t.event, BPF_PERF_EVENT, &options);
	return t.link < 0 ? -errno : 0;
}

int trial_run(const struct trial *trial, enum trial_function function, unsigned calls,
	      double *ret_ns, uint64_t *ret_hits)
{
	unsigned (*volatile call)(unsigned a, unsigned b) = functions[function];
	struct timespec begin, end;
	uint64_t before = 0, after = 0;
	uint32_t key = 0;

	if (bpf_map_lookup_elem(trial->counter, &key, &before))
		return -errno;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned i = 0; i < calls; i++)
		call(i, calls);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (bpf_map_lookup_elem(trial->counter, &key, &after))
		return -errno;
	*ret_hits = after - before;
	*ret_ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
		   (double)(end.tv_nsec - begin.tv_nsec)) /
		  calls;
	return 0;
}

static void run_behind_filter(enum trial_function function)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	unsigned (*volatile call)(unsigned a, unsigned b) = functions[function];

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no core file */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		syscall(SYS_exit_group, 1);
	call(1, 1);
	syscall(SYS_exit_group, 0);
}

int trial_run_filtered(enum trial_function function)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		run_behind_filter(function);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFSIGNALED(status))
		return -EPERM;
	return WEXITSTATUS(status) ? -ENOSYS : 0;
}
