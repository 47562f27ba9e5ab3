/*
 * `agent attach`: records running programs by kernel probes. Programs are not restarted, and
 * nothing is loaded into them. When the agent ends, even if it is killed, the programs are as
 * before.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/cli/attach.h"
#include "agent/cli/command.h"
#include "agent/cli/options/variables.h"
#include "agent/cli/summary.h"
#include "agent/ebpf/check.h"
#include "agent/ebpf/rights.h"
#include "agent/stream/budget.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/log.h"
#include "base/parse.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define MEMORY_USUAL  (32u << 20)
#define TICK_MS	      100
#define NICE	      (-10)
#define LOOK_TICKS    5 /* for new processes */
#define RING_LEAST    (64u << 10)
#define THREADS_LEAST 8
#define LINES_LEAST   1024
#define IMAGES_LEAST  (256u << 10)
#define BLOCKS_LEAST  512
/* The memory that attaching takes from --memory-limit, in addition to a recording by LD_PRELOAD:
 * libbpf and the programs in the kernel. */
#define OWN_BYTES (1104u << 10)
#define OWN_PAGES 16 /* pages of the kernel's maps and programs, whose sizes are rounded up */
/* The memory for each process: its ring without the data, its modules and their sites. */
#define PROCESS_BYTES (64u << 10)
#define PROCESS_PAGES 3
#define LEAST_BYTES                                                                                \
	(THREADS_LEAST * HUB_THREAD_BYTES + LINES_LEAST * HUB_LINE_BYTES + IMAGES_LEAST +          \
	 BLOCKS_LEAST * HUB_BLOCK_BYTES)
#define EVENTS_MAX 64

static void attach_help(void)
{
	program_printf(
		stdout,
		"agent attach -p PID | --comm NAME | --cgroup PATH | --all [OPTION...]\n\n"
		"Records programs that run already: nothing is restarted, nothing is loaded into\n"
		"them. The kernel stops them at each call of their allocators for one to three\n"
		"microseconds (`agent run` costs a fiftieth of that). Ctrl-C detaches from\n"
		"them.\n\n"
		"  agent attach -p 4711                      into a file here; look at it:\n"
		"                                            collector report FILE\n"
		"  agent attach -p 4711 --for 30s            for half a minute\n"
		"  agent attach --comm nginx --announce      to a collector on the network\n\n"
		"Blocks from before are not known; their frees are counted apart. Needs root (or\n"
		"CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE) and Linux 5.10 or later.\n\n"
		"Exit status: 0 done; 1 there was nothing to record; 2 wrong usage; 3 a fault\n"
		"outside.\n");
	options_help(COMMAND_ATTACH);
}

/* ---- memory ---- */

static size_t power_below(size_t value)
{
	size_t power = RING_LEAST;

	while (power * 2 <= value)
		power *= 2;
	return power;
}

/* Returns the extra bytes that `pages` pages take on a kernel with larger pages than 4 KiB. The
 * numbers above were measured with 4 KiB. */
static size_t larger(size_t pages)
{
	return pages * ((size_t)sysconf(_SC_PAGESIZE) - 4096);
}

/* Subtracts the memory that does not depend on the number of processes from the limit. */
static int reserve(struct options *o, struct err_text *err)
{
	const uint64_t takes = OWN_BYTES + LEAST_BYTES + larger(OWN_PAGES);
	char given[32], least[32];

	if (o->memory_limit < budget_least() + takes)
		return err_set(err, -EINVAL,
			       "--memory-limit: %s is too little for attaching: the least is %s",
			       format_size(given, (double)o->memory_limit),
			       format_size(least, (double)(budget_least() + takes)));
	o->memory_limit -= takes;
	return 0;
}

/*
 * Divides the memory that `agent run` uses for its rings. Half of it goes to the kernel's ring
 * buffers, the rest to threads, rows, sampled blocks, and images of files for the unwinder. Each of
 * these also gets the minimum that was reserved for it.
 */
static void divide(const struct agent *a, struct hub_settings *ret)
{
	size_t room = a->budget.ring * a->budget.slots, used, rest;
	uint32_t lanes = a->session[0].stream.lane_count;

	*ret = (struct hub_settings){.watches = a->budget.slots,
				     .ring_bytes = power_below(a->budget.ring / 2)};
	used = (ret->ring_bytes + PROCESS_BYTES + larger(PROCESS_PAGES)) * a->budget.slots;
	rest = room > used ? room - used : 0;
	ret->threads = THREADS_LEAST + (uint32_t)(rest / 8 * 3 / HUB_THREAD_BYTES);
	ret->threads = ret->threads > lanes ? lanes : ret->threads;
	ret->lines = LINES_LEAST;
	while ((ret->lines * 2 - LINES_LEAST) * HUB_LINE_BYTES <= rest / 8)
		ret->lines *= 2;
	ret->blocks = BLOCKS_LEAST + (uint32_t)(rest / 4 / HUB_BLOCK_BYTES);
	ret->image_bytes = IMAGES_LEAST + rest / 4;
}

/* ---- processes ---- */

static const struct rights *host_rights(void)
{
	static struct rights rights;
	static bool tried;

	if (!tried)
		rights_try(&rights);
	tried = true;
	return &rights;
}

/* Explains a denied permission in the words of --check. */
static int explain(int r, struct err_text *err)
{
	const char *reason = r == -EPERM || r == -EACCES ? rights_lacking(host_rights()) : NULL;

	if (reason && geteuid() != 0)
		return err_set(err, r,
			       "attaching needs the rights of root: type 'sudo agent attach ...' "
			       "(%s; 'agent attach --check' says more)",
			       reason);
	return reason ? err_set(err, r,
				"attaching does not work here: %s (agent attach --check says more)",
				reason)
		      : r;
}

/* Refuses a program behind a seccomp filter if the kernel would kill it at the first probed return.
 * Some kernels return from the probe by a system call, which the filter sees. */
static int check_filter(pid_t pid, struct err_text *err)
{
	if (!rights_is_filtered(pid))
		return 0;
	return host_rights()->of[RIGHT_FILTERED].yes
		       ? 0
		       : err_set(err, -EPERM,
				 "pid %d is behind a seccomp filter, and this kernel would end it "
				 "at the first probe "
				 "of a return: %s",
				 (int)pid, host_rights()->of[RIGHT_FILTERED].reason);
}

/* Reports why the agent can't find out which program the process runs. */
static int refuse_unseen(const struct target_info *target, struct err_text *err)
{
	int pid = (int)target->pid, r;
	char path[32], program[2];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	r = readlink(path, program, sizeof(program)) < 0 ? -errno : 0;
	if (r == -ENOENT)
		return err_set(err, -ESRCH,
			       "pid %d has no program to record: it is a thread of the kernel, or "
			       "has ended",
			       pid);
	if (geteuid() == 0)
		return err_set(
			err, -EPERM,
			"can't look at pid %d: %s, though this is root: it has rights that "
			"the agent lacks (a container takes some, such as CAP_SYS_PTRACE), or "
			"a security module forbids it",
			pid, r ? strerror(-r) : "its program has no name");
	if (target->uid != geteuid())
		return err_set(err, -EPERM,
			       "can't look at pid %d: it is another user's (type 'sudo agent "
			       "attach -p %d', or give the agent CAP_SYS_PTRACE)",
			       pid, pid);
	return err_set(err, -EPERM,
		       "can't look at pid %d: %s, though it is yours: it may not be dumped (type "
		       "'sudo agent attach -p %d')",
		       pid, strerror(r ? -r : EPERM), pid);
}

static int check(const struct target_info *target, struct err_text *err)
{
	const char *reason;
	int r;

	if (rights_unfit(target->pid))
		return -ESRCH;
	if (!*target->executable)
		return refuse_unseen(target, err);
	if (target->pointer_bits != sizeof(void *) * 8)
		return err_set(err, -ENOEXEC,
			       "pid %d (%s) is a %u-bit program: it can be recorded only from its "
			       "start, by "
			       "`agent run` of a build for %s",
			       (int)target->pid, target_name(target), target->pointer_bits,
			       target->architecture);
	r = rights_to_read(target->pid, &reason);
	if (r < 0)
		return err_set(err, r, "can't read pid %d (%s): %s", (int)target->pid,
			       target_name(target), reason);
	return check_filter(target->pid, err);
}

static struct stream *stream_of(struct attach *a, const struct watch *watch)
{
	for (uint32_t i = 0; i < a->agent.budget.slots; i++)
		if (a->agent.stream[i]->source == &watch->source)
			return a->agent.stream[i];
	return NULL;
}

/* Replaces the error `r` if it came about because the process has ended or can't be attached to at
 * all. */
static int unless_ended(pid_t pid, int r, struct err_text *err)
{
	const char *reason = r < 0 ? rights_unfit(pid) : NULL;

	if (r < 0 && kill(pid, 0) < 0 && errno == ESRCH)
		return err_set(err, -ESRCH, "pid %d has ended", (int)pid);
	return reason ? err_set(err, -ESRCH, "can't attach to pid %d: %s", (int)pid, reason) : r;
}

static int attach_begin(struct attach *a, const struct target_info *target, struct watch *watch,
			const uint8_t *parent, struct err_text *err)
{
	int r = session_attach(&a->agent, target, &watch->source, parent), pid = (int)target->pid;

	if (!r) {
		watch_begin(watch, stream_of(a, watch));
		return 0;
	}
	if (r != -EIO) /* with -EIO the stream had begun, and has closed the source */
		watch_free(watch);
	return err_set(err, r,
		       r == -EEXIST   ? "pid %d is recorded already"
		       : r == -ENOSPC ? "there is no place for pid %d: raise --memory-limit"
				      : "can't record pid %d: there is nowhere to put it",
		       pid);
}

int attach_one(struct attach *a, pid_t pid, const uint8_t *parent, struct err_text *err)
{
	struct target_info target;
	struct watch *watch;
	int r = target_read(pid, &target), lock;

	if (r < 0)
		return err_set(err, r, "there is no process %d", (int)pid);
	if (attach_is_ours(pid))
		return err_set(err, -EINVAL, "pid %d is an agent or a collector of ours", (int)pid);
	r = unless_ended(pid, check(&target, err), err);
	if (!r)
		r = attach_lock(pid, &lock, err);
	if (r < 0)
		return r;
	r = unless_ended(pid, explain(hub_watch(&a->hub, pid, &watch, err), err), err);
	if (r < 0) {
		attach_unlock(lock);
		return r;
	}
	watch->lock = lock;
	r = attach_begin(a, &target, watch, parent, err);
	if (r < 0)
		return r;
	a->attached++;
	log_info("attached to pid %d (%s): %u places are probed", (int)pid, target_name(&target),
		 watch->sites);
	return 0;
}

static int attach_named(struct attach *a, struct err_text *err)
{
	int r = 0;

	for (unsigned i = 0; !r && i < a->want.pids; i++)
		r = attach_one(a, a->want.pid[i], NULL, err);
	if (!r)
		attach_look_around(a);
	return r;
}

/* ---- the loop ---- */

static void attach_stop(uv_signal_t *handle, int number)
{
	struct attach *a = handle->data;

	log_info("signal %d: letting the programs go", number);
	agent_stop(&a->agent);
}

static void time_over(uv_timer_t *timer)
{
	agent_stop(&((struct attach *)timer->data)->agent);
}

static void attach_tick(uv_timer_t *timer)
{
	struct attach *a = timer->data;

	attach_look_again(a);
	if (!a->agent.stopping && ++a->ticks % LOOK_TICKS == 0)
		attach_look_around(a);
}

/* Handles the hub's news: a ring is filling up, or a watch needs probes. */
static void rung(uv_poll_t *poll, int status, int events)
{
	struct attach *a = poll->data;
	struct epoll_event got[EVENTS_MAX];

	(void)status;
	(void)events;
	epoll_wait(a->hub.epoll, got, EVENTS_MAX, 0);
	drain_kick(&a->agent.drain);
	attach_look_again(a);
	attach_hear(a);
}

static void watch_loop(struct attach *a)
{
	static const int signals[3] = {SIGINT, SIGTERM, SIGHUP};

	for (unsigned i = 0; i < 3; i++) {
		a->signal[i].data = a;
		uv_signal_init(&a->agent.loop, &a->signal[i]);
		uv_signal_start(&a->signal[i], attach_stop, signals[i]);
	}
	a->tick.data = a->until.data = a->bell.data = a;
	uv_timer_init(&a->agent.loop, &a->tick);
	uv_timer_start(&a->tick, attach_tick, TICK_MS, TICK_MS);
	uv_timer_init(&a->agent.loop, &a->until);
	uv_update_time(&a->agent.loop); /* attaching has taken time */
	if (a->options.for_ns)
		uv_timer_start(&a->until, time_over, a->options.for_ns / 1000000, 0);
	uv_poll_init(&a->agent.loop, &a->bell, a->hub.epoll);
	uv_poll_start(&a->bell, UV_READABLE, rung);
}

static void attach_finished(void *context, const struct session_report *r)
{
	struct attach *a = context;

	a->reports++;
	if (a->options.quiet)
		return;
	summary_print(r, a->agent.settings.flight.window_ns != 0);
	summary_print_next(r);
}

/* Prints a line before the programs are loaded: the kernel's verifier may take a second or more on
 * a board's processor. */
static void say_attaching(const struct attach *a)
{
	if (!a->options.quiet)
		program_printf(stderr, "heapcast: attaching\n");
}

static void say_attached(const struct attach *a, uint64_t took_ns)
{
	if (a->options.quiet)
		return;
	if (!a->attached)
		program_printf(stderr, "heapcast: waiting for programs (Ctrl-C ends that)\n");
	else
		program_printf(stderr,
			       "heapcast: attached to %u %s after %.1f s; Ctrl-C detaches\n",
			       a->attached, a->attached == 1 ? "program" : "programs",
			       (double)took_ns / 1e9);
}

static void say_nobody(const struct attach_want *want)
{
	if (want->comm)
		program_printf(stderr,
			       "heapcast: nothing was recorded: no program named '%.60s' appeared "
			       "(--comm takes the name that 'ps -o comm' shows)\n",
			       want->comm);
	else
		program_printf(stderr, "heapcast: nothing was recorded: no program appeared\n");
}

static int attach_start(struct attach *a, const struct agent_settings *settings,
			struct err_text *err)
{
	uint64_t begin = clock_monotonic_ns();
	struct hub_settings hub;
	int r;

	say_attaching(a);
	r = agent_open(&a->agent, settings, -1, err);
	if (r < 0)
		return r;
	a->agent.finished = attach_finished;
	a->agent.context = a;
	divide(&a->agent, &hub);
	hub.block = a->options.policy == RING_BLOCK;
	hub.follow = a->options.follow;
	hub.execs = attach_looks(&a->want);
	r = explain(hub_open(&a->hub, &hub, err), err);
	if (!r && a->options.control) {
		r = agent_open_control_socket(&a->agent, a->options.control);
		if (r < 0)
			err_set(err, r, "can't listen at %s" CONTROL_SUFFIX " (--control): %s",
				a->options.control, strerror(-r));
	}
	if (!r) {
		attach_begin_following(a);
		r = attach_named(a, err);
	}
	if (r < 0)
		return r;
	watch_loop(a);
	say_attached(a, clock_monotonic_ns() - begin);
	agent_loop(&a->agent);
	return 0;
}

/* ---- the command line ---- */

static int attach_parse(struct attach *a, int argc, char **argv, struct err_text *err)
{
	struct options *o = &a->options;
	int r;

	options_defaults(o);
	o->memory_limit = MEMORY_USUAL;
	r = variables_read(o, COMMAND_ATTACH, &options_own_environment, err);
	if (!r)
		r = options_arguments(o, COMMAND_ATTACH, argc, argv, err);
	if (r < 0 || o->from.help)
		return r < 0 ? r : 0;
	if (r < argc)
		return err_set(err, -EINVAL, "attach takes no '%s' (did you mean -p %s?)", argv[r],
			       argv[r]);
	if (o->policy == RING_THIN)
		return err_set(
			err, -EINVAL,
			"--policy thin is not for attach: what a probe costs does not depend on "
			"how much is sampled; block and count are, and --mode sample=BYTES");
	r = reserve(o, err);
	if (r < 0)
		return r;
	a->want = (struct attach_want){
		.comm = o->comm, .has_cgroup = o->cgroup && *o->cgroup, .all = o->all};
	if (a->want.has_cgroup)
		attach_cgroup_read(o->cgroup, &a->want.cgroup);
	for (size_t i = 0; !r && i < o->pids.count; i++)
		r = attach_parse_pids(&a->want, o->pids.texts[i], err);
	if (r < 0)
		return r;
	if (!a->want.pids && !attach_looks(&a->want) && !o->check)
		return err_set(err, -EINVAL,
			       "what shall be recorded? agent attach -p PID | --comm NAME | "
			       "--cgroup PATH | --all");
	return 0;
}

/* Reports what this machine permits, and what would be recorded of each process. */
static int check_all(const struct attach_want *want)
{
	int status = want->pids ? 0 : attach_check(stdout, 0);

	for (unsigned i = 0; i < want->pids; i++)
		status |= attach_check(stdout, want->pid[i]);
	return status;
}

const char *attach_library(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "libbpf %s", libbpf_version_string());
	return text;
}

int command_attach(int argc, char **argv)
{
	static struct attach a;
	struct agent_settings settings;
	struct err_text err = {{0}};
	int r = attach_parse(&a, argc, argv, &err);

	if (r < 0)
		return command_fail(EXIT_USAGE, &err, r);
	if (a.options.from.help) {
		attach_help();
		return 0;
	}
	if (a.options.check)
		return check_all(&a.want);
	r = command_log(&a.options, "warn", "attach", getpid(), &err);
	if (!r)
		r = command_settings(&a.options, &settings, &err);
	if (!r)
		r = command_secure(&a.options, &settings, &err);
	if (r < 0)
		return command_fail(EXIT_USAGE, &err, r);
	setpriority(PRIO_PROCESS, 0, NICE); /* if permitted: probed programs must not wait long */
	settings.no_rings = true;
	settings.many = a.want.pids > 1 || attach_looks(&a.want) || a.options.follow;
	settings.access.everyone = geteuid() == 0;
	settings.idle_ns = attach_looks(&a.want) ? 0 : 1;
	r = attach_start(&a, &settings, &err);
	agent_close(&a.agent);
	if (a.hub.object)
		hub_close(&a.hub);
	if (r < 0)
		return command_fail(r == -EINVAL ? EXIT_USAGE : EXIT_FAULT, &err, r);
	if (!a.attached && !a.options.quiet)
		say_nobody(&a.want);
	return a.attached ? 0 : 1;
}
