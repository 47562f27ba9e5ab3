/* collector pair: makes a key for this collector and one agent, by a code that is pasted once. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli/program.h"
#include "base/error.h"
#include "base/secure/pair_code.h"
#include "base/parse.h"
#include "collector/cli/commands.h"
#include "collector/cli/run/pair_options.h"
#include "proto/pairing.h"
#include "base/ban.h"

struct pair_options {
	struct common_options common;
	uint64_t uses, within_ns, port;
	const char *name, *interface, *pairs;
};

struct pair {
	const struct pair_options *options;
	const char *code, *folder;
	bool terminal, line_open;
	unsigned unsure;
	struct err_text last; /* the trouble reported last */
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* ---- messages ---- */

static void clear_line(struct pair *p)
{
	if (p->line_open)
		fprintf(stderr, "\r\033[K");
	p->line_open = false;
}

/* Prints the commands for the agent. The tarball of a board has only the agent; an installed
 * heapcast calls it by another name. */
static void say_code(const struct pair *p, const char *port)
{
	const char *at = strtoul(port, NULL, 10) == PAIRING_PORT ? "" : ":";
	char host[64] = "", time[32];

	gethostname(host, sizeof(host) - 1);
	printf("On the board, within %s, in the folder of its tarball:\n\n    ./agent pair %s\n\n",
	       format_duration(time, p->options->within_ns), p->code);
	program_printf(stdout, "or, where heapcast is installed there:\n\n    agent pair %s\n\n",
		       p->code);
	if (strcmp(port, "0"))
		printf("If broadcasts do not reach this machine, the code there is\n\n"
		       "    %s@%s%s%s\n\n",
		       p->code, *host ? host : "HOST", at, *at ? port : "");
	fflush(stdout);
}

static void say_made(const struct pairing_event *e)
{
	printf("paired with %s (%s), as %s\n", *e->host ? e->host : "an agent", e->address,
	       e->name);
	fflush(stdout);
}

static void say_unsure(struct pair *p, const struct pairing_event *e)
{
	p->unsure++;
	program_printf(
		stderr,
		"collector pair: %s (%s) may not have kept the key%s%s. If 'agent pair' failed "
		"there, pair again: the key here is of no use then, and does no harm ('collector "
		"pairs revoke %s' removes it)\n",
		*e->host ? e->host : "the agent", e->address, e->text ? ": " : "",
		e->text ? e->text : "", e->name);
}

/* Reports trouble once, and not again while it stays the same. */
static void say_trouble(struct pair *p, const struct pairing_event *e)
{
	struct err_text text;

	err_set(&text, 0, "%s%s%s%s", e->address ? "somebody at " : "",
		e->address ? e->address : "", e->address ? ": " : "", e->text);
	if (!strcmp(text.text, p->last.text))
		return;
	p->last = text;
	clear_line(p);
	program_printf(stderr, "collector pair: %s\n", text.text);
}

static void on_event(void *context, const struct pairing_event *e)
{
	struct pair *p = context;
	char left[32];

	if (e->kind == PAIRING_WAITS) {
		if (!p->terminal)
			return;
		fprintf(stderr, "\rwaiting; the code is good for %s\033[K",
			format_duration(left, e->left_ns / 1000000000 * 1000000000));
		fflush(stderr);
		p->line_open = true;
		return;
	}
	if (e->kind == PAIRING_TROUBLE) {
		say_trouble(p, e);
		return;
	}
	clear_line(p);
	if (e->kind == PAIRING_LISTENS)
		say_code(p, e->text);
	else if (e->kind == PAIRING_MADE)
		say_made(e);
	else
		say_unsure(p, e);
}

static void say_nobody(const struct pair *p, unsigned made)
{
	char time[32];

	if (stop)
		program_printf(stderr,
			       "collector pair: stopped; the code is of no use any more.\n");
	else
		program_printf(
			stderr,
			"collector pair: %s in %s, and the code is of no use any more.\n"
			"Check that:\n"
			"  - board and collector are on the same network; else give the agent "
			"CODE@HOST;\n"
			"  - no firewall stops UDP 43513 or TCP %d here, or TCP 8100 to 8200 on "
			"the "
			"board.\n",
			made ? "not all came" : "nobody came",
			format_duration(time, p->options->within_ns), PAIRING_PORT);
}

/* ---- the command ---- */

static int wait_for_agents(struct pair *p, struct err_text *err)
{
	const struct pair_options *o = p->options;
	struct secret code;
	struct pairing_options options = {
		.code = &code,
		.folder = p->folder,
		.name = o->name,
		.interface = o->interface,
		.port = (uint16_t)o->port,
		.uses = (unsigned)o->uses,
		.within_ns = o->within_ns,
		.stop = &stop,
		.event = on_event,
		.context = p,
	};
	int r = pair_code_secret(p->code, strlen(p->code), &code, err);

	if (!r)
		r = pairing_run(&options, err);
	secret_clear(&code);
	clear_line(p);
	return r;
}

static int pair_run(struct command_call *call)
{
	const struct pair_options *o = call->options;
	struct pair p = {.options = o, .terminal = isatty(STDERR_FILENO)};
	char code[PAIR_CODE_LETTERS + 1], folder[PATH_MAX];
	struct err_text err = {0};
	int r;

	if (!o->uses || o->uses > PAIRING_USES_MAX)
		return command_usage_error(call->command, "--for takes 1 to %d boards",
					   PAIRING_USES_MAX);
	if (o->port > UINT16_MAX)
		return command_usage_error(call->command, "--port takes 1 to 65535");
	if (!o->within_ns || o->within_ns > PAIRING_WITHIN_NS)
		return command_usage_error(call->command, "--within takes ten minutes at most");
	if (pairs_place(o->pairs, PAIRS_FOLDER, folder) < 0 || !*folder)
		return command_usage_error(call->command,
					   "there is no folder for keys: --pairs DIR names one");
	r = pairs_check(folder, PAIRS_ALL, &err);
	if (!r)
		r = pair_code_make(code);
	if (r < 0)
		return command_fault(call->command, r, &err);
	p.code = code;
	p.folder = folder;
	catch_signals();
	r = wait_for_agents(&p, &err);
	explicit_bzero(code, sizeof(code));
	if (r == -ENODEV)
		return command_usage_error(call->command, "%s", err_get(&err, r));
	if (r < 0)
		return command_fault(call->command, r, &err);
	if ((unsigned)r < o->uses)
		say_nobody(&p, (unsigned)r);
	return (unsigned)r == o->uses && !p.unsure ? EXIT_DONE : EXIT_NO;
}

static const struct option table[] = {
	OPTION_NUMBER(struct pair_options, uses, "for", "N",
		      "so many boards may use the code, each gets a key of its own (1)"),
	OPTION_TEXT(struct pair_options, name, "name", "NAME",
		    "what the pair is called here (as the board calls itself)"),
	OPTION_TIME(struct pair_options, within_ns, "within", "TIME",
		    "how long the code is good (10m, which is the most)"),
	OPTION_TEXT(struct pair_options, interface, "interface", "NAME",
		    "look in the networks of this interface only; lo: this host only"),
	OPTION_NUMBER(struct pair_options, port, "port", "PORT",
		      "TCP, where boards can dial in (43514)"),
	PAIRS_OPTION(struct pair_options, pairs),
	{0},
};

static const struct option_group groups[] = {{NULL, table}, {0}};

static const struct pair_options defaults = {.common.data = DEFAULT_DATA,
					     .uses = 1,
					     .within_ns = PAIRING_WITHIN_NS,
					     .port = PAIRING_PORT};

const struct command command_pair = {
	.name = "pair",
	.summary = "a key in common with an agent, by a code that is pasted once",
	.usage = "[OPTION...]",
	.about =
		"Prints a code to be pasted on the board ('agent pair CODE', or in the\n"
		"folder of a tarball './agent pair CODE'), and waits for it. Then both have the\n"
		"same new key, which nobody else can tell, not even who gets to know the code\n"
		"later. From then on this collector and the agents of that board find each other\n"
		"without being told, and speak TLS 1.3; strangers learn nothing. A collector that\n"
		"gathers goes on meanwhile, and uses the key within a second.\n"
		"\n"
		"The code is good once (or for --for N boards), for ten minutes. If something\n"
		"goes wrong in between, pair again: a key that one side has alone does no harm.\n"
		"\n"
		"'collector pairs' lists and revokes.\n",
	.examples =
		"  collector pair                  then, on the board: ./agent pair CODE\n"
		"  collector pair --for 12         a shelf of twelve boards\n"
		"  collector pair --name lab7      so that 'collector pairs' says which it is\n",
	.groups = groups,
	.options_size = sizeof(struct pair_options),
	.defaults = &defaults,
	.arguments_max = 0,
	.run = pair_run,
};
