/* Formats values of options. See option_values.h. */
#include "agent/cli/option_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/option_row.h"
#include "agent/serve/orders.h"
#include "agent/net/symbol_place.h"
#include "proto/mode.h"
#include "proto/ring.h"
#include "base/ban.h"

#define NAME_COLUMN  20
#define VALUE_COLUMN 44
#define NOT_SET	     "not set"

/* Options that a running agent can't change: it has divided its memory by them, listens on them, or
 * used them at its start. */
static const char *const fixed[] = {"memory-limit",
				    "depth",
				    "announce",
				    "interface",
				    "listen",
				    "socket",
				    "base-server-port",
				    "logfile",
				    "config",
				    "check-config",
				    "for-pid",
				    "spool",
				    "spool-limit",
				    "figures-interval",
				    "gather-maps",
				    "maps-interval",
				    "allocator-figures",
				    "short-lived",
				    "short-lived-pending",
				    "short-lived-memory",
				    "key",
				    "cert",
				    "cert-key",
				    "ca",
				    "keys",
				    "flight",
				    "flight-after",
				    "flight-memory",
				    "flight-rss",
				    "flight-growth",
				    "flight-pressure",
				    "flight-pause"};

static void size_text(char *out, size_t size, uint64_t value)
{
	static const char *const units[] = {"", "K", "M", "G"};
	unsigned unit = 0;

	while (value && value % 1024 == 0 && unit < 3) {
		value /= 1024;
		unit++;
	}
	snprintf(out, size, "%" PRIu64 "%s", value, units[unit]);
}

/* Quotes a text that a configuration file would otherwise read differently. */
static void word(char *out, size_t size, const char *text)
{
	size_t length = strlen(text);
	bool quotes = *text == '#' || *text == '"' || strstr(text, " #") || strstr(text, "\t#") ||
		      (length && (strchr(" \t", text[0]) || strchr(" \t", text[length - 1])));

	snprintf(out, size, quotes ? "\"%s\"" : "%s", text);
}

/* Returns false if the option has no value. */
static bool value_text(const struct options *o, unsigned index, char *out, size_t size)
{
	static const char *const policies[] = {
		[RING_BLOCK] = "block", [RING_THIN] = "thin", [RING_COUNT] = "count"};
	static const char *const symbols[] = {
		[SYMBOLS_PUBLIC] = "public", [SYMBOLS_ALL] = "yes", [SYMBOLS_NONE] = "no"};
	const struct option_row *row = option_row(index);
	bool given = o->source[index] != OPTION_DEFAULT;
	const void *field = (const char *)o + row->offset;
	const char *text = row->type == TEXT ? *(const char *const *)field : "";
	uint64_t number = row->type == SIZE || row->type == DURATION || row->type == NUMBER
				  ? *(const uint64_t *)field
				  : 0;

	snprintf(out, size, NOT_SET);
	switch (row->type) {
	case TEXT:
		if (text)
			word(out, size, text);
		return text != NULL;
	case FLAG:
	case SWITCH:
	case MAPS:
		snprintf(out, size, "%s", *(const bool *)field ? "yes" : "no");
		return true;
	case SIZE:
		if (number || given)
			size_text(out, size, number);
		return number || given;
	case DURATION:
		snprintf(out, size, "%.9gs", (double)number / 1e9);
		return true;
	case NUMBER:
		if (given || (number && number != OPTIONS_NO_OWNER))
			snprintf(out, size, "%" PRIu64, number);
		return given || (number && number != OPTIONS_NO_OWNER);
	case MODE:
		mode_text(out, size, (int)o->mode, o->sample_interval);
		return true;
	case SYMBOLS:
		snprintf(out, size, "%s", symbols[*(const uint64_t *)field]);
		return true;
	case ORDERS:
		snprintf(out, size, "%s", order_policy_name(options_orders(o)));
		return true;
	case POLICY:
		snprintf(out, size, "%s", policies[*(const uint32_t *)field]);
		return true;
	}
	return false;
}

static void print_source(const struct options *o, unsigned index, const char *file)
{
	char variable[64];

	switch ((enum option_source)o->source[index]) {
	case OPTION_DEFAULT:
		printf("default\n");
		return;
	case OPTION_FILE:
		printf("%s:%u\n", file, o->line[index]);
		return;
	case OPTION_VARIABLE:
		options_variable(option_row(index)->name, variable, sizeof(variable));
		printf("the environment (%s, or its old name)\n", variable);
		return;
	case OPTION_ARGUMENT:
		printf("the command line\n");
	}
}

void options_print(const struct options *o, enum option_command command, const char *file)
{
	const struct option_row *row;

	printf("# heapcast agent %s; ", HEAPCAST_VERSION);
	printf(file ? "the file is %s\n" : "no file was read\n", file);
	for (unsigned i = 0; (row = option_row(i)); i++) {
		char value[OPTION_TEXT_MAX];

		if (!(row->commands & command) || !option_for_files(row))
			continue;
		if (!value_text(o, i, value, sizeof(value))) {
			printf("#%-*s # " NOT_SET "\n", VALUE_COLUMN - 1, row->name);
			continue;
		}
		printf("%-*s = %-*s # ", NAME_COLUMN, row->name, VALUE_COLUMN - NAME_COLUMN - 3,
		       value);
		print_source(o, i, file);
	}
}

static bool is_fixed(const struct option_row *row)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (!strcmp(row->name, fixed[i]))
			return true;
	return false;
}

/* The size of the option's field, in bytes. */
static size_t field_size(const struct option_row *row)
{
	switch (row->type) {
	case TEXT:
		return sizeof(const char *);
	case FLAG:
	case SWITCH:
	case MAPS:
		return sizeof(bool);
	case MODE:
	case POLICY:
		return sizeof(uint32_t);
	default:
		return sizeof(uint64_t);
	}
}

static void set_back(struct options *next, const struct options *running,
		     const struct option_row *row)
{
	memcpy((char *)next + row->offset, (const char *)running + row->offset, field_size(row));
}

void options_compare(struct options *next, const struct options *running,
		     enum option_command command,
		     void (*tell)(const char *name, const char *running, const char *wanted,
				  bool kept))
{
	const struct option_row *row;

	for (unsigned i = 0; (row = option_row(i)); i++) {
		char before[OPTION_TEXT_MAX], after[OPTION_TEXT_MAX];

		if (!(row->commands & command))
			continue;
		value_text(running, i, before, sizeof(before));
		value_text(next, i, after, sizeof(after));
		if (strcmp(before, after))
			tell(row->name, before, after, is_fixed(row));
		if (is_fixed(row))
			set_back(next, running, row);
	}
}
