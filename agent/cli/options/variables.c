/* Has the table of variables that are not named after options, and reads the environment. See
 * variables.h. */
#include "agent/cli/options/variables.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/ban.h"

#define OLD_PREFIX "MEMORY_PROFILER_"
#define OWN_PREFIX "HEAPCAST_"
#define CULLING	   "CULL_TEMPORARY_ALLOCATIONS"
#define NEAR_LEAST 4 /* minimum length of a name for a similarity check */

enum reader {
	AGENT,	       /* stands for an option */
	AGENT_CULLING, /* stands for an option, in milliseconds, and counts only if CULLING is on */
	LIBRARY,       /* libheapcast.so reads it in the program; both prefixes */
	NOBODY,	       /* no meaning here: `text` is the reason */
};

static const struct variable {
	const char *name; /* after the prefix */
	enum reader reader;
	const char *option; /* the option that it stands for */
	const char *one;    /* replaces the value 1; NULL: no replacement */
	const char *zero;   /* replaces the value 0; with NOBODY: a value that gets no notice */
	const char *text;
} variables[] = {
	{"OUTPUT", AGENT, "output", NULL, NULL, "the pattern of the file's name"},
	{"LOG", AGENT, "log", NULL, NULL,
	 "how much is logged: `error`, `warn`, `info`, `debug`, `trace`, `off`"},
	{"LOGFILE", AGENT, "logfile", NULL, NULL,
	 "the pattern of the log file's name, without `%n`"},
	{"LOGFILE_ROTATE_WHEN_BIGGER_THAN", AGENT, "logfile-limit", NULL, NULL,
	 "bytes: a new log file begins at this size. The first full log is kept as `.initial`, "
	 "the last one as `.old`"},
	{"DISABLE_BY_DEFAULT", LIBRARY, NULL, NULL, NULL,
	 "1: nothing is recorded until `heapcast_start` or a signal"},
	{"REGISTER_SIGUSR1", LIBRARY, NULL, NULL, NULL,
	 "1: SIGUSR1 stops and starts recording. This is off by default, because SIGUSR1 must "
	 "still end a program that does not handle it. The program's own handler has "
	 "precedence, whether it is set before or after"},
	{"REGISTER_SIGUSR2", LIBRARY, NULL, NULL, NULL, "the same for SIGUSR2"},
	{CULLING, AGENT, "short-lived", "10s", "0",
	 "1: blocks that live less than 10 s are sent as sums. The next variable sets another "
	 "time"},
	{"TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD", AGENT_CULLING, "short-lived", NULL, NULL,
	 "that time, in milliseconds. It counts only if the variable before is 1"},
	{"TEMPORARY_ALLOCATION_PENDING_THRESHOLD", AGENT, "short-lived-pending", NULL, NULL,
	 "how many blocks may wait for their end, at most"},
	{"USE_SHADOW_STACK", AGENT, "full-walk", "0", "1",
	 "0: every stack is walked in full. No value changes return addresses"},
	{"USE_PERF_EVENT_OPEN", NOBODY, NULL, NULL, NULL, "heapcast does not use perf_event_open"},
	{"GRAB_BACKTRACES_ON_FREE", AGENT, "free-stacks", "yes", "no",
	 "0: frees are recorded without stacks"},
	{"BACKTRACE_CACHE_SIZE_LEVEL_1", NOBODY, NULL, NULL, NULL,
	 "stacks are not cached in the program; the agent's table of stacks is part of "
	 "`--memory-limit`"},
	{"BACKTRACE_CACHE_SIZE_LEVEL_2", NOBODY, NULL, NULL, NULL,
	 "stacks are not cached in the program; the agent's table of stacks is part of "
	 "`--memory-limit`"},
	{"GATHER_MAPS", AGENT, "gather-maps", NULL, NULL,
	 "1: the program's mappings are recorded each second. This is off by default, because "
	 "it makes recordings larger"},
	{"DISABLE_PR_SET_VMA_ANON_NAME", NOBODY, NULL, NULL, "0",
	 "heapcast names no mapping of the program"},
	{"WRITE_BINARIES_TO_OUTPUT", NOBODY, NULL, NULL, "0",
	 "recordings name files by build id and do not hold them; `--symbols` says where they are"},
	{"INCLUDE_FILE", NOBODY, NULL, NULL, NULL, "the agent adds no files to a recording"},
	{"CHOWN_OUTPUT_TO", AGENT, "chown-output-to", NULL, NULL,
	 "the number of the user who gets the files"},
	{"ZERO_MEMORY", LIBRARY, NULL, NULL, NULL, "1: what the program allocates is zeroed"},
	{"TRACK_CHILD_PROCESSES", AGENT, "follow", "1", "0",
	 "1: children are recorded, too, each in a recording of its own"},
	{"ENABLE_SERVER", AGENT, "listen", "", NULL, "1: the agent listens for collectors"},
	{"BASE_SERVER_PORT", AGENT, "base-server-port", NULL, NULL,
	 "the first of the 101 ports that are tried"},
	{"ENABLE_BROADCAST", AGENT, "announce", "1", "0",
	 "1: the agent announces itself on the network"},
	{"EMIT_PARTIAL_BACKTRACES", NOBODY, NULL, NULL, NULL,
	 "a stack that can't be walked to its end is always recorded, and marked"},
};

/* Variables that the library or its starter reads, and that no option stands for. */
static const struct {
	const char *name, *text;
} own[] = {
	{"HEAPCAST_OFF", "1: the library does nothing in this program and in those that it starts"},
	{"HEAPCAST_AGENT",
	 "the agent's program. The library starts it if no agent runs. Without this variable "
	 "the library looks for it beside itself, and as `heapcast-agent` in `PATH`"},
	{"HEAPCAST_SOCKET",
	 "the socket on which `agent serve` listens, and at which the library asks for a "
	 "recording. The listener must be this user or root, unless nobody else could have put "
	 "the socket there"},
	{"HEAPCAST_SAMPLE_SEED",
	 "a number: `--mode sample` makes the same samples again, thread by thread"},
	{"HEAPCAST_PRELOAD",
	 "the library that `agent run` preloads. Without this variable the agent looks for it "
	 "beside itself, and in `../lib` from there"},
	{"HEAPCAST_FD", "set by `agent run`; not for people"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *old_value(const struct option_environment *from, const struct variable *v)
{
	char name[96];

	snprintf(name, sizeof(name), OLD_PREFIX "%s", v->name);
	return from->get(from->context, name);
}

static bool is_on(const struct option_environment *from, const char *name)
{
	const char *value = from->get(from->context, name);

	return value && *value && strcmp(value, "0");
}

static bool stands_for_option(const struct option_environment *from, const struct variable *v)
{
	return v->reader == AGENT ||
	       (v->reader == AGENT_CULLING && is_on(from, OLD_PREFIX CULLING));
}

static int take(const struct option_target *target, const struct variable *v,
		const struct option_environment *from, struct err_text *err)
{
	const char *value = old_value(from, v);
	char name[96], milliseconds[32];
	int index;

	if (!stands_for_option(from, v) || !value)
		return 0;
	if (v->reader == AGENT_CULLING) {
		snprintf(milliseconds, sizeof(milliseconds), "%.20sms", value);
		value = milliseconds;
	}
	if (!strcmp(value, "1") && v->one)
		value = v->one;
	else if (!strcmp(value, "0") && v->zero)
		value = v->zero;
	else if (!strcmp(value, "0") && v->one)
		return 0; /* leave the option unset */
	snprintf(name, sizeof(name), OLD_PREFIX "%s", v->name);
	index = options_find(target->set, v->option, strlen(v->option));
	return index < 0 ? 0 : options_put(target, index, value, name, err);
}

/* Checks the variables of the library: its switches and its number. */
static int check_library(const struct option_environment *from, struct err_text *err)
{
	const char *seed = from->get(from->context, OWN_PREFIX "SAMPLE_SEED");
	uint64_t number;
	char name[96];
	bool on;

	for (size_t i = 0; i < 2 * COUNT(variables); i++) {
		const struct variable *v = &variables[i / 2];
		const char *value;

		snprintf(name, sizeof(name), "%s%s", i % 2 ? OLD_PREFIX : OWN_PREFIX, v->name);
		value = v->reader == LIBRARY ? from->get(from->context, name) : NULL;
		if (value && parse_switch(value, &on) < 0)
			return err_set(err, -EINVAL, "%s takes 0 or 1, not '%s'", name, value);
	}
	if (seed && *seed && parse_size(seed, &number) < 0)
		return err_set(err, -EINVAL, OWN_PREFIX "SAMPLE_SEED takes a number, not '%s'",
			       seed);
	return 0;
}

int variables_read(struct options *o, enum option_command command,
		   const struct option_environment *from, struct err_text *err)
{
	const struct option_set set = options_of(command);
	const struct option_target target = {&set, o, &o->from};
	int r = check_library(from, err);

	o->from.now = OPTION_VARIABLE;
	for (size_t i = 0; !r && i < COUNT(variables); i++)
		r = take(&target, &variables[i], from, err);
	return r < 0 ? r : options_variables(&target, from, err);
}

static bool variables_is(const char *name, const char *entry, size_t length)
{
	return strlen(name) == length && !strncmp(name, entry, length);
}

static const struct variable *variables_find(const char *name, size_t length)
{
	for (size_t i = 0; i < COUNT(variables); i++)
		if (variables_is(variables[i].name, name, length))
			return &variables[i];
	return NULL;
}

static void notice(const char *entry)
{
	const char *name = entry + strlen(OLD_PREFIX);
	size_t length = strcspn(name, "=");
	const struct variable *v = variables_find(name, length);
	const char *value = name[length] ? name + length + 1 : "";

	if (!v)
		log_warn("%.*s is no variable that is known here", (int)strcspn(entry, "="), entry);
	else if (v->reader == NOBODY && !(v->zero && !strcmp(value, v->zero)))
		log_warn(OLD_PREFIX "%s has no meaning here: %s", v->name, v->text);
}

/* Variables of the collector, which may run on the same machine. They resemble our settings so much
 * that they would be reported as misspelt. */
static const char *const of_collector[] = {"HEAPCAST_PAIRS", "HEAPCAST_PAGER", "HEAPCAST_NO_PAGER"};

/* Returns true if `entry` is the variable of this option, by its present or its former name. */
static bool variables_is_of(const struct option_set *set, const char *option, const char *entry,
			    size_t length)
{
	const char *old = options_old_name(set, option);
	char name[96];

	options_variable(option, name, sizeof(name));
	if (variables_is(name, entry, length))
		return true;
	options_variable(old ? old : option, name, sizeof(name));
	return variables_is(name, entry, length);
}

static bool variables_is_own(const char *entry, size_t length)
{
	const struct option_set all = options_of(0);
	const struct option *row;

	for (size_t i = 0; i < COUNT(own); i++)
		if (variables_is(own[i].name, entry, length))
			return true;
	for (size_t i = 0; i < COUNT(of_collector); i++)
		if (variables_is(of_collector[i], entry, length))
			return true;
	for (size_t i = 0; (row = option_row(i)); i++)
		if (variables_is_of(&all, row->name, entry, length))
			return true;
	return variables_find(entry + strlen(OWN_PREFIX), length - strlen(OWN_PREFIX)) != NULL;
}

bool variables_misspelt(const char *entry, char *meant, size_t size)
{
	const struct option_set set = options_of(COMMAND_RUN | COMMAND_SERVE);
	size_t length = strcspn(entry, "="), n = 0;
	char option[64];
	const char *near;

	if (strncmp(entry, OWN_PREFIX, strlen(OWN_PREFIX)) || variables_is_own(entry, length))
		return false;
	for (const char *c = entry + strlen(OWN_PREFIX); c < entry + length; c++)
		if (n < sizeof(option) - 1)
			option[n++] = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
	near = n < NEAR_LEAST ? NULL : options_nearest(&set, option, n);
	if (near)
		options_variable(near, meant, size);
	return near;
}

void variables_notices(void)
{
	char meant[96];

	for (char **e = environ; *e; e++) {
		if (!strncmp(*e, OLD_PREFIX, strlen(OLD_PREFIX)))
			notice(*e);
		else if (variables_misspelt(*e, meant, sizeof(meant)))
			log_warn("there is no setting %.*s; did you mean %s?",
				 (int)strcspn(*e, "="), *e, meant);
	}
}

/* Prints an item of a list: the name, then its meaning. */
static void document(const char *name, const char *meaning)
{
	cleanup(buf_done) struct buf words = {0};

	program_words(&words, meaning);
	options_print_wrapped(buf_text(&words) ? buf_text(&words) : meaning,
			      printf("* `%s`:", name), 2);
}

static void document_old(const struct variable *v)
{
	char name[96], option[96] = "", text[512];

	snprintf(name, sizeof(name), OLD_PREFIX "%s", v->name);
	if (v->reader == AGENT || v->reader == AGENT_CULLING)
		options_variable(v->option, option, sizeof(option));
	else if (v->reader == LIBRARY)
		snprintf(option, sizeof(option), OWN_PREFIX "%s", v->name);
	if (*option)
		snprintf(text, sizeof(text), "stands for `%s`: %s", option, v->text);
	else
		snprintf(text, sizeof(text), "has no meaning: %s", v->text);
	document(name, text);
}

void variables_document(void)
{
	program_printf(
		stdout,
		"# The environment\n\n"
		"Printed by `agent --variables`.\n\n"
		"Every long option of `agent run` and `agent serve` is also a variable:\n"
		"`--memory-limit 4M` is `HEAPCAST_MEMORY_LIMIT=4M`. An option without a value "
		"takes\n"
		"1 or 0. If an option is set in several places, the first of these counts:\n\n"
		"* the command line\n"
		"* variables that begin with `HEAPCAST_`\n"
		"* variables with the old names below\n"
		"* the file of `agent serve --config`\n\n"
		"`agent serve --check-config` says what holds.\n\n"
		"`agent run` reads its own environment, which holds for all programs that it\n"
		"runs. With the library alone (`LD_PRELOAD=libheapcast.so CMD`) each program "
		"reads\n"
		"its own. Programs whose settings of an agent's sockets, key or memory differ get\n"
		"agents of their own. Other programs share one.\n\n"
		"`agent serve` reads its own environment. From a program it takes only the\n"
		"settings that are the program's: the output (of its own user only), mode, "
		"policy,\n"
		"short-lived blocks, depth, stacks of frees, figures, maps, children.\n\n"
		"A setting that can't be honoured is reported. `agent run` ends with 2 or 3\n"
		"before the program begins. The library writes one line to the program's standard\n"
		"error, before `main`, and only in the first process of a tree. It writes none "
		"with\n"
		"`HEAPCAST_LOG=off`. The library always reads its own variables in the program.\n\n"
		"## What the library reads\n\n");
	for (size_t i = 0; i < COUNT(own); i++)
		document(own[i].name, own[i].text);
	printf("\n## Old names\n\n"
	       "Variables with the old names work as aliases. A variable without a meaning gives\n"
	       "a notice in the log.\n\n");
	for (size_t i = 0; i < COUNT(variables); i++)
		document_old(&variables[i]);
}
