/*
 * `agent run -- CMD`: starts a program with libheapcast.so preloaded, and records it until it ends.
 * The program keeps the terminal and its standard descriptors. Ctrl-C reaches both, and the agent
 * stays to deliver what was recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cli/answer.h"
#include "agent/cli/command.h"
#include "agent/cli/options/variables.h"
#include "agent/cli/pair.h"
#include "agent/cli/preload_path.h"
#include "agent/cli/summary.h"
#include "agent/watch/figures.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/proc/lines.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define OWN_VARIABLES  3 /* LD_PRELOAD, HEAPCAST_FD, HEAPCAST_SOCKET */
#define SIGNALLED_BASE 128
#define SOCKET_NAME    64
#define LOOK_MS	       300

struct run_command {
	struct agent agent;
	struct options options;
	char program[PATH_MAX];
	char preload[PATH_MAX];
	char socket_variable[SOCKET_NAME + 16]; /* HEAPCAST_SOCKET=... */
	const char *socket;			/* the part after the '=' */
	pid_t child;
	uint64_t rss_at_fork; /* our own peak at the fork, in bytes */
	int status;
	struct answer answer;
	char recorded[PATH_MAX]; /* the program's file, if the collector is to answer about it */
	uv_timer_t look;	 /* until that file is there */
	uint32_t reports;
	uint64_t events;
	uv_signal_t child_signal, forward[4];
};

static const int forwarded[4] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

static void run_help(void)
{
	program_printf(
		stdout,
		"agent run [OPTION...] [--] CMD [ARG...]\n\n"
		"Runs CMD and records every allocation it makes. Ends with CMD's exit status.\n\n"
		"  agent run -- sqlite3 test.db 'select 1'       into a file here; look at it:\n"
		"                                                collector report FILE\n"
		"  agent run --announce -- ./server              to a collector on the network\n"
		"                                                (there: collector gather)\n"
		"  agent run --collector 192.0.2.7 -- ./app      to this one\n\n"
		"CMD is recorded, also after an exec; with --follow its children are, too. Each\n"
		"process has a stream of its own, from its first allocation on, which names its\n"
		"parent's. What a child frees of its parent's blocks is counted apart. Programs\n"
		"that are static, setuid, or started without LD_PRELOAD are not recorded. A child\n"
		"for which there is no memory is only counted ('collector ledger' of the process\n"
		"that it descends from). Children that outlive CMD are recorded for up to\n"
		"--linger.\n\n"
		"If --output names a file (no %% in it) that is an earlier recording of yours, or\n"
		"empty, a new one replaces it; any other file is left alone, and CMD is not\n"
		"started. The new file gets a number, NAME-2, while an agent still writes the old\n"
		"one, and if --output is a pattern whose name is taken.\n"
		"If something can't be done, agent run says so, and CMD does not begin.\n\n"
		"Exit status: CMD's; 128 + N if signal N ended it; 127 there is no CMD; 126 it\n"
		"can't be recorded by preloading; 2 wrong usage; 3 a fault outside.\n");
	options_help(COMMAND_RUN);
}

/* The terminal sends Ctrl-C and Ctrl-\ to the program, too; the other signals reach only the agent,
 * which forwards them. Once the program has ended, a signal means that the agent should stop
 * waiting. */
static void got_signal(uv_signal_t *handle, int number)
{
	struct run_command *run = handle->data;

	if (!run->child) {
		log_info("signal %d: delivering what there is", number);
		agent_stop(&run->agent);
	} else if (number == SIGTERM || number == SIGHUP) {
		kill(run->child, number);
	}
}

/* Returns the peak resident memory in bytes. */
static uint64_t rss_peak_of(const struct rusage *usage)
{
	return (uint64_t)usage->ru_maxrss * 1024;
}

/* Reaps the child and reports its peak memory. The kernel keeps the peak across an exec, and the
 * program began as a copy of the agent. So the peak is the program's own only if it exceeds the
 * agent's peak at the fork. It also includes children that the program has waited for. The peak
 * then can't be attributed and is reported as 0. */
static void reap(struct run_command *run)
{
	siginfo_t end = {0};
	struct rusage usage;
	uint64_t peak;
	bool waited;
	int status;

	if (run->child <= 0 ||
	    waitid(P_PID, (id_t)run->child, &end, WEXITED | WNOHANG | WNOWAIT) < 0 || !end.si_pid)
		return;
	waited = figures_waited(run->child);
	if (wait4(run->child, &status, WNOHANG, &usage) != run->child)
		return;
	peak = waited ? 0 : rss_peak_of(&usage);
	run->status = WIFSIGNALED(status) ? SIGNALLED_BASE + WTERMSIG(status) : WEXITSTATUS(status);
	run->child = 0; /* the pid may be reused from now on */
	agent_child_ended(&run->agent, run->agent.only, status, peak > run->rss_at_fork ? peak : 0);
}

static void child_changed(uv_signal_t *handle, int number)
{
	(void)number;
	reap(handle->data);
}

static int watch_signals(struct run_command *run)
{
	int r = uv_signal_init(&run->agent.loop, &run->child_signal);

	run->child_signal.data = run;
	if (!r)
		r = uv_signal_start(&run->child_signal, child_changed, SIGCHLD);
	for (unsigned i = 0; !r && i < 4; i++) {
		struct sigaction before;

		sigaction(forwarded[i], NULL, &before);
		if (before.sa_handler == SIG_IGN)
			continue; /* nohup: the program inherits the ignored signal */
		run->forward[i].data = run;
		uv_signal_init(&run->agent.loop, &run->forward[i]);
		r = uv_signal_start(&run->forward[i], got_signal, forwarded[i]);
	}
	return r;
}

static bool run_is_own(const char *entry)
{
	return !strncmp(entry, "LD_PRELOAD=", 11) || !strncmp(entry, "HEAPCAST_FD=", 12) ||
	       !strncmp(entry, "HEAPCAST_SOCKET=", 16);
}

static unsigned long long inode_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? 0 : status.st_ino;
}

/* Builds the program's environment. Our own strings lie in `text`. */
static char **environment(const struct run_command *run, int fd, char *text, size_t size)
{
	const char *preload = getenv("LD_PRELOAD");
	size_t count = 0, n;
	char **list;

	while (environ[count])
		count++;
	list = calloc(count + OWN_VARIABLES + 1, sizeof(*list));
	if (!list)
		return NULL;
	count = 0;
	for (char **e = environ; *e; e++)
		if (!run_is_own(*e))
			list[count++] = *e;
	list[count++] = text;
	n = (size_t)snprintf(text, size, "LD_PRELOAD=%s%s%s", run->preload,
			     preload && *preload ? ":" : "", preload ? preload : "") +
	    1; /* first in the list: before a preloaded allocator, too */
	if (n + 2 * SOCKET_NAME > size) {
		free(list);
		return NULL;
	}
	list[count++] = text + n;
	n += (size_t)snprintf(text + n, size - n, "HEAPCAST_FD=%d:%llu", fd, inode_of(fd)) + 1;
	list[count] = (char *)(uintptr_t)run->socket_variable;
	return list;
}

static int spawn(struct run_command *run, char **argv, int fd)
{
	static char text[3 * PATH_MAX + 256];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char **list = environment(run, fd, text, sizeof(text));
	struct rusage usage;
	sigset_t restore;
	int r;

	if (!list)
		return -ENOMEM;
	sigemptyset(&restore);
	sigaddset(&restore, SIGPIPE);
	sigaddset(&restore, SIGXFSZ);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd,
					 fd); /* clears close-on-exec, in the child only */
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &restore);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(&run->child, run->program, &actions, &attributes, argv, list);
	getrusage(RUSAGE_SELF, &usage);
	run->rss_at_fork = rss_peak_of(&usage);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	free(list);
	return -r;
}

/* Logs the agent's own cost. */
static void log_cost(const struct run_command *run)
{
	struct proc_field rss[] = {{.name = "RssAnon"}, {.name = "RssShmem"}};
	struct rusage usage;

	proc_file_fields(-1, "/proc/self/status", rss, 2);
	getrusage(RUSAGE_SELF, &usage);
	log_debug("cost: %.3f s of CPU, %.1f ns an event; RssAnon: %" PRIu64
		  " kB, RssShmem: %" PRIu64 " kB",
		  (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
			  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
		  run->events ? ((double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
				 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3) /
					(double)run->events
			      : 0.0,
		  rss[0].value, rss[1].value);
}

static void run_finished(void *context, const struct session_report *r)
{
	struct run_command *run = context;
	uint64_t told = r->ledger.delivered + r->ledger.culled;

	run->reports++;
	run->events += told;
	log_cost(run);
	if (run->options.quiet)
		return;
	summary_print(r, run->agent.settings.flight.window_ns != 0);
	if (r->target->pid == run->agent.only && *r->path && !r->file_error && !r->rest &&
	    !r->rest_for_away && answer_possible())
		snprintf(run->recorded, sizeof(run->recorded), "%s", r->path);
	else
		summary_print_next(r);
}

/* Starts the collector early, so that it has read most of the recording when the program ends. */
static void look_for_file(uv_timer_t *timer)
{
	struct run_command *run = timer->data;
	const char *path = agent_file_of(&run->agent, run->agent.only);

	if (!path)
		return;
	uv_timer_stop(timer);
	answer_begin(&run->answer, path);
}

static int look_later(struct run_command *run)
{
	int r;

	if (run->options.quiet || run->options.report || !answer_possible())
		return 0;
	r = uv_timer_init(&run->agent.loop, &run->look);
	run->look.data = run;
	if (!r)
		r = uv_timer_start(&run->look, look_for_file, LOOK_MS, LOOK_MS);
	uv_unref((uv_handle_t *)&run->look);
	return r;
}

/* Prints where the memory went, and what to type next. */
static void run_answer(struct run_command *run)
{
	if (!*run->recorded) {
		answer_end(&run->answer);
		if (!run->options.quiet && (run->options.report || run->options.page))
			program_printf(stderr,
				       "heapcast: --report and --page take `heapcast run`, with a "
				       "collector beside\n          the agent, and a recording in "
				       "a file here\n");
		return;
	}
	if (run->options.report) {
		answer_with("report", "--no-pager", run->recorded);
	} else {
		answer_begin(&run->answer, run->recorded);
		if (answer_end(&run->answer) == ANSWER_LATE)
			program_printf(stderr, "heapcast: finding the call sites takes longer "
					       "than a second\n");
		program_printf(
			stderr,
			"next: heapcast report '%s'\n"
			"      with top, leaks, flamegraph ... in place of report: more of it\n",
			run->recorded);
	}
	if (run->options.page)
		answer_with("page", NULL, run->recorded);
}

static void turned_away(const struct run_command *run)
{
	if (run->agent.turned_away && !run->options.quiet)
		program_printf(
			stderr,
			"heapcast: %u processes were not recorded, or not from their start:\n"
			"          there was no memory for them. Raise --memory-limit for more at "
			"a time;\n"
			"          'collector ledger' of the process that each descends from says "
			"what it did\n",
			run->agent.turned_away);
}

static void unheard(const struct run_command *run)
{
	if (run->agent.unheard && !run->options.quiet)
		program_printf(stderr,
			       "heapcast: %u processes ended before the agent, which was busy, "
			       "could answer them:\n          they are not recorded. 'collector "
			       "ledger' of the process that each\n          descends from names "
			       "them\n",
			       run->agent.unheard);
}

/* Reports programs that children have started and that were not followed. Children that run no
 * other program do not ask, so they are not counted. */
static void unfollowed(const struct run_command *run)
{
	uint32_t count = run->agent.unfollowed;

	if (count && !run->options.quiet)
		program_printf(
			stderr,
			"heapcast: %u program%s that its children ran %s not recorded: 'agent "
			"run --follow'\n          records %s, too\n",
			count, count == 1 ? "" : "s", count == 1 ? "was" : "were",
			count == 1 ? "it" : "them");
}

static void unready(const struct run_command *run)
{
	if (run->agent.unready && !run->options.quiet)
		program_printf(
			stderr,
			"heapcast: %u fork children were not recorded: another thread was loading "
			"a library\n          while they were forked\n",
			run->agent.unready);
}

static bool is_switched_off(void)
{
	const char *off = getenv("HEAPCAST_OFF");

	return off && *off && strcmp(off, "0") != 0;
}

static void never_asked(const struct run_command *run)
{
	if (run->reports || run->options.quiet)
		return;
	if (run->agent.unwritable) {
		program_printf(stderr,
			       "heapcast: nothing was recorded: there was no place for the file "
			       "(--output)\n");
		return;
	}
	if (run->agent.ringless) {
		program_printf(
			stderr,
			"heapcast: nothing was recorded: there was no memory for its ring\n");
		return;
	}
	if (is_switched_off()) {
		program_printf(stderr, "heapcast: nothing was recorded: HEAPCAST_OFF is set\n");
		return;
	}
	program_printf(stderr,
		       "heapcast: nothing was recorded: %s never asked for a ring.\n"
		       "          Does it allocate at all, and does its loader take LD_PRELOAD?\n",
		       run->program);
}

/* Creates a socket whose name only this program and its children know. */
static int private_socket(struct run_command *run)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(run->socket_variable, sizeof(run->socket_variable),
		 "HEAPCAST_SOCKET=@heapcast-run-%d-%016llx", (int)getpid(),
		 (unsigned long long)random);
	run->socket = strchr(run->socket_variable, '=') + 1;
	return handshake_socket(run->socket);
}

static int run_start(struct run_command *run, char **argv, struct err_text *err)
{
	int pair[2], r = watch_signals(run);

	if (!r)
		r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
	if (r < 0)
		return err_set(err, r, "can't prepare to start %s: %s", run->program, strerror(-r));
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	r = handshake_add(&run->agent.handshake, pair[0]);
	if (!r)
		r = spawn(run, argv, pair[1]);
	close(pair[1]);
	if (!r)
		r = look_later(run);
	if (r < 0)
		return err_set(err, r, "can't start %s: %s", run->program, strerror(-r));
	run->agent.only = run->child;
	run->agent.finished = run_finished;
	run->agent.context = run;
	run->agent.children_carry = run->socket_variable;
	agent_expect(&run->agent);
	return 0;
}

static int open_control_socket(struct run_command *run, struct err_text *err)
{
	int r = run->options.control ? agent_open_control_socket(&run->agent, run->options.control)
				     : 0;

	return r < 0 ? err_set(err, r, "can't listen at %s" CONTROL_SUFFIX " (--control): %s",
			       run->options.control, strerror(-r))
		     : 0;
}

static int run_parse(struct run_command *run, int argc, char **argv, struct err_text *err)
{
	int r;

	options_defaults(&run->options);
	r = variables_read(&run->options, COMMAND_RUN, &options_own_environment, err);
	if (r < 0)
		return r;
	r = options_arguments(&run->options, COMMAND_RUN, argc, argv, err);
	if (r >= argc && !run->options.from.help)
		return err_set(err, -EINVAL, "what shall be run? agent run -- CMD [ARG...]");
	options_choose_policy(&run->options, COMMAND_RUN);
	return r;
}

/* Checks before the program starts that the file can be created, if the user wants a file or it is
 * the only output. */
static int run_check_file(const struct run_command *run, const struct agent_settings *s,
			  struct err_text *err)
{
	const char *slash = strrchr(run->program, '/');

	if (!s->each.output && (s->announce || s->listen || s->collector))
		return 0;
	return session_try_file(s, slash ? slash + 1 : run->program, err);
}

/* Pairs before the recording begins (--pair). Then collectors find the agent, or the agent dials
 * the collector that it has paired with. */
static int pair_first(struct run_command *run, struct err_text *err)
{
	struct options *o = &run->options;
	static char host[256], collector[sizeof(host) + 2];
	uint16_t port;
	int r;

	if (!o->pair || !*o->pair)
		return 0;
	r = pair_join(o, o->pair, stderr, err);
	if (r < 0 || o->announce || o->collector || o->listen)
		return r;
	o->announce = !pair_host(o->pair);
	if (!o->announce && parse_endpoint(pair_host(o->pair), host, sizeof(host), &port) == 0) {
		snprintf(collector, sizeof(collector), strchr(host, ':') ? "[%s]" : "%s", host);
		o->collector = collector; /* with the port for gathering, not the one for pairing */
	}
	options_choose_policy(o, COMMAND_RUN);
	return 0;
}

static int run_fail(const struct run_command *run, int status, struct err_text *err, int r)
{
	options_call_variables(&run->options, err);
	return command_fail(status, err, r);
}

int command_run(int argc, char **argv)
{
	static struct run_command run;
	struct agent_settings settings;
	struct err_text err = {{0}};
	int first, r, status, fd;

	first = run_parse(&run, argc, argv, &err);
	if (first < 0)
		return run_fail(&run, EXIT_USAGE, &err, first);
	if (run.options.from.help) {
		run_help();
		return 0;
	}
	r = command_log(&run.options, "warn", argv[first], getpid(), &err);
	if (r < 0)
		return run_fail(&run, EXIT_USAGE, &err, r);
	r = command_settings(&run.options, &settings, &err);
	if (r < 0)
		return run_fail(&run, EXIT_USAGE, &err, r);
	r = preload_check(argv[first], run.program, sizeof(run.program), &status, &err);
	if (r < 0)
		return command_fail(status, &err, r);
	r = preload_path(run.preload, sizeof(run.preload), &err);
	if (!r)
		r = pair_first(&run, &err);
	if (r < 0)
		return run_fail(&run, r == -EINVAL ? EXIT_USAGE : EXIT_FAULT, &err, r);
	r = command_settings(&run.options, &settings, &err);
	if (!r)
		r = command_secure(&run.options, &settings, &err);
	if (r < 0)
		return run_fail(&run, EXIT_USAGE, &err, r);
	if (!r)
		r = run_check_file(&run, &settings, &err);
	if (r < 0)
		return run_fail(&run, r == -EINVAL ? EXIT_USAGE : EXIT_FAULT, &err, r);
	settings.many = settings.each.follow;
	settings.access.everyone = geteuid() == 0; /* the program may change its user */
	fd = private_socket(&run);
	r = fd < 0 ? err_set(&err, fd, "can't make a socket: %s", strerror(-fd))
		   : agent_open(&run.agent, &settings, fd, &err);
	if (!r)
		r = open_control_socket(&run, &err);
	if (!r)
		r = run_start(&run, argv + first, &err);
	if (!r) {
		reap(&run);
		agent_loop(&run.agent);
		run_answer(&run);
		never_asked(&run);
		turned_away(&run);
		unheard(&run);
		unfollowed(&run);
		unready(&run);
	}
	agent_close(&run.agent);
	return r < 0 ? run_fail(&run, r == -EINVAL ? EXIT_USAGE : EXIT_FAULT, &err, r) : run.status;
}
