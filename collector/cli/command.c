/* Parses a command's options by its tables, and has what all commands share. See command.h. */
#include "collector/cli/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/cli/commands.h"
#include "collector/recording/recording.h"
#include "base/ban.h"

#define ENVIRONMENT_PREFIX "HEAPCAST_"

const struct option data_table[] = {
	OPTION_TEXT(struct common_options, data, "data", "DIR",
		    "folder of the recordings (" DEFAULT_DATA ")"),
	{0},
};

const struct option common_table[] = {
	OPTION_TEXT(struct common_options, data, "data", "DIR",
		    "folder of the recordings (" DEFAULT_DATA ")"),
	OPTION_FLAG(struct common_options, json, "json", "print JSON instead of text"),
	{0},
};

static const struct command *const commands[] = {
#define X(name) &command_##name,
	COMMANDS(X)
#undef X
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

const struct command *command_lookup(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

/* ---- messages ---- */

int command_usage_error(const struct command *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "collector %s: ", command->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nTry 'collector %s --help'.\n", command->name);
	return EXIT_USAGE;
}

void command_note(const struct command *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "collector %s: ", command->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void command_note_opening(const struct command *command, const struct recording *recording)
{
	struct err_text news;

	if (recording_opening_news(recording, &news))
		command_note(command, "%s", news.text);
}

int command_fault(const struct command *command, int error, const struct err_text *err)
{
	fprintf(stderr, "collector %s: %s\n", command->name, err_get(err, error));
	return EXIT_FAULT;
}

int command_input_fault(const struct command *command, int error, const struct err_text *err)
{
	int status = command_fault(command, error, err);

	switch (error) {
	case -ENOENT:
	case -EEXIST:
	case -EINVAL:
	case -EBADMSG:
	case -EISDIR:
	case -ENOTDIR:
		return EXIT_USAGE;
	default:
		return status;
	}
}

int command_find_stream(const char *data, const char *stream, char **ret_path, struct err_text *err)
{
	struct store *store = NULL;
	int r;

	if (store_name_is_path(stream))
		return store_find(NULL, stream, ret_path, err);
	r = store_open(data, STORE_READ, &store, err);
	if (r < 0)
		return r;
	r = store_find(store, stream, ret_path, err);
	store_close(store);
	return r;
}

int command_progress(void *context, uint64_t done, uint64_t of)
{
	if (!isatty(STDERR_FILENO))
		return 0;
	if (done >= of)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr, "\r%s %u %%\033[K", (const char *)context,
			(unsigned)((double)done * 100 / (double)of));
	fflush(stderr);
	return 0;
}

/* ---- near names ---- */

/* Levenshtein distance of short names. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[64];
	size_t n = strlen(b);

	if (n >= 64 || strlen(a) >= 64)
		return 64;
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			unsigned change = diagonal + (a[i - 1] != b[j - 1]);
			unsigned step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = change < step ? change : step;
		}
	}
	return row[n];
}

const char *command_suggestion(const char *name, const char *(*nth)(const void *of, size_t i),
			       const void *of, size_t count)
{
	const char *best = NULL;
	unsigned least = 64;

	for (size_t i = 0; i < count; i++) {
		const char *candidate = nth(of, i);
		unsigned d;

		if (!candidate)
			continue;
		d = strlen(name) > 1 && !strncmp(candidate, name, strlen(name))
			    ? 0
			    : distance(name, candidate);
		if (d < least) {
			least = d;
			best = candidate;
		}
	}
	return least <= 1 + strlen(name) / 4 ? best : NULL;
}

/* ---- options ---- */

#define OPTIONS_MAX 256

static const char *option_name_at(const void *of, size_t index)
{
	const struct command *command = of;

	for (const struct option_group *g = command->groups; g && g->options; g++)
		for (const struct option *o = g->options; o->name; o++)
			if (!index--)
				return o->name;
	return NULL;
}

/* Former names of options. Scripts and environments that use one go on working; help and
 * completion know the present names only. */
static const struct {
	const char *old, *name;
} renamed[] = {
	{"young", "recent"},
	{"freed-at-once", "temporary"},
};

#define RENAMED (sizeof(renamed) / sizeof(renamed[0]))

static const char *old_name(const char *name)
{
	for (size_t i = 0; i < RENAMED; i++)
		if (!strcmp(renamed[i].name, name))
			return renamed[i].old;
	return NULL;
}

static bool is_called(const struct option *option, const char *name, size_t length)
{
	const char *old = old_name(option->name);

	return (strlen(option->name) == length && !memcmp(option->name, name, length)) ||
	       (old && strlen(old) == length && !memcmp(old, name, length));
}

static const struct option *option_lookup(const struct command *command, const char *name,
					  size_t length)
{
	for (const struct option_group *g = command->groups; g && g->options; g++)
		for (const struct option *o = g->options; o->name; o++)
			if (is_called(o, name, length))
				return o;
	return NULL;
}

static const struct option *option_by_letter(const struct command *command, char letter)
{
	for (const struct option_group *g = command->groups; g && g->options; g++)
		for (const struct option *o = g->options; o->name; o++)
			if (o->letter == letter)
				return o;
	return NULL;
}

static int list_append(struct option_list *list, const char *text)
{
	const char **grown = realloc(list->texts, (list->count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->texts = grown;
	list->texts[list->count++] = text;
	return 0;
}

static int pairs_append(struct option_pairs *pairs, const char *name, const char *value)
{
	struct option_pair *grown = realloc(pairs->list, (pairs->count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	pairs->list = grown;
	pairs->list[pairs->count++] = (struct option_pair){name, value};
	return 0;
}

/* Stores `value` for an option that takes one. Returns 0 or a negative errno. */
static int option_store(const struct option *option, char *options, const char *value)
{
	void *place = options + option->offset;

	switch (option->kind) {
	case OPTION_KIND_FLAG:
		*(bool *)place = strcmp(value, "") && strcmp(value, "0") && strcmp(value, "no") &&
				 strcmp(value, "false");
		return 0;
	case OPTION_KIND_TEXT:
		*(const char **)place = value;
		return 0;
	case OPTION_KIND_NUMBER:
		return parse_u64(value, place);
	case OPTION_KIND_SIZE:
		return parse_size(value, place);
	case OPTION_KIND_TIME:
		return parse_duration(value, place);
	case OPTION_KIND_LIST:
		return list_append(place, value);
	case OPTION_KIND_PAIR:
		return pairs_append(place, option->name, value);
	}
	return -EINVAL;
}

static int value_error(const struct command *command, const struct option *option,
		       const char *value, const char *name)
{
	static const char *const takes[] = {
		[OPTION_KIND_NUMBER] = "a whole number",
		[OPTION_KIND_SIZE] = "a size such as 4096, 512K or 8M",
		[OPTION_KIND_TIME] = "a time such as 10s, 5m or 500ms",
		[OPTION_KIND_LIST] = "a text",
		[OPTION_KIND_PAIR] = "a text",
	};

	return command_usage_error(command, "%s takes %s, not '%s'", name, takes[option->kind],
				   value);
}

static void environment_name(const char *option, char out[64])
{
	size_t n = strlen(ENVIRONMENT_PREFIX);

	memcpy(out, ENVIRONMENT_PREFIX, n);
	for (const char *c = option; *c && n < 63; c++)
		out[n++] = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
	out[n] = 0;
}

/* The option's value in the environment, by its present or its former name; NULL if there is none.
 * `name` gets the name of the variable. */
static const char *environment_value(const struct option *option, char name[64])
{
	const char *old = old_name(option->name), *value;

	environment_name(option->name, name);
	value = getenv(name);
	if (value || !old)
		return value;
	environment_name(old, name);
	return getenv(name);
}

/* Stores the parts of a list in the environment one by one. The parts point into `text`, a copy
 * that the caller keeps. */
static int store_parts(const struct option *option, char *options, char *text)
{
	char *save = NULL;

	for (char *part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		int r = option_store(option, options, part);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads the environment for options that the command line does not give. `texts` owns the copies of
 * lists. */
static int parse_environment(const struct command *command, char *options,
			     const bool given[OPTIONS_MAX], struct option_list *texts)
{
	size_t index = 0;

	for (const struct option_group *g = command->groups; g && g->options; g++) {
		for (const struct option *o = g->options; o->name; o++, index++) {
			char name[64], *copy;
			const char *value;
			int r;

			value = environment_value(o, name);
			if (!value || (index < OPTIONS_MAX && given[index]))
				continue;
			if (o->kind == OPTION_KIND_LIST) {
				copy = strdup(value);
				if (!copy || list_append(texts, copy) < 0) {
					free(copy);
					return command_fault(command, -ENOMEM, NULL);
				}
				r = store_parts(o, options, copy);
			} else {
				r = option_store(o, options, value);
			}
			if (r < 0)
				return value_error(command, o, value, name);
		}
	}
	return 0;
}

static void mark_given(const struct command *command, const struct option *option,
		       bool given[OPTIONS_MAX])
{
	size_t index = 0;

	for (const struct option_group *g = command->groups; g && g->options; g++)
		for (const struct option *o = g->options; o->name; o++, index++)
			if (index < OPTIONS_MAX && !strcmp(o->name, option->name))
				given[index] = true;
}

struct parser {
	const struct command *command;
	char *options;
	bool given[OPTIONS_MAX];
	int argc;
	char **argv;
	int at;
};

static int unknown_option(struct parser *p, const char *text, const char *name, size_t length)
{
	char bare[64];
	const char *near;

	snprintf(bare, sizeof(bare), "%.*s", (int)(length < 63 ? length : 63), name);
	near = command_suggestion(bare, option_name_at, p->command, OPTIONS_MAX);
	if (near)
		return command_usage_error(
			p->command, "there is no option '%s'; did you mean '--%s'?", text, near);
	return command_usage_error(p->command, "there is no option '%s'", text);
}

static int take_value(struct parser *p, const struct option *option, const char *attached)
{
	const char *value = attached;

	mark_given(p->command, option, p->given);
	if (option->kind == OPTION_KIND_FLAG)
		return option_store(option, p->options, attached ? attached : "1");
	if (!value) {
		if (p->at >= p->argc)
			return command_usage_error(p->command, "--%s needs a value: --%s %s",
						   option->name, option->name, option->argument);
		value = p->argv[p->at++];
	}
	if (option_store(option, p->options, value) < 0) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", option->name);
		return value_error(p->command, option, value, name);
	}
	return 0;
}

static int parse_long(struct parser *p, const char *text)
{
	const char *name = text + 2, *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct option *option = option_lookup(p->command, name, length);

	if (!option && length > 3 && !memcmp(name, "no-", 3) && !equals) {
		option = option_lookup(p->command, name + 3, length - 3);
		if (option && option->kind == OPTION_KIND_FLAG)
			return take_value(p, option, "0");
		option = NULL;
	}
	if (!option)
		return unknown_option(p, text, name, length);
	return take_value(p, option, equals ? equals + 1 : NULL);
}

static int parse_short(struct parser *p, const char *text)
{
	const struct option *option = option_by_letter(p->command, text[1]);

	if (!option)
		return command_usage_error(p->command, "there is no option '%s'", text);
	return take_value(p, option, text[2] ? text + 2 : NULL);
}

/* Separates options from arguments; the arguments stay in order at the front of argv. Returns how
 * many there are, or -1 minus the exit status. */
static int parse_arguments(struct parser *p)
{
	int count = 0;
	bool options_end = false;

	while (p->at < p->argc) {
		char *text = p->argv[p->at++];
		int r = 0;

		if (options_end || text[0] != '-' || !text[1])
			p->argv[count++] = text;
		else if (!strcmp(text, "--"))
			options_end = true;
		else if (text[1] == '-')
			r = parse_long(p, text);
		else
			r = parse_short(p, text);
		if (r)
			return -1 - (r < 0 ? EXIT_FAULT : r);
	}
	return count;
}

static int check_count(const struct command *command, int count)
{
	if (count < command->arguments_min)
		return command_usage_error(command, "something is missing: collector %s %s",
					   command->name, command->usage);
	if (command->arguments_max >= 0 && count > command->arguments_max)
		return command_usage_error(command, "too many arguments: collector %s %s",
					   command->name, command->usage);
	return 0;
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

static void options_free(const struct command *command, char *options)
{
	for (const struct option_group *g = command->groups; g && g->options; g++) {
		for (const struct option *o = g->options; o->name; o++) {
			if (o->kind == OPTION_KIND_LIST) {
				struct option_list *list = (void *)(options + o->offset);

				free(take_ptr(list->texts));
			} else if (o->kind == OPTION_KIND_PAIR) {
				struct option_pairs *pairs = (void *)(options + o->offset);

				free(take_ptr(pairs->list));
			}
		}
	}
}

/* Returns a new options struct: zero, or the command's defaults. NULL: no memory. */
static char *options_new(const struct command *command)
{
	char *options = calloc(1, command->options_size + 1);

	if (options && command->defaults)
		memcpy(options, command->defaults, command->options_size);
	return options;
}

static int run(const struct command *command, char *options, int argc, char **argv,
	       struct option_list *texts)
{
	struct parser p = {.command = command, .options = options, .argc = argc, .argv = argv};
	int count = parse_arguments(&p), r;

	if (count < 0)
		return -1 - count;
	r = parse_environment(command, options, p.given, texts);
	if (!r)
		r = check_count(command, count);
	if (r)
		return r;
	if (command->options_size >= sizeof(struct common_options)) {
		struct common_options *common = (void *)options;

		if (!common->data)
			common->data = DEFAULT_DATA;
	}
	return command->run(&(struct command_call){command, options, argv, count});
}

int command_main(const struct command *command, int argc, char **argv)
{
	struct option_list texts = {0};
	char *options;
	int r;

	if (wants_help(argc, argv)) {
		command_help(command);
		return EXIT_DONE;
	}
	options = options_new(command);
	if (!options)
		return command_fault(command, -ENOMEM, NULL);
	r = run(command, options, argc, argv, &texts);
	options_free(command, options);
	for (size_t i = 0; i < texts.count; i++)
		free((void *)(uintptr_t)texts.texts[i]);
	free(texts.texts);
	free(options);
	return r;
}
