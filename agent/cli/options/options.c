/* Reads options from their sources, and derives the values that depend on several options. See
 * options.h. */
#include "agent/cli/options/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/stream/orders.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "proto/ring.h"
#include "base/ban.h"

static const struct option_renamed renamed[] = {
	{"cull", "short-lived"},
	{"cull-pending", "short-lived-pending"},
	{"cull-memory", "short-lived-memory"},
	{0},
};

/* Returns the command that has this option, if people mix it up with the command at hand (run and
 * serve); otherwise NULL. */
static const char *options_elsewhere(const struct option_set *set, const char *name, size_t length)
{
	bool run = set->marks != COMMAND_RUN;
	const struct option_set other = {.groups = options_groups,
					 .marks = run ? COMMAND_RUN : COMMAND_SERVE,
					 .renamed = renamed};

	if (options_find(&other, name, length) < 0)
		return NULL;
	return run ? "agent run" : "agent serve";
}

struct option_set options_of(unsigned commands)
{
	return (struct option_set){.groups = options_groups,
				   .marks = commands,
				   .renamed = renamed,
				   .stops = true,
				   .elsewhere = options_elsewhere};
}

int options_arguments(struct options *o, enum option_command command, int argc, char **argv,
		      struct err_text *err)
{
	const struct option_set set = options_of(command);
	const struct option_target target = {&set, o, &o->from};
	int r = options_parse(&target, argc - 1, argv + 1, err);

	return r < 0 ? r : r + 1;
}

bool option_for_files(const struct option *row)
{
	return row->help && !(row->marks & OPTION_NOT_IN_FILE);
}

int options_file_line(struct options *o, enum option_command command, const char *name,
		      const char *value, struct err_text *err)
{
	const struct option_set set = options_of(command);
	const struct option_target target = {&set, o, &o->from};
	int index = options_find(&set, name, strlen(name));
	const struct option *row = index < 0 ? NULL : option_row((size_t)index);

	if (!strncmp(name, "--", 2))
		return err_set(err, -EINVAL, "names stand here without dashes: %s = %s", name + 2,
			       value);
	if (!row)
		return options_unknown(&set, name, strlen(name), err);
	if (!option_for_files(row))
		return err_set(err, -EINVAL, "%s can only be said on the command line", name);
	if (o->from.of[index] == OPTION_FILE)
		return err_set(err, -EINVAL, "%s is set in line %u already", name,
			       o->from.line[index]);
	if (row->kind == OPTION_KIND_FLAG && !*value)
		return err_set(err, -EINVAL, "%s needs a value: %s = yes", name, name);
	return options_put(&target, index, value, name, err);
}

enum option_source options_source(const struct options *o, const char *name)
{
	const struct option_set all = options_of(0);
	int index = options_find(&all, name, strlen(name));

	return index < 0 ? OPTION_DEFAULT : (enum option_source)o->from.of[index];
}

bool options_said(const struct options *o)
{
	const struct option *row;

	for (size_t i = 0; (row = option_row(i)); i++)
		if (o->from.of[i] == OPTION_VARIABLE && strcmp(row->name, "config") &&
		    strcmp(row->name, "keys"))
			return true;
	return false;
}

static size_t name_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz-");
}

void options_call_variables(const struct options *o, struct err_text *err)
{
	const struct option_set all = options_of(0);
	struct err_text said = *err;
	char variable[64];
	size_t n = 0;

	for (const char *at = said.text; *at && n < sizeof(err->text) - 1;) {
		size_t length = strncmp(at, "--", 2) ? 0 : name_length(at + 2);
		int index = length ? options_find(&all, at + 2, length) : -ENOENT;

		if (index >= 0 && o->from.of[index] == OPTION_VARIABLE) {
			options_variable(option_row((size_t)index)->name, variable,
					 sizeof(variable));
			n += (size_t)snprintf(err->text + n, sizeof(err->text) - n, "%s", variable);
			at += 2 + length;
		} else {
			err->text[n++] = *at++;
		}
	}
	err->text[n < sizeof(err->text) ? n : sizeof(err->text) - 1] = '\0';
}

enum order_policy options_orders(const struct options *o)
{
	bool keyed = (o->key && *o->key) || (o->cert && *o->cert) || o->paired;

	return keyed && options_source(o, "orders") == OPTION_DEFAULT
		       ? ORDERS_YES
		       : (enum order_policy)o->orders;
}

void options_choose_policy(struct options *o, enum option_command command)
{
	bool network = o->announce || o->collector || o->listen;

	if (options_source(o, "policy") != OPTION_DEFAULT || command == COMMAND_ATTACH)
		return;
	/* A daemon that libheapcast.so started records one program, and a person waits for this
	 * recording. */
	o->policy = network || (command == COMMAND_SERVE && !o->for_pid) ? RING_THIN : RING_BLOCK;
}

void options_help(enum option_command command)
{
	const struct option_set set = options_of(command);

	options_print_help(&set);
	program_printf(
		stdout,
		"\nEach is also a variable: --memory-limit 4M is HEAPCAST_MEMORY_LIMIT=4M. More\n"
		"variables: agent --variables.\n");
}
