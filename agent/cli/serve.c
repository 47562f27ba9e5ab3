/*
 * `agent serve`: the daemon that programs ask for rings; and, with --for-pid, the one that libheapcast.so starts for a
 * program when there is none, which ends by itself.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cli/command.h"
#include "base/error.h"
#include "base/log.h"
#include "base/parse.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define POLICY_UNSET UINT32_MAX

struct serve {
	struct agent agent;
	struct options options;
	char socket[128];
	char folder[PATH_MAX]; /* where it was started */
	uv_signal_t term, interrupt;
};

static void help(void)
{
	printf("agent serve [OPTION...]\n\n"
	       "Records every program of this host that is started with\n"
	       "LD_PRELOAD=libheapcast.so, until it is ended by SIGTERM; then the programs go on\n"
	       "unrecorded.\n\n"
	       "  agent serve --announce              to whichever collector is on the network\n"
	       "  agent serve --collector 192.0.2.7   to this one\n\n"
	       "With nothing but LD_PRELOAD=libheapcast.so the library starts an agent by\n"
	       "itself, for all programs of the user. The HEAPCAST_ variables of the first\n"
	       "program hold for it until it ends, 10 s after the last recording; each file goes\n"
	       "to the folder in which its program was started.\n\n");
	options_help(COMMAND_SERVE);
}

static void stop(uv_signal_t *handle, int number)
{
	struct serve *serve = handle->data;

	log_info("signal %d: delivering what there is", number);
	agent_stop(&serve->agent);
}

static void watch_signal(struct serve *serve, uv_signal_t *handle, int number)
{
	handle->data = serve;
	uv_signal_init(&serve->agent.loop, handle);
	uv_signal_start(handle, stop, number);
}

static void finished(void *context, const struct session_report *r)
{
	char size[32];

	(void)context;
	log_info("%s, pid %d, ended: %llu events, %llu lost, %s%s%s", target_name(r->target),
		 (int)r->target->pid, (unsigned long long)r->ledger.delivered,
		 (unsigned long long)r->ledger.lost, format_size(size, (double)r->bytes),
		 *r->path ? " in " : "", r->path);
	if (r->file_error)
		log_error("can't write to %s: %s; it has the first %llu events, %llu are not in it",
			  r->path, strerror(-r->file_error), (unsigned long long)r->saved,
			  (unsigned long long)(r->ledger.delivered - r->saved));
	else if (r->given_up)
		log_error("no collector came for pid %d and no file could be written: %llu events "
			  "are lost",
			  (int)r->target->pid,
			  (unsigned long long)(r->ledger.delivered - r->saved));
	else if (r->lingered)
		log_warn("no collector came for pid %d; what was left is in %s",
			 (int)r->target->pid, r->path);
	if (r->no_place)
		log_warn("pid %d: %llu events of threads without a place in the ring: raise "
			 "--memory-limit",
			 (int)r->target->pid, (unsigned long long)r->no_place);
}

/* The daemon's default, which libheapcast.so looks for as well: one a user, since only the same user (or root) may. */
static const char *socket_name(struct serve *serve)
{
	if (serve->options.socket)
		return serve->options.socket;
	snprintf(serve->socket, sizeof(serve->socket), "@heapcast-%u", (unsigned)geteuid());
	return serve->socket;
}

static int parse(struct serve *serve, int argc, char **argv, struct err_text *err)
{
	int r;

	options_defaults(&serve->options);
	serve->options.policy = POLICY_UNSET;
	r = options_environment(&serve->options, COMMAND_SERVE, err);
	if (r < 0)
		return r;
	r = options_arguments(&serve->options, COMMAND_SERVE, argc, argv, err);
	if (serve->options.policy ==
	    POLICY_UNSET) /* started for one program, a person waits for its recording */
		serve->options.policy = serve->options.for_pid ? RING_BLOCK : RING_COUNT;
	if (r >= 0 && r < argc && !serve->options.help)
		return err_set(err, -EINVAL,
			       "serve takes no '%s' (did you mean `agent run -- %s`?)", argv[r],
			       argv[r]);
	return r;
}

/* Started by a program, the agent outlives it: it must not hold a mount by its working folder. Files go beside the programs. */
static void leave_folder(struct serve *serve, struct agent_settings *settings)
{
	settings->beside_target = true;
	settings->folder = getcwd(serve->folder, sizeof(serve->folder));
	if (socket_name(serve)[0] == '@' || socket_name(serve)[0] == '/')
		settings->folder = settings->folder && chdir("/") == 0 ? settings->folder : NULL;
}

static int serve_main(struct serve *serve, const struct agent_settings *settings,
		      struct err_text *err)
{
	const char *name = socket_name(serve);
	int fd = handshake_socket(name), r;

	if (fd == -EADDRINUSE && serve->options.for_pid)
		return 0; /* another program of this user was quicker: its agent serves us, too */
	if (fd == -EADDRINUSE)
		return err_set(err, fd, "another agent serves at %s already", name);
	if (fd < 0)
		return err_set(err, fd, "can't listen at %s: %s", name, strerror(-fd));
	if (name[0] != '@')
		chmod(name, 0666); /* who may be recorded is decided by credentials */
	r = agent_open(&serve->agent, settings, fd, err);
	if (!r) {
		serve->agent.finished = finished;
		watch_signal(serve, &serve->term, SIGTERM);
		watch_signal(serve, &serve->interrupt, SIGINT);
		log_info("programs ask at %s", name);
		agent_loop(&serve->agent);
	}
	agent_close(&serve->agent);
	if (name[0] != '@')
		unlink(name);
	return r;
}

/* Started by a program, its log bears that one's name. */
static int open_log(const struct options *o, struct err_text *err)
{
	struct target_info target;

	if (o->for_pid && target_read((pid_t)o->for_pid, &target) == 0)
		return command_log(o, "info", target_name(&target), target.pid, err);
	return command_log(o, "info", "agent", getpid(), err);
}

int command_serve(int argc, char **argv)
{
	static struct serve serve;
	struct agent_settings settings;
	struct err_text err = {{0}};
	int r = parse(&serve, argc, argv, &err);

	if (r < 0)
		return command_fail(EXIT_USAGE, &err, r);
	if (serve.options.help) {
		help();
		return 0;
	}
	r = open_log(&serve.options, &err);
	if (r < 0)
		return command_fail(EXIT_USAGE, &err, r);
	r = command_settings(&serve.options, &settings, &err);
	if (r < 0)
		return command_fail(EXIT_USAGE, &err, r);
	settings.many = true;
	if (serve.options.for_pid)
		leave_folder(&serve, &settings);
	r = serve_main(&serve, &settings, &err);
	return r < 0 ? command_fail(r == -EINVAL ? EXIT_USAGE : EXIT_FAULT, &err, r) : 0;
}
