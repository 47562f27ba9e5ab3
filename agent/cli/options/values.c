/* Formats values of options. See values.h. */
#include "agent/cli/options/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ban.h"

#define NAME_COLUMN  20
#define VALUE_COLUMN 44
#define NOT_SET	     "not set"

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
static bool value_text(const struct options *o, size_t index, char *out, size_t size)
{
	const struct option *row = option_row(index);
	bool given = o->from.of[index] != OPTION_DEFAULT;
	const void *field = (const char *)o + row->offset;
	uint64_t number;

	snprintf(out, size, NOT_SET);
	switch (row->kind) {
	case OPTION_KIND_TEXT:
		if (*(const char *const *)field)
			word(out, size, *(const char *const *)field);
		return *(const char *const *)field;
	case OPTION_KIND_FLAG:
		snprintf(out, size, "%s", *(const bool *)field ? "yes" : "no");
		return true;
	case OPTION_KIND_SIZE:
		number = *(const uint64_t *)field;
		if (number || given)
			size_text(out, size, number);
		return number || given;
	case OPTION_KIND_TIME:
		snprintf(out, size, "%.9gs", (double)*(const uint64_t *)field / 1e9);
		return true;
	case OPTION_KIND_NUMBER:
		number = *(const uint64_t *)field;
		given |= number && number != OPTIONS_NO_OWNER;
		if (given)
			snprintf(out, size, "%" PRIu64, number);
		return given;
	case OPTION_KIND_CHOICE:
		snprintf(out, size, "%s", row->words[*(const uint32_t *)field]);
		return true;
	case OPTION_KIND_OWN:
		row->own->text(o, out, size);
		if (*out || given)
			return true;
		snprintf(out, size, NOT_SET);
		return false;
	case OPTION_KIND_LIST:
	case OPTION_KIND_PAIR:
		break; /* the daemon has none */
	}
	return false;
}

static void print_source(const struct options *o, size_t index, const char *file)
{
	char variable[64];

	switch ((enum option_source)o->from.of[index]) {
	case OPTION_DEFAULT:
		printf("default\n");
		return;
	case OPTION_FILE:
		printf("%s:%u\n", file, o->from.line[index]);
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
	const struct option *row;

	printf("# heapcast agent %s; ", HEAPCAST_VERSION);
	printf(file ? "the file is %s\n" : "no file was read\n", file);
	for (size_t i = 0; (row = option_row(i)); i++) {
		char value[OPTION_TEXT_MAX];

		if (!(row->marks & command) || !option_for_files(row))
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

/* Returns the size of the option's field, in bytes. */
static size_t field_size(const struct option *row)
{
	switch (row->kind) {
	case OPTION_KIND_TEXT:
		return sizeof(const char *);
	case OPTION_KIND_FLAG:
		return sizeof(bool);
	case OPTION_KIND_CHOICE:
		return sizeof(uint32_t);
	case OPTION_KIND_OWN:
		return row->own->size;
	default:
		return sizeof(uint64_t);
	}
}

static void set_back(struct options *next, const struct options *running, const struct option *row)
{
	memcpy((char *)next + row->offset, (const char *)running + row->offset, field_size(row));
}

void options_compare(struct options *next, const struct options *running,
		     enum option_command command,
		     void (*tell)(const char *name, const char *running, const char *wanted,
				  bool kept))
{
	const struct option *row;

	for (size_t i = 0; (row = option_row(i)); i++) {
		char before[OPTION_TEXT_MAX], after[OPTION_TEXT_MAX];

		if (!(row->marks & command))
			continue;
		value_text(running, i, before, sizeof(before));
		value_text(next, i, after, sizeof(after));
		if (strcmp(before, after))
			tell(row->name, before, after, row->marks & OPTION_FIXED);
		if (row->marks & OPTION_FIXED)
			set_back(next, running, row);
	}
}
