/* `agent ctl`: sends a question or an order to an agent on this host, at its control socket
 * (agent/serve/control_socket.h). */
#include "agent/cli/ctl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/cli/command.h"
#include "agent/cli/daemon_socket.h"
#include "agent/cli/options/variables.h"
#include "agent/serve/control_socket.h"
#include "agent/net/handshake.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/words.h"
#include "base/ban.h"

#define EXIT_NO	   1
#define PATIENCE_S 5

struct ctl {
	struct options options;
	char question[ORDER_LINE_MAX];
	char name[CONTROL_NAME_MAX];
};

static const struct {
	const char *word, *argument;
} actions[] = {
	{"status", NULL},   {"start", NULL},  {"stop", NULL}, {"mode", "full|sample[=BYTES]|off"},
	{"snapshot", NULL}, {"mark", "TEXT"},
};

static void ctl_help(void)
{
	program_printf(
		stdout,
		"agent ctl [OPTION...]\n"
		"          status|start|stop|mode MODE|snapshot|mark TEXT [PID]\n\n"
		"Asks or orders an agent of this host: the daemon (`agent serve`), or\n"
		"the one that libheapcast.so starts by itself. It is about the program with this\n"
		"PID, else about all. --socket names another agent: PATH of\n"
		"`agent serve --socket PATH`, or of `agent run --control PATH`.\n\n"
		"  status      how the agent is, and each program that it records\n"
		"  stop        new blocks are not recorded; frees of recorded ones still are\n"
		"  start       records again, in the mode that was in force before\n"
		"  mode MODE   full: every event; sample or sample=BYTES: one allocation in so\n"
		"              many bytes; off: as stop\n"
		"  snapshot    sends everything now, and marks the place by a number\n"
		"  mark TEXT   puts a text into the recording\n\n"
		"Each is a mark in the recording, with its time and who wanted it. The agent's\n"
		"user and root may order all programs, others their own.\n\n"
		"  agent ctl status\n"
		"  agent ctl mode sample=64K 4711\n"
		"  agent ctl mark \"second run begins\"\n\n"
		"Exit status: 0 done; 1 refused; 2 wrong usage; 3 no agent answers.\n");
	options_help(COMMAND_CTL);
}

static int find_action(const char *word)
{
	for (unsigned i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].word, word))
			return (int)i;
	return -EINVAL;
}

/* Sends only what the agent accepts: one line, without control characters. */
static int make_question(struct ctl *c, const char *word, const char *argument, uint64_t pid,
			 struct err_text *err)
{
	struct order_question parsed;
	char text[ORDER_TEXT_MAX + 1] = "";
	const char *why;
	int n;

	if (argument && strlen(argument) > ORDER_TEXT_MAX)
		return err_set(err, -EINVAL, "a text of %zu bytes is too long: %d are taken",
			       strlen(argument), ORDER_TEXT_MAX);
	if (argument)
		words_clean(text, sizeof(text), argument, strlen(argument));
	n = !strcmp(word, "status")
		    ? snprintf(c->question, sizeof(c->question), "status")
		    : snprintf(c->question, sizeof(c->question), "%s %llu%s%s", word,
			       (unsigned long long)pid, *text ? " " : "", text);
	if (n < 0 || (size_t)n >= sizeof(c->question) - 1)
		return err_set(err, -EINVAL, "the order is too long");
	return order_question_parse(c->question, &parsed, &why) < 0
		       ? err_set(err, -EINVAL, "%s", why)
		       : 0;
}

static int parse_order(struct ctl *c, int argc, char **argv, struct err_text *err)
{
	int action = argc ? find_action(argv[0]) : -EINVAL, used;
	const char *argument = NULL;
	uint64_t pid = 0;

	if (action < 0)
		return err_set(err, -EINVAL,
			       "ctl takes status, start, stop, mode, snapshot or mark%s%.40s%s",
			       argc ? ", not '" : "", argc ? argv[0] : "", argc ? "'" : "");
	used = actions[action].argument ? 2 : 1;
	if (argc < used)
		return err_set(err, -EINVAL, "agent ctl %s %s [PID]", argv[0],
			       actions[action].argument);
	if (actions[action].argument)
		argument = argv[1];
	if (argc > used + (action > 0))
		return err_set(err, -EINVAL, "'%.40s' is too much: agent ctl %s%s%s%s",
			       argv[used + (action > 0)], argv[0], argument ? " " : "",
			       argument ? actions[action].argument : "", action ? " [PID]" : "");
	if (argc > used && (parse_u64(argv[used], &pid) < 0 || !pid || pid > INT_MAX))
		return err_set(err, -EINVAL, "'%.40s' is no process: agent ctl %s%s%s [PID]",
			       argv[used], argv[0], argument ? " " : "",
			       argument ? actions[action].argument : "");
	return make_question(c, argv[0], argument, pid, err);
}

/* Parses the command line. Options may stand before the order, or at the end of the line. */
static int ctl_parse(struct ctl *c, int argc, char **argv, struct err_text *err)
{
	int first, r;

	options_defaults(&c->options);
	r = variables_read(&c->options, COMMAND_CTL, &options_own_environment, err);
	first = r < 0 ? r : options_arguments(&c->options, COMMAND_CTL, argc, argv, err);
	if (first < 0 || c->options.from.help)
		return first < 0 ? first : 0;
	while (argc > first && !strncmp(argv[argc - 1], "--", 2) && argv[argc - 1][2]) {
		char *last[2] = {argv[0], argv[argc - 1]};

		r = options_arguments(&c->options, COMMAND_CTL, 2, last, err);
		if (r < 0)
			return r;
		argc--;
	}
	if (c->options.from.help)
		return 0;
	return parse_order(c, argc - first, argv + first, err);
}

/* Returns true if the other end is trusted. A program of another user could have taken the socket's
 * name. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid() || geteuid() == 0);
}

/* Returns a connected socket or a negative errno. */
static int reach_at(struct ctl *c, const char *name)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_un address;
	unsigned length;
	cleanup(cleanup_close) int fd = -1;
	int n = snprintf(c->name, sizeof(c->name), "%s" CONTROL_SUFFIX, name);

	if (n < 0 || (size_t)n >= sizeof(c->name) ||
	    handshake_address(c->name, &address, &length) < 0)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&address, length) < 0)
		return -errno;
	return is_trusted(fd) ? take_fd(fd) : -EPERM;
}

/* Finds in the kernel's list of sockets the next agent that the library started for this user. The
 * name of its socket contains a hash of its settings (agent/preload/start/settings.h). Returns
 * false at the end of the list. */
static bool next_self(FILE *sockets, char *name, size_t size)
{
	char line[512], prefix[32], *at, *end;

	snprintf(prefix, sizeof(prefix), " @heapcast-%u-", (unsigned)geteuid());
	while (fgets(line, sizeof(line), sockets)) {
		at = strstr(line, prefix);
		end = at ? strstr(at, CONTROL_SUFFIX "\n") : NULL;
		if (!end || (size_t)(end - at) > size)
			continue;
		snprintf(name, size, "%.*s", (int)(end - at - 1), at + 1);
		return true;
	}
	return false;
}

/* Connects to the agent that the library started. Programs with different settings have different
 * agents, so exactly one must be found. */
static int reach_self(struct ctl *c, struct err_text *err)
{
	cleanup(cleanup_fclose) FILE *sockets = fopen("/proc/net/unix", "re");
	char name[DAEMON_SOCKET_NAME_MAX], before[DAEMON_SOCKET_NAME_MAX] = "";
	cleanup(cleanup_close) int found = -ECONNREFUSED;

	while (sockets && next_self(sockets, name, sizeof(name))) {
		cleanup(cleanup_close) int fd = strcmp(name, before) ? reach_at(c, name) : -1;

		if (fd < 0)
			continue;
		if (found >= 0)
			return err_set(err, -ENOTUNIQ,
				       "programs with different settings have agents of their own: "
				       "--socket %s, --socket %s",
				       before, name);
		found = take_fd(fd);
		snprintf(before, sizeof(before), "%s", name);
	}
	if (found < 0)
		return -ECONNREFUSED;
	return take_fd(found);
}

static int ctl_reach(struct ctl *c, struct err_text *err)
{
	char name[DAEMON_SOCKET_NAME_MAX], first[CONTROL_NAME_MAX];
	int fd;

	daemon_socket_default(name, sizeof(name));
	fd = reach_at(c, c->options.socket ? c->options.socket : name);
	memcpy(first, c->name, sizeof(first));
	if (!c->options.socket && (fd == -ENOENT || fd == -ECONNREFUSED))
		fd = reach_self(c, err);
	if (fd == -ENOTUNIQ)
		return fd;
	if (fd >= 0)
		return fd;
	if (fd == -EACCES)
		return err_set(err, fd, "the agent at %s is another user's", first);
	if (fd == -EPERM)
		return err_set(err, fd, "%s is another user's, who is not root", c->name);
	if (fd == -ENAMETOOLONG)
		return err_set(err, fd, "the name of the socket is too long: %s", first);
	return err_set(err, fd,
		       "no agent answers at %s: `agent serve` does, when it runs (--socket says "
		       "where)",
		       first);
}

static int ctl_ask(struct ctl *c, struct ctl_show *show, struct err_text *err)
{
	cleanup(cleanup_fclose) FILE *answer = NULL;
	char line[1024];
	int fd = ctl_reach(c, err), r = 0;
	size_t length = strlen(c->question);

	if (fd < 0)
		return fd;
	c->question[length++] = '\n';
	if (send(fd, c->question, length, MSG_NOSIGNAL) != (ssize_t)length ||
	    !(answer = fdopen(fd, "r"))) {
		r = -errno;
		close(fd);
		return err_set(err, r, "asking the agent: %s", strerror(-r));
	}
	while (!r && fgets(line, sizeof(line), answer) && strchr(line, '\n')) {
		line[strcspn(line, "\n")] = '\0';
		r = ctl_show_line(show, line);
	}
	ctl_show_end(show);
	if (r < 0 || !show->whole)
		return err_set(err, -EPROTO,
			       r < 0 ? "the agent's answer makes no sense: is it of this version?"
				     : "the agent has not answered to the end");
	return 0;
}

int command_ctl(int argc, char **argv)
{
	static struct ctl ctl;
	struct err_text err = {{0}};
	struct ctl_show show;
	int r = ctl_parse(&ctl, argc, argv, &err);

	if (r < 0)
		return command_fail(EXIT_USAGE, &err, r);
	if (ctl.options.from.help) {
		ctl_help();
		return 0;
	}
	show = (struct ctl_show){.json = ctl.options.json};
	r = ctl_ask(&ctl, &show, &err);
	if (r < 0)
		return command_fail(EXIT_FAULT, &err, r);
	if (!show.ok)
		program_printf(stderr, "agent: %s\n", show.why);
	return show.ok ? 0 : EXIT_NO;
}
