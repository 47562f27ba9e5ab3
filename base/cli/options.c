/* Reads options from the command line and the environment. See options.h. */
#include "base/cli/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/cli/nearest.h"
#include "base/parse.h"
#include "base/ban.h"

#define VARIABLE_PREFIX "HEAPCAST_"
#define NAME_MAX_BYTES	64

/* ---- rows ---- */

const struct option *options_at(const struct option_set *set, size_t index)
{
	for (const struct option_group *g = set->groups; g && g->options; g++)
		for (const struct option *o = g->options; o->name; o++)
			if (!index--)
				return o;
	return NULL;
}

bool options_has(const struct option_set *set, const struct option *option)
{
	return !set->marks || option->marks & set->marks;
}

static bool options_is(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !memcmp(name, text, length);
}

const char *options_old_name(const struct option_set *set, const char *name)
{
	for (const struct option_renamed *r = set->renamed; r && r->old; r++)
		if (!strcmp(r->name, name))
			return r->old;
	return NULL;
}

int options_find(const struct option_set *set, const char *name, size_t length)
{
	const struct option *o;

	for (const struct option_renamed *r = set->renamed; r && r->old; r++)
		if (options_is(r->old, name, length))
			return options_find(set, r->name, strlen(r->name));
	for (int i = 0; (o = options_at(set, (size_t)i)); i++)
		if (options_has(set, o) && options_is(o->name, name, length))
			return i;
	return -ENOENT;
}

char options_letter(const struct option *option)
{
	static const struct {
		const char *name;
		char letter;
	} usual[] = {{"output", 'o'}, {"quiet", 'q'}, {"count", 'n'}, {"pid", 'p'}};

	for (size_t i = 0; !option->letter && i < sizeof(usual) / sizeof(usual[0]); i++)
		if (!strcmp(option->name, usual[i].name))
			return usual[i].letter;
	return option->letter;
}

static int options_find_letter(const struct option_set *set, char letter)
{
	const struct option *o;

	for (int i = 0; (o = options_at(set, (size_t)i)); i++)
		if (options_has(set, o) && options_letter(o) == letter)
			return i;
	return -ENOENT;
}

/* Finds the only option whose name begins with `name`. Returns its index, -ENOENT if there is none,
 * or -EEXIST if there are several, which `names` then lists. */
static int options_find_beginning(const struct option_set *set, const char *name, size_t length,
				  char *names, size_t size)
{
	const struct option *o, *found = NULL;
	unsigned count = 0;
	size_t used = 0;
	int index = -ENOENT;

	for (int i = 0; length && (o = options_at(set, (size_t)i)); i++) {
		if (!options_has(set, o) || !o->help || strncmp(o->name, name, length) != 0 ||
		    (found && !strcmp(found->name, o->name)))
			continue;
		if (used < size)
			used += (size_t)snprintf(names + used, size - used, "%s--%s",
						 count ? ", " : "", o->name);
		found = o;
		index = i;
		count++;
	}
	return count > 1 ? -EEXIST : index;
}

const char *options_nearest(const struct option_set *set, const char *name, size_t length)
{
	const struct option *o;
	struct nearest nearest;

	nearest_begin(&nearest, name, length);
	for (size_t i = 0; (o = options_at(set, i)); i++)
		if (options_has(set, o) && o->help)
			nearest_try(&nearest, o->name);
	return nearest.found;
}

int options_unknown(const struct option_set *set, const char *name, size_t length,
		    struct err_text *err)
{
	const char *other = set->elsewhere ? set->elsewhere(set, name, length) : NULL;
	const char *meant = options_nearest(set, name, length);

	if (other)
		return err_set(err, -EINVAL, "--%.*s is an option of `%s` only", (int)length, name,
			       other);
	if (meant)
		return err_set(err, -EINVAL, "there is no option --%.*s; did you mean --%s?",
			       (int)length, name, meant);
	return err_set(err, -EINVAL, "there is no option --%.*s (--help lists them)", (int)length,
		       name);
}

/* ---- values ---- */

static void options_empty(struct option_list *list)
{
	while (list->count)
		free((void *)(uintptr_t)list->texts[--list->count]);
	free(take_ptr(list->texts));
}

static int options_append(struct option_list *list, const char *text, size_t length)
{
	const char **grown = realloc(list->texts, (list->count + 1) * sizeof(*grown));
	char *copy = grown ? strndup(text, length) : NULL;

	if (grown)
		list->texts = grown;
	if (!copy)
		return -ENOMEM;
	list->texts[list->count++] = copy;
	return 0;
}

/* Appends the comma-separated parts of a variable. */
static int options_append_parts(struct option_list *list, const char *text)
{
	int r = 0;

	while (!r && *text) {
		size_t length = strcspn(text, ",");

		if (length)
			r = options_append(list, text, length);
		text += length + (text[length] == ',');
	}
	return r;
}

static int options_append_pair(struct option_pairs *pairs, const char *name, const char *value)
{
	struct option_pair *grown = realloc(pairs->list, (pairs->count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	pairs->list = grown;
	pairs->list[pairs->count++] = (struct option_pair){name, value};
	return 0;
}

static int options_choose(const char *const *words, uint32_t *ret, const char *text)
{
	for (uint32_t i = 0; words[i]; i++)
		if (!strcmp(words[i], text)) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

/* Appends a value to the list. A list from a source of higher precedence replaces the earlier one.
 */
static int options_store_list(struct option_list *list, const struct option_sources *sources,
			      int index, const char *value)
{
	if (sources->of[index] < sources->now)
		options_empty(list);
	return sources->now == OPTION_VARIABLE ? options_append_parts(list, value)
					       : options_append(list, value, strlen(value));
}

static int options_store(const struct option_target *t, int index, const struct option *row,
			 const char *value)
{
	void *place = (char *)t->options + row->offset;

	switch (row->kind) {
	case OPTION_KIND_FLAG:
		return parse_switch(value, place);
	case OPTION_KIND_TEXT:
		*(const char **)place = value;
		return 0;
	case OPTION_KIND_NUMBER:
		return parse_u64(value, place);
	case OPTION_KIND_SIZE:
		return parse_size(value, place);
	case OPTION_KIND_TIME:
		return parse_duration(value, place);
	case OPTION_KIND_CHOICE:
		return options_choose(row->words, place, value);
	case OPTION_KIND_LIST:
		return options_store_list(place, t->sources, index, value);
	case OPTION_KIND_PAIR:
		return options_append_pair(place, row->name, value);
	case OPTION_KIND_OWN:
		return row->own->parse(t->options, value);
	}
	return -EINVAL;
}

static const char *options_takes(const struct option *row)
{
	switch (row->kind) {
	case OPTION_KIND_NUMBER:
		return "a whole number";
	case OPTION_KIND_SIZE:
		return "a size such as 4096, 512K or 8M";
	case OPTION_KIND_TIME:
		return "a time such as 10s, 5m or 500ms";
	default:
		return row->own && row->own->takes ? row->own->takes
		       : row->argument		   ? row->argument
						   : "0 or 1";
	}
}

int options_put(const struct option_target *t, int index, const char *value, const char *what,
		struct err_text *err)
{
	const struct option *row = options_at(t->set, (size_t)index);
	struct option_sources *sources = t->sources;
	int r;

	assert(row && index < OPTIONS_MAX);
	if (sources->of[index] > sources->now)
		return 0;
	if (sources->now == OPTION_VARIABLE && row->kind == OPTION_KIND_FLAG && !*value)
		return 0; /* NAME= in a shell commonly means "not set" */
	r = options_store(t, index, row, value);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return err_set(err, -EINVAL, "%s takes %s, not '%s'", what, options_takes(row),
			       value);
	sources->of[index] = (uint8_t)sources->now;
	sources->line[index] = (uint16_t)sources->line_now;
	return 0;
}

void options_done(const struct option_set *set, void *options)
{
	const struct option *o;

	for (size_t i = 0; (o = options_at(set, i)); i++) {
		void *place = (char *)options + o->offset;

		if (o->kind == OPTION_KIND_LIST)
			options_empty(place);
		else if (o->kind == OPTION_KIND_PAIR)
			free(take_ptr(((struct option_pairs *)place)->list));
	}
}

/* ---- the environment ---- */

static const char *options_getenv(const void *context, const char *name)
{
	(void)context;
	return getenv(name);
}

const struct option_environment options_own_environment = {.get = options_getenv};

void options_variable(const char *option, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, VARIABLE_PREFIX);

	for (; *option && n < size - 1; option++)
		out[n++] = *option == '-' ? '_' : (char)toupper((unsigned char)*option);
	out[n] = '\0';
}

/* Returns the value of the option's variable, under its current or its former name, and which name
 * was set; or NULL. */
static const char *options_variable_value(const struct option_set *set, const char *option,
					  const struct option_environment *from,
					  char name[NAME_MAX_BYTES])
{
	const char *old = options_old_name(set, option), *value;

	options_variable(option, name, NAME_MAX_BYTES);
	value = from->get(from->context, name);
	if (value || !old)
		return value;
	options_variable(old, name, NAME_MAX_BYTES);
	return from->get(from->context, name);
}

int options_variables(const struct option_target *t, const struct option_environment *from,
		      struct err_text *err)
{
	const struct option *o;
	int r = 0;

	t->sources->now = OPTION_VARIABLE;
	for (int i = 0; !r && (o = options_at(t->set, (size_t)i)); i++) {
		char name[NAME_MAX_BYTES];
		const char *value;

		/* A set may contain a row twice, under two headings. */
		if (options_find(t->set, o->name, strlen(o->name)) != i)
			continue;
		value = options_variable_value(t->set, o->name, from, name);
		if (value)
			r = options_put(t, i, value, name, err);
	}
	return r;
}

/* ---- the command line ---- */

/* Finds a long option and the value that is attached to it, or NULL. */
static int options_long(const struct option_set *set, const char *text, const char **ret_value,
			struct err_text *err)
{
	const char *name = text + 2, *equals = strchr(name, '=');
	char names[200] = "";
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	int index = options_find(set, name, length);

	*ret_value = equals ? equals + 1 : NULL;
	if (index < 0 && !equals && !strncmp(name, "no-", 3)) {
		index = options_find(set, name + 3, length - 3);
		*ret_value = "0";
		if (index >= 0 && options_at(set, (size_t)index)->kind != OPTION_KIND_FLAG)
			index = -ENOENT;
	}
	if (index < 0)
		index = options_find_beginning(set, name, length, names, sizeof(names));
	if (index == -EEXIST)
		return err_set(err, -EINVAL, "--%.*s is the beginning of several options: %s",
			       (int)length, name, names);
	return index < 0 ? options_unknown(set, name, length, err) : index;
}

static int options_short(const struct option_set *set, const char *text, const char **ret_value,
			 struct err_text *err)
{
	int index = options_find_letter(set, text[1]);

	*ret_value = text[2] ? text + 2 : NULL;
	return index < 0 ? err_set(err, -EINVAL, "there is no option %s (--help lists them)", text)
			 : index;
}

/* Reads the option at argv[0] and its value. Returns the number of arguments that they take, or a
 * negative errno. */
static int options_take(const struct option_target *t, int argc, char **argv, struct err_text *err)
{
	const char *value;
	int index = argv[0][1] == '-' ? options_long(t->set, argv[0], &value, err)
				      : options_short(t->set, argv[0], &value, err);
	const struct option *row = index < 0 ? NULL : options_at(t->set, (size_t)index);
	char what[NAME_MAX_BYTES];
	int used = 1, r;

	if (!row)
		return index;
	if (argv[0][1] == '-')
		snprintf(what, sizeof(what), "--%s", row->name);
	else
		snprintf(what, sizeof(what), "-%c", options_letter(row));
	if (!value && !row->argument)
		value = "1";
	if (!value && argc < 2)
		return err_set(err, -EINVAL, "%s needs a value: %s %s", what, what, row->argument);
	if (!value)
		value = argv[used++];
	r = options_put(t, index, value, what, err);
	return r < 0 ? r : used;
}

int options_parse(const struct option_target *t, int argc, char **argv, struct err_text *err)
{
	int at = 0, kept = 0, r;

	t->sources->now = OPTION_ARGUMENT;
	while (at < argc) {
		char *text = argv[at];

		if (text[0] != '-' || !text[1]) {
			if (t->set->stops)
				break;
			argv[kept++] = argv[at++];
			continue;
		}
		if (!strcmp(text, "--")) {
			at++;
			break;
		}
		if (!strcmp(text, "--help") || !strcmp(text, "-h")) {
			t->sources->help = true;
			break;
		}
		r = options_take(t, argc - at, argv + at, err);
		if (r < 0)
			return r;
		at += r;
	}
	memmove(argv + at - kept, argv, (size_t)kept * sizeof(*argv));
	return at - kept;
}
