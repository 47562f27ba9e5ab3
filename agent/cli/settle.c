/* Applies the environment of a program that asks. See settle.h. */
#include "agent/cli/settle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/command.h"
#include "agent/cli/options/values.h"
#include "agent/cli/options/variables.h"
#include "agent/core/naming.h"
#include "base/error.h"
#include "base/ban.h"

#define UNRECORDED ": this program is not recorded"
#define NAMES_MOST 64 /* the library sends no more */

struct text {
	const char *from, *end;
};

/* Settings of an agent. The user of a single program does not miss them, so they are not
 * reported. */
static const char *const unnoticed[] = {
	"socket",  "for-pid",	    "linger-idle",  "config",	  "check-config", "log",
	"logfile", "logfile-limit", "stop-timeout", "allow-user", "allow-group"};

/* The message for the request that is being handled. It is static because options_compare passes no
 * context. */
static struct err_text *telling;

static const char *settle_get(const void *context, const char *name)
{
	const struct text *t = context;
	size_t length = strlen(name);

	for (const char *at = t->from; at < t->end; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

/* Appends a sentence. */
static void settle_add(struct err_text *say, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void settle_add(struct err_text *say, const char *format, ...)
{
	size_t n = strlen(say->text);
	va_list args;

	if (n)
		n += (size_t)snprintf(say->text + n, sizeof(say->text) - n, "; ");
	if (n >= sizeof(say->text))
		return;
	va_start(args, format);
	vsnprintf(say->text + n, sizeof(say->text) - n, format, args);
	va_end(args);
}

static bool asked_for(const struct options *o, const char *option)
{
	return options_source(o, option) == OPTION_VARIABLE;
}

/* ---- settings without memory or permission ---- */

static void check_files(struct options *asked, const struct options *own, bool same_files,
			struct err_text *say)
{
	if (same_files)
		return;
	if (asked_for(asked, "output") && asked->output && *asked->output)
		settle_add(
			say,
			"HEAPCAST_OUTPUT is not honoured: the agent that runs here makes files for "
			"programs of its own user only (%u), in the same container",
			(unsigned)geteuid());
	if (asked_for(asked, "chown-output-to"))
		settle_add(say,
			   "HEAPCAST_CHOWN_OUTPUT_TO is not honoured: the agent that runs here is "
			   "another user's");
	asked->output = own->output;
	asked->output_owner = own->output_owner;
}

static void check_memory(struct options *asked, const struct options *own, struct err_text *say)
{
	if (asked->cull_ns && !own->cull_ns) {
		settle_add(say,
			   "HEAPCAST_SHORT_LIVED is not honoured: the agent that runs here was "
			   "started without --short-lived");
		asked->cull_ns = 0;
	}
	if (asked->gather_maps && !own->gather_maps) {
		settle_add(say,
			   "HEAPCAST_GATHER_MAPS is not honoured: the agent that runs here was "
			   "started without --gather-maps");
		asked->gather_maps = false;
	}
	if (asked->depth > own->depth) {
		settle_add(say,
			   "HEAPCAST_DEPTH is not honoured: the agent that runs here keeps %llu "
			   "frames at "
			   "most",
			   (unsigned long long)own->depth);
		asked->depth = own->depth;
	}
}

/* ---- settings of the agent ---- */

static void settle_tell(const char *name, const char *running, const char *wanted, bool kept)
{
	const struct option *row;
	char variable[64];

	(void)running;
	(void)wanted;
	(void)kept;
	for (size_t i = 0; i < sizeof(unnoticed) / sizeof(unnoticed[0]); i++)
		if (!strcmp(name, unnoticed[i]))
			return;
	for (size_t i = 0; (row = option_row(i)); i++)
		if (!strcmp(row->name, name) && row->marks & COMMAND_PROGRAM)
			return;
	options_variable(name, variable, sizeof(variable));
	settle_add(telling, "%s is not honoured: the agent that runs here keeps its own", variable);
}

static void check_agents(const struct option_environment *from, const struct options *own,
			 struct err_text *say)
{
	struct options theirs = *own;
	struct err_text err = {{0}};

	theirs.tags = (struct tags){0}; /* else the agent's would be counted with theirs */
	telling = say;
	if (variables_read(&theirs, COMMAND_SERVE, from, &err) < 0)
		settle_add(say, "%s", err.text);
	else
		options_compare(&theirs, own, COMMAND_SERVE, settle_tell);
}

static void check_names(const struct text *t, struct err_text *say)
{
	char meant[64];

	int count = 0;

	for (const char *at = t->from; at < t->end && count++ < NAMES_MOST; at += strlen(at) + 1)
		if (variables_misspelt(at, meant, sizeof(meant)))
			settle_add(say, "there is no setting %.*s; did you mean %s?",
				   (int)strcspn(at, "="), at, meant);
}

static int check_output(const struct options *asked, struct err_text *err)
{
	char path[RING_OUTPUT_MAX];

	if (!asked->output || !*asked->output)
		return 0;
	if (naming_expand(path, sizeof(path), asked->output, "program", 0, 1, 0) == -EINVAL)
		return err_set(err, -EINVAL,
			       "HEAPCAST_OUTPUT takes %%e, %%t, %%p, %%n and %%%% beside other "
			       "text, not '%s'",
			       asked->output);
	return 0;
}

int settle(void *context, const char *text, size_t length, bool same_files,
	   struct session_settings *io, struct err_text *say)
{
	const struct options *own = context;
	const struct text t = {text, text + length};
	const struct option_environment from = {.get = settle_get, .context = &t};
	struct agent_settings settings;
	struct options asked = *own;
	struct err_text err = {{0}};
	int r;

	asked.from = (struct option_sources){0};
	asked.tags = (struct tags){0};
	r = variables_read(&asked, COMMAND_PROGRAM, &from, &err);
	if (!r) {
		check_files(&asked, own, same_files, say);
		check_memory(&asked, own, say);
		check_agents(&from, own, say);
		check_names(&t, say);
		r = check_output(&asked, &err);
	}
	if (!r)
		r = command_settings(&asked, &settings, &err);
	options_call_variables(&asked, &err);
	if (r < 0)
		return err_set(say, -EINVAL, "%s" UNRECORDED, err_get(&err, r));
	*io = settings.each;
	io->own_tags = settings.each.tags;
	io->tags = own->tags;
	io->own_output = asked_for(&asked, "output") && io->output && same_files;
	return 0;
}
