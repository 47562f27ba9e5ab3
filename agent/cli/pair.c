/* `agent pair CODE`: creates a key that only this agent and a collector share. Also lists and
 * removes these keys. */
#include "agent/cli/pair.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/command.h"
#include "agent/cli/options/variables.h"
#include "agent/net/pending_peers.h"
#include "agent/stream/budget.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/secure/pair_code.h"
#include "base/secure/pairs.h"
#include "base/parse.h"
#include "proto/pairing.h"
#include "base/ban.h"

#define EXIT_NO 1

struct join {
	const struct options *options;
	FILE *out;
	bool terminal, line_open, made;
	struct err_text last; /* the last problem that was printed */
};

static volatile sig_atomic_t stop;

static void pair_help(void)
{
	program_printf(
		stdout,
		"agent pair [OPTION...] CODE[@HOST[:PORT]]\n"
		"agent pair --list\n"
		"agent pair --forget NAME\n\n"
		"`collector pair` prints CODE; pasted here within ten minutes it gives both a new\n"
		"key, which nobody else can tell. From then on the agents of this user and that\n"
		"collector find each other without being told, and speak TLS 1.3; whoever has no\n"
		"key learns nothing from an agent. Root, as the daemon, has keys of its own.\n\n"
		"  agent pair MFRGGZDFMZTWQ2LKNNWG23TPOA\n"
		"  agent pair MFRGGZDFMZTWQ2LKNNWG23TPOA@192.0.2.7\n\n"
		"@HOST is for where broadcasts don't reach. Agents that run use a new key within\n"
		"a second, and disconnect a collector whose key is removed. An agent that was\n"
		"started before its first pairing has to be started anew.\n"
		"`agent serve --keys ''` leaves the keys alone.\n\n"
		"Exit status: 0 paired; 1 no collector came, or it refused; 2 wrong usage; 3 a\n"
		"fault outside.\n");
	options_help(COMMAND_PAIR);
}

/* ---- messages ---- */

static void pair_clear_line(struct join *j)
{
	if (j->line_open)
		fprintf(stderr, "\r\033[K");
	j->line_open = false;
}

static void wait_line(struct join *j, uint64_t left_ns)
{
	char left[32];

	if (!j->terminal)
		return;
	program_printf(stderr, "\rlooking for 'collector pair', for %s\033[K",
		       format_duration(left, left_ns / 1000000000 * 1000000000));
	fflush(stderr);
	j->line_open = true;
}

/* Prints a problem only once while it repeats. */
static void trouble(struct join *j, const struct pairing_event *e)
{
	struct err_text text;

	err_set(&text, 0, "%s%s%s", e->address ? e->address : "", e->address ? ": " : "", e->text);
	if (!strcmp(text.text, j->last.text))
		return;
	j->last = text;
	pair_clear_line(j);
	program_printf(stderr, "agent: %s; trying again\n", text.text);
}

static void pair_on_event(void *context, const struct pairing_event *e)
{
	struct join *j = context;

	switch (e->kind) {
	case PAIRING_MADE:
		pair_clear_line(j);
		fprintf(j->out, "paired with %s (%s), as %s\n", *e->host ? e->host : "a collector",
			e->address, e->name);
		fflush(j->out);
		j->made = true;
		break;
	case PAIRING_TROUBLE:
		trouble(j, e);
		break;
	case PAIRING_WAITS:
		wait_line(j, e->left_ns);
		break;
	default:
		break;
	}
}

/* ---- joining ---- */

static void pair_on_signal(int number)
{
	(void)number;
	stop = 1;
}

const char *pair_host(const char *code)
{
	const char *at = strchr(code, '@');

	return at ? at + 1 : NULL;
}

static int pair_parse(const char *text, struct secret *code, char *host, size_t size,
		      uint16_t *port, struct err_text *err)
{
	const char *at = pair_host(text);

	*port = 0;
	if (at && (parse_endpoint(at, host, (unsigned)size, port) < 0 || !*host))
		return err_set(err, -EINVAL, "'%.200s' is no HOST[:PORT]", at);
	return pair_code_secret(text, at ? (size_t)(at - text) - 1 : strlen(text), code, err);
}

/* Checks that the agent has enough memory to use a key. */
static int check_memory(const struct options *o, struct err_text *err)
{
	uint64_t limit = o->memory_limit;
	int r = budget_secure(&limit, PENDING_PEERS_SESSIONS, err);

	return r < 0 ? err_prefix(err, r, "--memory-limit (of the agent, not of pairing)") : 0;
}

static int no_collector(const struct options *o, struct err_text *err)
{
	char time[32];

	if (stop)
		return err_set(err, -EINTR, "it was stopped before a collector had come");
	return err_set(err, -ETIMEDOUT,
		       "no collector has come in %s: is 'collector pair' running, with this code? "
		       "Where broadcasts do not reach it: agent pair CODE@HOST",
		       format_duration(time, o->within_ns));
}

static int run_pairing(const struct options *o, struct pairing_options *p, struct err_text *err)
{
	struct sigaction action = {.sa_handler = pair_on_signal}, interrupt, terminate;
	int r;

	sigaction(SIGINT, &action, &interrupt);
	sigaction(SIGTERM, &action, &terminate);
	r = pairing_run(p, err);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGTERM, &terminate, NULL);
	return r < 0 ? r : r ? 0 : no_collector(o, err);
}

int pair_join(const struct options *o, const char *text, FILE *out, struct err_text *err)
{
	struct join join = {.options = o, .out = out, .terminal = isatty(STDERR_FILENO)};
	char host[256] = "", folder[PATH_MAX];
	struct secret code;
	struct pairing_options p = {
		.agent = true,
		.code = &code,
		.folder = folder,
		.name = o->name,
		.interface = o->interface,
		.uses = 1,
		.within_ns = o->within_ns,
		.stop = &stop,
		.event = pair_on_event,
		.context = &join,
	};
	int r = check_memory(o, err);

	if (!r)
		r = pair_parse(text, &code, host, sizeof(host), &p.port, err);
	if (r < 0)
		return r;
	p.host = *host ? host : NULL;
	if (pairs_place(o->keys, KEYS_FOLDER, folder) < 0 || !*folder)
		r = err_set(err, -EINVAL, "there is no folder for keys: --keys DIR names one");
	if (!r)
		r = pairs_check(folder, PAIRS_AGENT, err);
	if (!r)
		r = run_pairing(o, &p, err);
	secret_clear(&code);
	pair_clear_line(&join);
	return r;
}

/* ---- existing keys ---- */

static int pair_list(const char *folder, struct err_text *err)
{
	struct err_text remark = {{0}};
	struct pairs pairs;
	int r = pairs_open(&pairs, folder, PAIRS_AGENT, &remark, err);

	if (r < 0)
		return r;
	if (*remark.text)
		program_printf(stderr, "agent: %s\n", remark.text);
	for (size_t i = 0; i < pairs.count; i++) {
		struct pair_facts facts = {0};

		pair_facts(folder, pairs.name[i].text, &facts);
		printf("%-24s %-20s  %s\n", pairs.name[i].text, *facts.when ? facts.when : "?",
		       facts.peer);
	}
	if (!pairs.count)
		printf("There are no keys by pairing in %s.\n", folder);
	pairs_done(&pairs);
	return 0;
}

/* Tells the user after the last key was removed that the agent does not fall back to plain
 * connections. */
static void say_last(const char *folder)
{
	struct pairs pairs;

	if (pairs_open(&pairs, folder, PAIRS_AGENT, NULL, NULL) < 0)
		return;
	if (!pairs.count)
		printf("That was the last one: the agents here talk to no collector until they are "
		       "paired anew. To have them talk to anybody in plain again, as before the "
		       "first "
		       "pairing: rm -r %s\n",
		       folder);
	pairs_done(&pairs);
}

static int pair_forget(const char *folder, const char *name, struct err_text *err)
{
	int r = pair_remove(folder, name, err);

	if (r == -ENOENT)
		return err_set(err, -EINVAL,
			       "there is no key '%.60s' in %s (agent pair --list shows all)", name,
			       folder);
	if (r < 0)
		return r;
	printf("forgot %s\n", name);
	say_last(folder);
	return 0;
}

static int manage(const struct options *o, struct err_text *err)
{
	char folder[PATH_MAX];

	if (pairs_place(o->keys, KEYS_FOLDER, folder) < 0 || !*folder)
		return err_set(err, -EINVAL, "there is no folder for keys: --keys DIR names one");
	return o->forget ? pair_forget(folder, o->forget, err) : pair_list(folder, err);
}

static int pair_status_of(int r)
{
	return r == -EINVAL ? EXIT_USAGE : r == -ETIMEDOUT || r == -EINTR ? EXIT_NO : EXIT_FAULT;
}

/* Options may stand before and after the code. *ret_code is the code or NULL. Returns as
 * options_arguments does. */
static int parse_arguments(struct options *o, int argc, char **argv, const char **ret_code,
			   struct err_text *err)
{
	int r, first;

	*ret_code = NULL;
	options_defaults(o);
	r = variables_read(o, COMMAND_PAIR, &options_own_environment, err);
	first = r < 0 ? r : options_arguments(o, COMMAND_PAIR, argc, argv, err);
	if (first < 0 || first >= argc || o->from.help)
		return first;
	*ret_code = argv[first];
	r = options_arguments(o, COMMAND_PAIR, argc - first, argv + first, err);
	return r < 0 || r >= argc - first
		       ? r
		       : err_set(err, -EINVAL, "one code, and nothing more: not '%s'",
				 argv[first + r]);
}

int command_pair(int argc, char **argv)
{
	struct err_text err = {{0}};
	const char *code;
	struct options o;
	int r = parse_arguments(&o, argc, argv, &code, &err);

	if (r < 0)
		return command_fail(EXIT_USAGE, &err, r);
	if (o.from.help) {
		pair_help();
		return 0;
	}
	if (o.list || o.forget)
		r = manage(&o, &err);
	else if (code)
		r = pair_join(&o, code, stdout, &err);
	else
		r = err_set(&err, -EINVAL,
			    "with which code? 'collector pair' prints one: agent pair CODE");
	return r < 0 ? command_fail(pair_status_of(r), &err, r) : 0;
}
