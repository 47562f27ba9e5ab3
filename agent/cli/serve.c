/*
 * `agent serve`: the daemon that programs ask for rings. With --for-pid it is the agent that
 * libheapcast.so starts for a program if no daemon runs; it exits by itself.
 *
 *   SIGHUP           reads the configuration file again; applies what can change while programs
 *                    are recorded, and logs the rest
 *   SIGTERM, SIGINT  accepts no new programs and delivers what it holds, within --stop-timeout;
 *                    a second signal ends that at once
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cli/command.h"
#include "agent/cli/daemon_socket.h"
#include "agent/cli/options/values.h"
#include "agent/cli/complaint.h"
#include "agent/cli/serve_options.h"
#include "agent/cli/service.h"
#include "agent/cli/settle.h"
#include "agent/core/clock.h"
#include "agent/serve/takeup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/log.h"
#include "base/parse.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define STATUS_MS   1000
#define FILES_NAMED 6

struct serve {
	struct agent agent;
	struct options options; /* the options that are in force */
	struct serve_options from;
	char *first_text, *text; /* text of the file, at the start and now; options point into it */
	char folder[PATH_MAX];	 /* working folder at the start */
	char home[PATH_MAX];	 /* the socket's absolute name */
	struct daemon_socket socket;
	int kept_fd; /* duplicate of a self-started agent's socket, until it has begun; else -1 */
	struct service service;
	bool begun, stopping;
	uint32_t told_live; /* number of programs that the service manager's status shows */
	uv_signal_t term, interrupt, hangup;
	uv_timer_t status, watchdog;
};

static void serve_help(void)
{
	program_printf(
		stdout,
		"agent serve [OPTION...]\n\n"
		"Records every program of this host that is started with\n"
		"LD_PRELOAD=libheapcast.so by a user who may (--allow-user). SIGTERM ends it; the\n"
		"programs go on unrecorded. SIGHUP reads the file of --config again; the log\n"
		"names settings that can't change in a running agent. If it is killed and started\n"
		"again, as root or with CAP_CHECKPOINT_RESTORE, it resumes the recordings of the\n"
		"programs that still run.\n\n"
		"  agent serve --announce                       to a collector on the network\n"
		"  agent serve --collector 192.0.2.7            to this one\n\n"
		"Programs find it at /run/heapcast/agent.sock if it runs as root, else at\n"
		"$XDG_RUNTIME_DIR/heapcast/agent.sock; elsewhere (--socket) by HEAPCAST_SOCKET in\n"
		"their environment. Each takes 200 KiB of --memory-limit as it begins, and more\n"
		"as it needs it, 256 at a time at most; who finds no room runs on unrecorded.\n"
		"Under systemd it takes sockets that are passed, tells when it is ready, and\n"
		"answers the watchdog (deploy/systemd).\n\n"
		"With nothing but LD_PRELOAD=libheapcast.so the library starts an agent by\n"
		"itself, which ends 10 s after the last recording; each file goes to the folder\n"
		"in which its program was started. Programs of a user share one if their\n"
		"HEAPCAST_ variables mean the same sockets, key and memory. It reads no file of\n"
		"options unless HEAPCAST_CONFIG names one.\n\n"
		"A program's own variables hold for it: mode, policy, children and what else is\n"
		"recorded of it, and --output if it is of the agent's own user. A file is always\n"
		"a new one: a name that is taken gets a number, NAME-2. What is not honoured is\n"
		"in the log, and the program writes it to its standard error.\n\n"
		"Exit status: 0 all was delivered or is in files; 2 wrong usage; 3 a fault\n"
		"outside, or something could not be delivered in time.\n");
	options_help(COMMAND_SERVE);
}

/* ---- reloading ---- */

static void tell_change(const char *name, const char *running, const char *wanted, bool kept)
{
	if (kept)
		log_warn("%s can't change while the agent runs: it stays %s (wanted: %s); restart "
			 "the agent for it",
			 name, running, wanted);
	else
		log_info("%s: %s, was %s", name, wanted, running);
}

static void log_access(const struct serve *serve)
{
	char text[DAEMON_SOCKET_NAME_MAX + 128], who[ACCESS_TEXT_MAX];

	daemon_socket_text(&serve->socket, text, sizeof(text));
	log_info("programs ask at %s; who may: %s", text,
		 access_text(&serve->agent.settings.access, who));
}

/* Sets the settings that do not come from options. */
static int make_settings(struct serve *serve, const struct options *o,
			 struct agent_settings *settings, struct err_text *err)
{
	int r = command_settings(o, settings, err);

	if (r < 0)
		return r;
	settings->many = true;
	settings->settle = settle;
	settings->settle_context = &serve->options;
	settings->beside_target = o->for_pid != 0;
	settings->folder = *serve->folder ? serve->folder : NULL;
	return 0;
}

/* Checks everything before it changes anything. */
static int reload(struct serve *serve, struct err_text *err)
{
	struct agent_settings settings;
	struct options next;
	char *text = NULL;
	int r = serve_options_read(&serve->from, &next, &text, err);

	next.paired = serve->options.paired;
	if (!r)
		r = make_settings(serve, &next, &settings, err);
	if (!r)
		r = command_log_level(&next, "info", err);
	if (r < 0) {
		free(text);
		return r;
	}
	options_compare(&next, &serve->options, COMMAND_SERVE, tell_change);
	agent_change(&serve->agent, &settings);
	daemon_socket_admit(&serve->socket, &settings.access);
	log_limit(next.log_limit);
	serve->options = next;
	free(serve->text);
	serve->text = text;
	return 0;
}

static void hangup(uv_signal_t *handle, int number)
{
	struct serve *serve = handle->data;
	struct err_text err = {{0}};
	int r;

	(void)number;
	if (serve->stopping)
		return;
	service_tell(&serve->service, "RELOADING=1\nMONOTONIC_USEC=%llu",
		     (unsigned long long)(clock_monotonic_ns() / 1000));
	r = log_reopen();
	if (r < 0)
		log_error("can't open the log anew: %s", strerror(-r));
	r = reload(serve, &err);
	if (r < 0) {
		log_error("%s; nothing was changed", err_get(&err, r));
		service_tell(&serve->service, "READY=1\nSTATUS=kept its settings: %s",
			     err_get(&err, r));
		return;
	}
	log_info("read again: %s; what is on record keeps its mode and policy",
		 serve->from.file ? serve->from.file : "no file");
	log_access(serve);
	service_tell(&serve->service, "READY=1");
	serve->told_live = UINT32_MAX;
}

/* ---- stopping ---- */

static void serve_stop(uv_signal_t *handle, int number)
{
	struct serve *serve = handle->data;
	double seconds = (double)serve->agent.settings.stop_ns / 1e9;

	log_info("signal %d: no new programs; delivering what there is, for up to %.3g s", number,
		 seconds);
	serve->stopping = true;
	service_tell(&serve->service,
		     "STOPPING=1\nSTATUS=delivering what there is\nEXTEND_TIMEOUT_USEC=%.0f",
		     (seconds + 1) * 1e6);
	agent_stop(&serve->agent);
}

/* Reports events that could not be delivered. The log has the details of each program. */
static int undelivered(const struct serve *serve, struct err_text *err)
{
	const struct agent *a = &serve->agent;
	char events[32], time[32];

	if (!a->undelivered)
		return 0;
	return err_set(
		err, -EIO,
		"%s events of %u programs could not be delivered and are lost; there were %s "
		"for it (--stop-timeout)",
		format_count(events, a->undelivered), a->undelivered_of,
		format_duration(time, a->settings.stop_ns));
}

static void serve_finished(void *context, const struct session_report *r)
{
	char size[32];

	(void)context;
	log_info("%s, pid %d, ended: %llu events, %llu lost, %llu short-lived, %s%s%s%s%s",
		 target_name(r->target), (int)r->target->pid,
		 (unsigned long long)r->ledger.delivered, (unsigned long long)r->ledger.lost,
		 (unsigned long long)r->ledger.culled, format_size(size, (double)r->bytes),
		 *r->path ? " in " : "", r->path, *r->taken_by ? ", taken by " : "", r->taken_by);
	if (*r->lacking)
		log_warn("pid %d: only a part was taken by %s%s%s", (int)r->target->pid, r->lacking,
			 !r->rest_for_away ? ""
			 : r->rest_cut ? "; of the rest there was room for the end only (--spool "
					 "keeps more): it is in "
				       : "; the rest is in ",
			 r->rest_for_away ? r->path : "");
	if (r->file_error)
		log_error("can't write to %s: %s; it has the first %llu events, %llu are not in it",
			  r->path, strerror(-r->file_error), (unsigned long long)r->saved,
			  (unsigned long long)(r->ledger.delivered - r->saved));
	else if (r->given_up)
		log_error("no collector %s pid %d and no file could be written: %llu events "
			  "are lost",
			  *r->taken_by ? "took the end of" : "came for", (int)r->target->pid,
			  (unsigned long long)(r->ledger.delivered - r->saved));
	else if (r->lingered)
		log_warn("no collector %s pid %d; what was left is in %s%s",
			 *r->taken_by ? "took the end of" : "came for", (int)r->target->pid,
			 r->path, r->rest ? ": 'collector import' adds it to what one has" : "");
	if (r->no_place)
		log_warn("pid %d: %llu events of threads without a place in the ring: raise "
			 "--memory-limit",
			 (int)r->target->pid, (unsigned long long)r->no_place);
}

/* ---- running ---- */

static void watch_signal(struct serve *serve, uv_signal_t *handle, int number,
			 uv_signal_cb callback)
{
	handle->data = serve;
	uv_signal_init(&serve->agent.loop, handle);
	uv_signal_start(handle, callback, number);
}

static void tell_status(uv_timer_t *timer)
{
	struct serve *serve = timer->data;
	uint32_t live = agent_live(&serve->agent);

	if (live == serve->told_live || serve->stopping)
		return;
	serve->told_live = live;
	service_tell(&serve->service, "STATUS=recording %u programs; there is a place for %u", live,
		     serve->agent.budget.slots);
}

static void tell_alive(uv_timer_t *timer)
{
	struct serve *serve = timer->data;

	service_tell(&serve->service, "WATCHDOG=1");
}

static void watch_timers(struct serve *serve)
{
	uint64_t half_ms = serve->service.watchdog_ns / 2 / 1000000;

	if (!serve->service.length)
		return;
	serve->told_live = UINT32_MAX;
	serve->status.data = serve->watchdog.data = serve;
	uv_timer_init(&serve->agent.loop, &serve->status);
	uv_timer_init(&serve->agent.loop, &serve->watchdog);
	uv_timer_start(&serve->status, tell_status, 0, STATUS_MS);
	if (serve->service.watchdog_ns)
		uv_timer_start(&serve->watchdog, tell_alive, 0, half_ms ? half_ms : 1);
}

static void log_start(const struct serve *serve)
{
	const struct agent *a = &serve->agent;
	char limit[32], ring[32], spool[32];

	log_info("heapcast agent %s; options: %s", HEAPCAST_VERSION,
		 serve->from.file ? serve->from.file : "no file");
	log_info("memory limit %s: %u programs at a time at most, each with a ring of up to %s and "
		 "a "
		 "spool of up to %s; %u collectors",
		 format_size(limit, (double)a->budget.limit), a->budget.slots,
		 format_size(ring, (double)a->budget.ring),
		 format_size(spool, (double)a->budget.spool), a->budget.links);
	if (a->settings.collector)
		log_info("the collector is %s", a->settings.collector);
	if (a->settings.each.output || !a->to_links)
		log_info("recordings go to %s", a->settings.each.output ? a->settings.each.output
									: "files named by default");
	log_access(serve);
}

/* Leaves the working folder of an agent that a program started. The agent outlives the program, and
 * its working folder must not keep a mount busy. Files still go next to the programs. */
static void leave_folder(struct serve *serve)
{
	const char *name = serve->options.socket;

	if (!getcwd(serve->folder, sizeof(serve->folder)))
		serve->folder[0] = '\0';
	if (name && name[0] != '@' && name[0] != '/')
		return;
	if (chdir("/") < 0)
		serve->folder[0] = '\0';
}

/* Makes a file name absolute: it is relative to the folder that was left. */
static void name_whole(const struct serve *serve, const char **name)
{
	static char whole[FILES_NAMED][PATH_MAX];
	static unsigned count;

	if (*serve->folder && *name && **name && **name != '/' && count < FILES_NAMED &&
	    (size_t)snprintf(whole[count], PATH_MAX, "%s/%s", serve->folder, *name) < PATH_MAX)
		*name = whole[count++];
}

/* Returns the options with file names that are valid in the current working folder. serve->options
 * keeps the original names, with which requests of programs are compared. */
static struct options options_here(struct serve *serve)
{
	struct options o = serve->options;

	if (!o.for_pid)
		return o;
	leave_folder(serve);
	name_whole(serve, &o.key);
	name_whole(serve, &o.cert);
	name_whole(serve, &o.cert_key);
	name_whole(serve, &o.ca);
	name_whole(serve, &o.keys);
	name_whole(serve, &o.spool);
	return o;
}

/* Opens the socket where programs ask, or takes the one that the service manager passed. Returns a
 * descriptor or a negative errno. */
static int open_socket(struct serve *serve, int passed, struct err_text *err)
{
	if (passed < 0)
		return daemon_socket_open(&serve->socket, serve->options.socket, err);
	daemon_socket_adopt(&serve->socket, passed);
	return passed;
}

/* Opens the control socket. A failure is logged, because the agent records without it, too. */
static void open_control_socket(struct serve *serve)
{
	int r = *serve->socket.name ? agent_open_control_socket(&serve->agent, serve->socket.name)
				    : -ENOENT;

	if (r < 0)
		log_warn("`agent ctl` can't reach this agent: no socket can be made at "
			 "%s" CONTROL_SUFFIX ": %s",
			 serve->socket.name, strerror(-r));
}

/* Returns the socket's name in a form that processes in any working folder can use. */
static const char *home_of(struct serve *serve)
{
	const char *name = serve->socket.name;

	return *name != '@' && realpath(name, serve->home) ? serve->home : name;
}

static int serve_main(struct serve *serve, struct agent_settings *settings, int fd,
		      struct err_text *err)
{
	int r;

	daemon_socket_admit(&serve->socket, &settings->access);
	settings->home = home_of(serve);
	if (serve->options.for_pid) /* if agent_open fails, programs that ask meanwhile still get
				     * the reason */
		serve->kept_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	r = agent_open(&serve->agent, settings, fd, err);
	if (!r) {
		if (serve->kept_fd >= 0)
			close(serve->kept_fd);
		serve->agent.finished = serve_finished;
		watch_signal(serve, &serve->term, SIGTERM, serve_stop);
		watch_signal(serve, &serve->interrupt, SIGINT, serve_stop);
		watch_signal(serve, &serve->hangup, SIGHUP, hangup);
		watch_timers(serve);
		open_control_socket(serve);
		log_start(serve);
		serve->begun = true;
		takeup_all(&serve->agent);
		service_tell(&serve->service, "READY=1");
		agent_loop(&serve->agent);
		r = undelivered(serve, err);
	}
	daemon_socket_close(&serve->socket);
	agent_close(&serve->agent);
	return r;
}

/* Opens the log. The log of an agent that a program started has the program's name. */
static int open_log(const struct options *o, struct err_text *err)
{
	struct target_info target;

	if (o->for_pid && target_read((pid_t)o->for_pid, &target) == 0)
		return command_log(o, "info", target_name(&target), target.pid, err);
	return command_log(o, "info", "agent", getpid(), err);
}

/* Reads the service manager's variables. A self-started agent ignores them, because it has
 * inherited a program's environment, and they are meant for the program. */
static int open_service(struct serve *serve, struct service_sockets *ret, struct err_text *err)
{
	*ret = (struct service_sockets){-1, -1};
	if (serve->options.for_pid)
		return 0;
	service_open(&serve->service);
	return service_sockets(ret, err);
}

/* Checks the pattern of the output. A missing folder is no error, because it may be created later.
 * A self-started agent checks nothing, because the programs decide about their files. */
static int check_output(const struct serve *serve, const struct agent_settings *settings,
			struct err_text *err)
{
	int r = serve->options.for_pid || !settings->each.output
			? 0
			: session_try_file(settings, "program", err);

	if (r == -EINVAL || !r)
		return r;
	log_warn("%s: programs are not recorded there until that is mended", err_get(err, r));
	err->text[0] = '\0';
	return 0;
}

static int serve_start(struct serve *serve, struct agent_settings *settings, struct err_text *err)
{
	struct service_sockets passed;
	int r = open_service(serve, &passed, err), fd;
	struct options o;

	if (r < 0)
		return r;
	o = options_here(serve);
	r = make_settings(serve, &o, settings, err);
	settings->listen_fd = passed.collectors > 0 ? passed.collectors : 0;
	if (!r)
		r = command_secure(&o, settings, err);
	if (!r)
		r = check_output(serve, settings, err);
	if (r < 0)
		return r;
	serve->options.paired = settings->secure.paired;
	fd = open_socket(serve, passed.programs, err);
	if (fd == -EADDRINUSE && serve->options.for_pid)
		return 0; /* another program of this user was faster: its agent serves this program,
			   * too */
	return fd < 0 ? fd : serve_main(serve, settings, fd, err);
}

/* Nobody reads the standard error of a self-started agent, so programs that ask get the message;
 * but only if the user has set something. */
static int serve_fail(const struct serve *serve, int argc, char **argv, struct err_text *err, int r,
		      bool said)
{
	const char *socket = complaint_socket(argc, argv);
	int status;

	options_call_variables(&serve->options, err);
	status = command_fail(r == -EINVAL ? EXIT_USAGE : EXIT_FAULT, err, r);

	if (socket && !serve->begun && *err->text && (said || options_said(&serve->options)))
		complaint_serve(socket, serve->kept_fd, err);
	return status;
}

int command_serve(int argc, char **argv)
{
	static struct serve serve = {.kept_fd = -1};
	struct agent_settings settings;
	struct err_text err = {{0}};
	int r = serve_options_open(&serve.from, argc, argv, &serve.options, &serve.first_text,
				   &err);

	if (r < 0)
		return serve_fail(&serve, argc, argv, &err, -EINVAL, true);
	if (serve.options.from.help) {
		serve_help();
		return 0;
	}
	if (serve.options.check_config) {
		r = serve_options_check(&serve.from, &serve.options, &err);
		return r < 0 ? command_fail(EXIT_USAGE, &err, r) : 0;
	}
	r = open_log(&serve.options, &err);
	if (r < 0)
		return serve_fail(&serve, argc, argv, &err, -EINVAL, true);
	r = serve_start(&serve, &settings, &err);
	free(serve.text);
	free(serve.first_text);
	return r < 0 ? serve_fail(&serve, argc, argv, &err, r, false) : 0;
}
