/* Finds out what is permitted. See rights.h. The capabilities that each operation needs are in
 * capabilities(7), kernel/bpf/syscall.c and kernel/events/core.c. */
#include "agent/ebpf/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ebpf/trial.h"
#include "base/cleanup.h"
#include "base/proc/file.h"
#include "base/proc/lines.h"
#include "base/proc/maps.h"
#include "base/proc/stat.h"
#include "base/ban.h"

#define EXITING		0x00000004u /* PF_EXITING, include/linux/sched.h */
#define KERNEL_THREAD	0x00200000u /* PF_KTHREAD, include/linux/sched.h */
#define FIRST_NAMESPACE 0xeffffffcu /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define CALLS		16

#define BIT(capability) (UINT64_C(1) << (capability))
#define CAP_PERFMON_BIT BIT(38)
#define CAP_BPF_BIT	BIT(39)

/* Possible obstacles on this host. */
struct host {
	uint64_t capabilities;
	bool filtered; /* by seccomp */
	bool nested;   /* in a user namespace, whose capabilities are valid only inside */
	bool locked;   /* the kernel's lockdown is at its highest level */
};

static void read_status(const char *path, struct host *host)
{
	struct proc_field field[] = {{.name = "CapEff", .base = 16}, {.name = "Seccomp"}};

	proc_file_fields(-1, path, field, 2);
	host->capabilities = field[0].value;
	host->filtered =
		field[1].value == SECCOMP_MODE_FILTER || field[1].value == SECCOMP_MODE_STRICT;
}

static bool file_has(const char *path, const char *text)
{
	cleanup(cleanup_fclose) FILE *file = fopen(path, "re");
	char line[256];

	return file && fgets(line, sizeof(line), file) && strstr(line, text);
}

static struct host host_read(void)
{
	struct host host = {0};

	read_status("/proc/self/status", &host);
	host.nested = access("/proc/self/uid_map", R_OK) == 0 &&
		      !file_has("/proc/self/uid_map", "4294967295");
	host.locked = file_has("/sys/kernel/security/lockdown", "[confidentiality]");
	return host;
}

static bool is_denial(int error)
{
	return error == -EPERM || error == -EACCES;
}

/* Returns why the kernel denied a trial. Checks the most likely reason first. */
static const char *denial(const struct host *host)
{
	uint64_t all = BIT(CAP_SYS_ADMIN), both = CAP_BPF_BIT | CAP_PERFMON_BIT;

	if (host->nested)
		return "this is a user namespace, whose root has no rights over the kernel: run "
		       "the agent outside of it, on the host";
	if (!(host->capabilities & all) && (host->capabilities & both) != both)
		return "the rights are missing: run the agent as root, or give it the capabilities "
		       "CAP_BPF and CAP_PERFMON (before Linux "
		       "5.8: CAP_SYS_ADMIN)";
	if (host->filtered)
		return "a seccomp filter forbids it, as containers have one: run the container "
		       "with --privileged, or with a filter that "
		       "permits bpf and perf_event_open";
	if (host->locked)
		return "the kernel is locked down (confidentiality): boot it with "
		       "lockdown=integrity or less";
	if (!(host->capabilities & all))
		return "this kernel asks for CAP_SYS_ADMIN: run the agent as root, or give it that "
		       "capability";
	return "something forbids it without saying so: look for rules of a "
	       "security module in the kernel's log; before Linux 5.11, raise the "
	       "limit of locked memory (ulimit -l unlimited)";
}

static const char *const too_old[RIGHTS] = {
	[RIGHT_PROGRAMS] = "this kernel can't load the program: it was built without "
			   "CONFIG_BPF_SYSCALL or CONFIG_BPF_EVENTS: use LD_PRELOAD",
	[RIGHT_RING_BUFFER] = "the kernel is too old (5.8 has it): use LD_PRELOAD",
	[RIGHT_EVENT] = "the kernel was built without CONFIG_UPROBE_EVENTS, or is older than 4.17: "
			"use LD_PRELOAD",
	[RIGHT_COOKIE] =
		"the kernel is too old (5.15 has it): probes are told apart by their address",
	[RIGHT_MULTI] = "the kernel is too old (6.6 has it): probes are set one by one",
	[RIGHT_SESSION] = "the kernel is too old (6.13 has it): results of functions cost a probe "
			  "of their own",
};

static struct right_answer answer(const struct host *host, enum right right, int error)
{
	struct right_answer a = {.yes = error >= 0, .error = error < 0 ? error : 0};

	if (!a.yes)
		a.reason = is_denial(error) ? denial(host) : too_old[right];
	return a;
}

/* Closes the descriptor of a successful trial. */
static int opened(int fd)
{
	cleanup_close(&fd);
	return fd < 0 ? fd : 0;
}

static int try_programs(void)
{
	cleanup(cleanup_close) int counter = trial_counter();

	return counter < 0 ? counter : opened(trial_program(counter, TRIAL_EVENT));
}

static struct right_answer try_probe(const struct host *host, enum right right,
				     enum trial_kind kind)
{
	cleanup(trial_done) struct trial trial;
	int error = trial_begin(&trial, kind, TRIAL_EMULATED, false);
	struct right_answer a;
	uint64_t hits = 0;
	double ns;

	if (!error)
		error = trial_run(&trial, TRIAL_EMULATED, CALLS, &ns, &hits);
	a = answer(host, right, error);
	if (!error && hits < CALLS)
		a = (struct right_answer){
			.error = -EIO,
			.reason = "a probe can be set, but does not see calls: use LD_PRELOAD"};
	return a;
}

static struct right_answer try_filtered(const struct host *host, enum trial_kind kind)
{
	cleanup(trial_done) struct trial trial;
	int error = trial_begin(&trial, kind, TRIAL_EMULATED, true);

	if (error)
		return answer(host, RIGHT_EVENT, error);
	error = trial_run_filtered(TRIAL_EMULATED);
	if (!error)
		return (struct right_answer){.yes = true};
	return (struct right_answer){
		.error = error,
		.reason = "this kernel would kill a program behind a seccomp "
			  "filter at a probed return (Linux 6.11 to 6.13, without their fixes): "
			  "there, sizes and frees are seen, but not what "
			  "functions gave; use LD_PRELOAD"};
}

static struct right_answer try_processes(const struct host *host)
{
	if (!host->nested && host->capabilities & BIT(CAP_SYS_PTRACE))
		return (struct right_answer){.yes = true};
	return (struct right_answer){.error = -EPERM,
				     .reason = "without CAP_SYS_PTRACE only programs of the same "
					       "user, and of them only those that Yama permits "
					       "(sysctl kernel.yama.ptrace_scope=0)"};
}

void rights_try(struct rights *ret)
{
	const struct host host = host_read();

	*ret = (struct rights){0};
	ret->of[RIGHT_PROGRAMS] = answer(&host, RIGHT_PROGRAMS, try_programs());
	ret->of[RIGHT_RING_BUFFER] = answer(&host, RIGHT_RING_BUFFER, opened(trial_ring_buffer()));
	ret->of[RIGHT_EVENT] = try_probe(&host, RIGHT_EVENT, TRIAL_EVENT);
	ret->of[RIGHT_COOKIE] = answer(&host, RIGHT_COOKIE, trial_cookie());
	ret->of[RIGHT_MULTI] = try_probe(&host, RIGHT_MULTI, TRIAL_MULTI);
	ret->of[RIGHT_SESSION] = try_probe(&host, RIGHT_SESSION, TRIAL_SESSION);
	ret->of[RIGHT_FILTERED] =
		try_filtered(&host, ret->of[RIGHT_EVENT].yes ? TRIAL_EVENT : TRIAL_MULTI);
	ret->of[RIGHT_PROCESSES] = try_processes(&host);
	ret->enough = ret->of[RIGHT_PROGRAMS].yes && ret->of[RIGHT_RING_BUFFER].yes &&
		      (ret->of[RIGHT_EVENT].yes || ret->of[RIGHT_SESSION].yes);
}

const char *rights_lacking(const struct rights *rights)
{
	static const enum right needed[] = {RIGHT_PROGRAMS, RIGHT_RING_BUFFER, RIGHT_EVENT};

	for (unsigned i = 0; !rights->enough && i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!rights->of[needed[i]].yes)
			return rights->of[needed[i]].reason;
	return NULL;
}

const char *right_name(enum right right)
{
	static const char *const names[RIGHTS] = {
		[RIGHT_PROGRAMS] = "programs in the kernel",
		[RIGHT_RING_BUFFER] = "ring buffer",
		[RIGHT_EVENT] = "uprobes by perf events",
		[RIGHT_COOKIE] = "cookies",
		[RIGHT_MULTI] = "many uprobes by one link",
		[RIGHT_SESSION] = "entry and return by one program",
		[RIGHT_FILTERED] = "returns in programs behind a seccomp filter",
		[RIGHT_PROCESSES] = "programs of all users",
	};

	return names[right];
}

bool rights_is_filtered(int pid)
{
	struct host host = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	read_status(path, &host);
	return host.filtered;
}

/* The kernel gives BPF programs pids of the initial pid namespace and of one namespace that they
 * name, but not of namespaces inside that one. */
static bool is_nested(int pid)
{
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return stat("/proc/self/ns/pid", &own) == 0 && stat(path, &other) == 0 &&
	       own.st_ino != FIRST_NAMESPACE && own.st_ino != other.st_ino;
}

const char *rights_unfit(int pid)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	struct proc_stat stat;

	if (proc < 0 || proc_stat_read(proc, &stat) < 0)
		return NULL;
	if (stat.state == 'Z' || stat.state == 'X')
		return "it has ended, and waits for its parent to notice (a zombie)";
	if (stat.flags & EXITING) /* its memory may be gone already */
		return "it is ending";
	if (stat.flags & KERNEL_THREAD)
		return "it is a thread of the kernel's";
	return is_nested(pid) ? "it is in a process namespace inside of the agent's, which is not "
				"the host's: run the agent on the host, or "
				"in that namespace"
			      : NULL;
}

/* Reads a byte of the first readable mapping. */
static int read_memory(int pid)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	cleanup(cleanup_close) int fd = proc < 0 ? proc : proc_open_file(proc, "maps");
	struct proc_mapping mapping;
	struct proc_maps reader;
	int error = -EPERM;
	char byte;

	if (fd < 0)
		return fd;
	proc_maps_begin(&reader, fd);
	while (error && proc_maps_next(&reader, &mapping) == 1) {
		struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)mapping.start, 1};

		if (!(mapping.permissions & PROC_READABLE))
			continue;
		error = process_vm_readv(pid, &to, 1, &from, 1, 0) == 1 ? 0 : -errno;
		if (error == -EPERM || error == -ESRCH)
			break;
	}
	return error;
}

int rights_to_read(int pid, const char **ret_reason)
{
	int error;

	*ret_reason = rights_unfit(pid);
	if (*ret_reason)
		return -ESRCH;
	error = read_memory(pid);

	if (error == -ENOENT || error == -ESRCH) {
		*ret_reason = "there is no such process";
		return -ESRCH;
	}
	if (error)
		*ret_reason = "its memory can't be read: run the agent as root or with "
			      "CAP_SYS_PTRACE; for a program of the same user, "
			      "Yama must permit it (sysctl kernel.yama.ptrace_scope=0)";
	return error;
}
