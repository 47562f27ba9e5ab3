/*
 * Parses filters: a table of names, each with the function that reads its value. matcher.c does the
 * matching.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/pattern.h"
#include "collector/query/match/sites.h"
#include "collector/query/match/suppress.h"
#include "collector/query/query.h"
#include "collector/query/match/view.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define FILTER_NAME_MAX 64
#define TIME_FORMS                                                                                 \
	"seconds since the start (10, 1.5s, 4h3m2s, 100ms), a part of the recording (50%%), "      \
	"or seconds or milliseconds since the epoch"

struct field {
	const char *name; /* the name with '-' */
	int (*read)(struct filter *filter, const struct view *view, const struct field *field,
		    const char *value, struct err_text *err);
	size_t offset, size;
	bool is_text;
	unsigned parts, columns;
};

/* ---- times ---- */

static bool plain_number(const char *text, double *ret_value)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	for (const char *p = text; *p; p++)
		if (!isdigit((unsigned char)*p) && *p != '.')
			return false;
	*ret_value = strtod(text, &end);
	return !*end && end != text;
}

static int percent_time(const struct view *view, const char *text, double *ret_ns)
{
	char number[40];
	size_t length = strlen(text);
	double value;

	if (length < 2 || length > sizeof(number) || text[length - 1] != '%')
		return -EINVAL;
	memcpy(number, text, length - 1);
	number[length - 1] = 0;
	if (!plain_number(number, &value) || value > 100)
		return -EINVAL;
	*ret_ns = value / 100 * (double)recording_end_ns(view_recording(view));
	return 0;
}

/* Reads seconds or milliseconds since the epoch as integers, because they exceed the precision of
 * floating point. Returns the unit in nanoseconds, or 0 if the text is no such time. */
static uint64_t epoch_time(const struct view *view, const char *text, double *ret_ns)
{
	uint64_t number, unit;
	double value;

	if (!plain_number(text, &value) || parse_u64(text, &number) < 0 || number < 1000000000)
		return 0;
	unit = number >= 100000000000 ? 1000000 : 1000000000;
	*ret_ns = (double)((__int128)number * unit -
			   recording_process(view_recording(view))->start_wall_ns);
	return unit;
}

/* Reads nanoseconds since the start, negative before it. */
static int any_time(const struct view *view, const char *text, double *ret_ns)
{
	double start = (double)recording_process(view_recording(view))->start_wall_ns, value;
	uint64_t ns;
	int r;

	if (epoch_time(view, text, ret_ns))
		return 0;
	if (plain_number(text, &value)) {
		if (value >= 1e11)
			*ret_ns = value * 1e6 - start;
		else if (value >= 1e9)
			*ret_ns = value * 1e9 - start;
		else
			*ret_ns = value * 1e9;
		return 0;
	}
	if (strchr(text, '%'))
		return percent_time(view, text, ret_ns);
	r = parse_duration(text, &ns);
	if (!r)
		*ret_ns = (double)ns;
	return r;
}

/* Returns 1 if the time lies before the start, and sets *ret_ns to 0 then. */
static int keep_time(double ns, uint64_t *ret_ns)
{
	if (ns < 0) {
		*ret_ns = 0;
		return 1;
	}
	*ret_ns = ns >= 1.8e19 ? NO_TIME - 1 : (uint64_t)llround(fmin(ns, 9e18));
	return 0;
}

int query_time(const struct view *view, const char *name, const char *text, uint64_t *ret_ns,
	       struct err_text *err)
{
	double ns = 0;

	if (any_time(view, text, &ns) < 0)
		return err_set(err, -EINVAL, "%s takes a time, not \"%.60s\": " TIME_FORMS, name,
			       text);
	return keep_time(ns, ret_ns);
}

static int filter_read_time(struct filter *filter, const struct view *view,
			    const struct field *field, const char *value, struct err_text *err)
{
	uint64_t *to = (uint64_t *)((char *)filter + field->offset);
	int r = query_time(view, field->name, value, to, err);

	/* Nothing was born or alive before the start. */
	if (r > 0 && strcmp(field->name, "from"))
		filter->before_start = true;
	return r < 0 ? r : 0;
}

/* Like filter_read_time, but a whole second or millisecond since the epoch extends to its end, so
 * that events within it match. */
static int filter_read_until(struct filter *filter, const struct view *view,
			     const struct field *field, const char *value, struct err_text *err)
{
	double ns;
	uint64_t unit = epoch_time(view, value, &ns);

	if (!unit)
		return filter_read_time(filter, view, field, value, err);
	if (keep_time(ns + (double)(unit - 1), (uint64_t *)((char *)filter + field->offset)) > 0)
		filter->before_start = true;
	return 0;
}

/* Like filter_read_time, for moments other than births and lives: a time before the start becomes
 * 0, and does not exclude everything. */
static int filter_read_moment(struct filter *filter, const struct view *view,
			      const struct field *field, const char *value, struct err_text *err)
{
	int r = query_time(view, field->name, value, (uint64_t *)((char *)filter + field->offset),
			   err);

	return r < 0 ? r : 0;
}

static int filter_read_duration(struct filter *filter, const struct view *view,
				const struct field *field, const char *value, struct err_text *err)
{
	uint64_t *to = (uint64_t *)((char *)filter + field->offset);

	(void)view;
	if (parse_duration(value, to) < 0)
		return err_set(err, -EINVAL,
			       "%s takes a duration (10 or 10s, 4h3m2s, 100ms, 5us), not \"%.60s\"",
			       field->name, value);
	return 0;
}

/* ---- numbers ---- */

static int filter_read_address(struct filter *filter, const struct view *view,
			       const struct field *field, const char *value, struct err_text *err)
{
	(void)view;
	if (parse_u64(value, (uint64_t *)((char *)filter + field->offset)) < 0)
		return err_set(err, -EINVAL,
			       "%s takes an address (140000000000, 0x7f0000001000), not \"%.60s\"",
			       field->name, value);
	return 0;
}

static int filter_read_size(struct filter *filter, const struct view *view,
			    const struct field *field, const char *value, struct err_text *err)
{
	uint64_t *to = (uint64_t *)((char *)filter + field->offset);

	(void)view;
	/* parse_size computes in floating point, so integers are parsed exactly first. */
	if (parse_u64(value, to) < 0 && parse_size(value, to) < 0)
		return err_set(err, -EINVAL, "%s takes a size (4096, 4K, 1.5M), not \"%.60s\"",
			       field->name, value);
	return 0;
}

static int filter_read_number(struct filter *filter, const struct view *view,
			      const struct field *field, const char *value, struct err_text *err)
{
	uint64_t number;

	(void)view;
	if (parse_u64(value, &number) < 0 || number > UINT32_MAX)
		return err_set(err, -EINVAL, "%s takes a number from 0 to %u, not \"%.60s\"",
			       field->name, UINT32_MAX, value);
	*(uint32_t *)((char *)filter + field->offset) = (uint32_t)number;
	return 0;
}

static int filter_read_node(struct filter *filter, const struct view *view,
			    const struct field *field, const char *value, struct err_text *err)
{
	uint32_t nodes = recording_nodes(view_recording(view));
	uint64_t number;

	if (parse_u64(value, &number) < 0 || !number || number > nodes)
		return err_set(err, -EINVAL,
			       "%s takes the id of a backtrace, here 1 to %u, not \"%.60s\"",
			       field->name, nodes, value);
	*(uint32_t *)((char *)filter + field->offset) = (uint32_t)number;
	return 0;
}

static int filter_read_thread(struct filter *filter, const struct view *view,
			      const struct field *field, const char *value, struct err_text *err)
{
	uint32_t threads = recording_threads(view_recording(view));
	uint64_t number;

	(void)field;
	if (parse_u64(value, &number) < 0 || !number || number > threads)
		return err_set(err, -EINVAL,
			       "thread takes the number of a thread, here 1 to %u, not \"%.60s\"",
			       threads, value);
	filter->thread = (uint32_t)number;
	return 0;
}

/* ---- words and expressions ---- */

static int filter_read_lifetime(struct filter *filter, const struct view *view,
				const struct field *field, const char *value, struct err_text *err)
{
	static const struct {
		const char *name;
		enum filter_lifetime lifetime;
	} words[] = {
		{"all", LIFETIME_ALL},
		{"only_leaked", LIFETIME_ONLY_LEAKED},
		{"only_freed", LIFETIME_ONLY_FREED},
		{"only_temporary", LIFETIME_ONLY_FREED}, /* its former name */
		{"only_whole_group_leaked", LIFETIME_ONLY_WHOLE_GROUP_LEAKED},
		{"only_chain_leaked", LIFETIME_ONLY_CHAIN_LEAKED},
		{"only_not_deallocated_in_current_range",
		 LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE},
		{"only_deallocated_in_current_range", LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE},
	};

	(void)view;
	(void)field;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(value, words[i].name)) {
			filter->lifetime = words[i].lifetime;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "lifetime takes " FILTER_LIFETIMES ", not \"%.60s\"", value);
}

static int filter_read_regex(struct filter *filter, const struct view *view,
			     const struct field *field, const char *value, struct err_text *err)
{
	char **to = (char **)((char *)filter + field->offset), *copy;
	struct pattern *pattern;
	int r;

	(void)view;
	r = pattern_new(field->name, value, &pattern, err);
	if (r < 0)
		return r;
	pattern_free(pattern);
	copy = strdup(value);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	free(*to);
	*to = copy;
	return 0;
}

static int keep_text(char **to, const char *value, struct err_text *err)
{
	char *copy = strdup(value);

	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	free(*to);
	*to = copy;
	return 0;
}

static int filter_read_text(struct filter *filter, const struct view *view,
			    const struct field *field, const char *value, struct err_text *err)
{
	(void)view;
	return keep_text((char **)((char *)filter + field->offset), value, err);
}

static bool module_is_there(const struct recording *recording, const char *name)
{
	for (uint32_t n = 1; n <= recording_modules(recording); n++) {
		const struct module_info *m = recording_module(recording, n);

		if (m && m->path &&
		    (!strcmp(m->path, name) || !strcmp(module_basename(m->path), name)))
			return true;
	}
	return false;
}

static int filter_read_module(struct filter *filter, const struct view *view,
			      const struct field *field, const char *value, struct err_text *err)
{
	(void)field;
	if (!module_is_there(view_recording(view), value))
		return err_set(
			err, -EINVAL,
			"module takes the name or path of a program or library of the recording "
			"(libc.so.6, /usr/bin/app), and \"%.60s\" is none",
			value);
	return keep_text(&filter->module, value, err);
}

static int filter_read_answer(struct filter *filter, const struct view *view,
			      const struct field *field, const char *value, struct err_text *err)
{
	enum filter_answer *to = (enum filter_answer *)((char *)filter + field->offset);

	(void)view;
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return err_set(err, -EINVAL, "%s takes yes or no, not \"%.60s\"", field->name,
			       value);
	*to = value[0] == 'y' ? ANSWER_YES : ANSWER_NO;
	return 0;
}

static int filter_read_hide(struct filter *filter, const struct view *view,
			    const struct field *field, const char *value, struct err_text *err)
{
	(void)view;
	return hide_parse(value, field->name, filter, err);
}

static int filter_read_arena(struct filter *filter, const struct view *view,
			     const struct field *field, const char *value, struct err_text *err)
{
	(void)view;
	if (strcmp(value, "main") != 0 && strcmp(value, "non_main") != 0)
		return err_set(err, -EINVAL, "%s takes main or non_main, not \"%.60s\"",
			       field->name, value);
	filter->main_arena = value[0] == 'm' ? ANSWER_YES : ANSWER_NO;
	return 0;
}

static int filter_read_marker(struct filter *filter, const struct view *view,
			      const struct field *field, const char *value, struct err_text *err)
{
	uint64_t number;

	(void)view;
	if (parse_u64(value, &number) < 0 || number > UINT32_MAX)
		return err_set(err, -EINVAL, "%s takes a number from 0 to %u, not \"%.60s\"",
			       field->name, UINT32_MAX, value);
	*(uint64_t *)((char *)filter + field->offset) = number;
	return 0;
}

static int filter_read_count(struct filter *filter, const struct view *view,
			     const struct field *field, const char *value, struct err_text *err)
{
	(void)view;
	if (parse_u64(value, (uint64_t *)((char *)filter + field->offset)) < 0)
		return err_set(err, -EINVAL, "%s takes a whole number, not \"%.60s\"", field->name,
			       value);
	return 0;
}

/* Reads a duration, or a percentage of the recording's duration. */
static int filter_read_interval(struct filter *filter, const struct view *view,
				const struct field *field, const char *value, struct err_text *err)
{
	uint64_t *to = (uint64_t *)((char *)filter + field->offset);
	double ns;

	if (strchr(value, '%') && !percent_time(view, value, &ns)) {
		*to = ns >= 1.8e19 ? UINT64_MAX : (uint64_t)llround(fmin(ns, 9e18));
		return 0;
	}
	if (parse_duration(value, to) < 0)
		return err_set(err, -EINVAL,
			       "%s takes a duration (10 or 10s, 4h3m2s, 100ms) or a part of the "
			       "recording (50%%), "
			       "not \"%.60s\"",
			       field->name, value);
	return 0;
}

/* Reads a number of blocks, or a percentage of the group's. */
static int filter_read_share(struct filter *filter, const struct view *view,
			     const struct field *field, const char *value, struct err_text *err)
{
	struct filter_share *to = (struct filter_share *)((char *)filter + field->offset);
	size_t length = strlen(value);
	bool percent = length && value[length - 1] == '%';
	char number[40];
	double read;

	(void)view;
	if (length >= sizeof(number))
		length = 0;
	memcpy(number, value, length);
	number[length - (percent && length)] = 0;
	if (!plain_number(number, &read) || (!percent && strchr(number, '.')))
		return err_set(err, -EINVAL,
			       "%s takes a whole number (10) or a part of the group's allocations "
			       "(50%%), not \"%.60s\"",
			       field->name, value);
	*to = (struct filter_share){read, percent && read > 0}; /* "0%" is 0 */
	return 0;
}

#define FIELD(type, member, unset, reader, name, takes, about, parts, columns)                     \
	{name,                                                                                     \
	 filter_read_##reader,                                                                     \
	 offsetof(struct filter, member),                                                          \
	 sizeof(type),                                                                             \
	 _Generic((type){0}, char *: true, default: false),                                        \
	 parts,                                                                                    \
	 columns},
static const struct field fields[] = {FILTERS(FIELD)};
#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Former names, for scripts that use one. */
static const struct {
	const char *old, *name;
} renamed[] = {{"freed-at-once", "temporary"}};

/* Compares names; '_' and '-' are the same. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if ((*a == '_' ? '-' : *a) != (*b == '_' ? '-' : *b))
			return false;
	return *a == *b;
}

static const struct field *find_field(const char *name)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (same_name(renamed[i].old, name))
			name = renamed[i].name;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		if (same_name(fields[i].name, name))
			return &fields[i];
	return NULL;
}

int filter_set(struct filter *filter, const struct view *view, const char *name, const char *value,
	       struct err_text *err)
{
	const struct field *found = find_field(name);
	struct field field;
	char said[FILTER_NAME_MAX]; /* messages use the name of the REST API */
	size_t length = 0;

	if (!found)
		return err_set(err, -ENOENT, "no filter is called \"%.60s\"", name);
	for (; name[length] && length < sizeof(said) - 1; length++)
		said[length] = name[length] == '-' ? '_' : name[length];
	said[length] = 0;
	field = *found;
	field.name = said;
	return field.read(filter, view, &field, value, err);
}

static uint64_t filter_number(const struct filter *filter, const struct field *field)
{
	const char *at = (const char *)filter + field->offset;
	return field->size == sizeof(uint32_t) ? *(const uint32_t *)at : *(const uint64_t *)at;
}

int filter_check(const struct filter *filter, struct err_text *err)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const char *name = fields[i].name, *end = strstr(name, "-min");
		const struct field *most;
		char upper[FILTER_NAME_MAX] = "to"; /* the name of the upper bound of "from" */

		if (fields[i].size > sizeof(uint64_t) || (!end && strcmp(name, "from") != 0))
			continue;
		if (end)
			snprintf(upper, sizeof(upper), "%.*s-max", (int)(end - name), name);
		most = find_field(upper);
		if (most && filter_number(filter, &fields[i]) > filter_number(filter, most))
			return err_set(err, -EINVAL,
				       "nothing can be between --%s and --%s: the first is larger",
				       name, upper);
	}
	return 0;
}

/* ---- what is asked ---- */

/* Returns true if the filter has a condition here. `unset` is a filter without conditions. */
static bool is_set(const struct filter *filter, const struct filter *unset,
		   const struct field *field)
{
	return memcmp((const char *)filter + field->offset, (const char *)unset + field->offset,
		      field->size) != 0;
}

unsigned filter_asked(const struct filter *filter)
{
	struct filter unset;
	unsigned parts = 0;

	filter_init(&unset);
	for (size_t i = 0; i < FIELD_COUNT; i++)
		parts |= is_set(filter, &unset, &fields[i]) ? fields[i].parts : 0;
	return parts & ~(unsigned)FILTER_MAPS;
}

unsigned filter_columns(const struct filter *filter)
{
	struct filter unset;
	unsigned columns = 0;

	filter_init(&unset);
	for (size_t i = 0; i < FIELD_COUNT; i++)
		columns |= is_set(filter, &unset, &fields[i]) ? fields[i].columns : 0;
	return columns;
}

unsigned filter_parts_of(const char *name)
{
	const struct field *field = find_field(name);

	return field ? field->parts : 0;
}

int filter_put_key(const struct filter *filter, struct buf *key)
{
	struct filter unset;

	filter_init(&unset);
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const void *value = (const char *)filter + fields[i].offset;
		bool set = fields[i].parts && is_set(filter, &unset, &fields[i]);

		buf_byte(key, set);
		if (set && fields[i].is_text)
			buf_append(key, *(char *const *)value, strlen(*(char *const *)value) + 1);
		else if (set)
			buf_append(key, value, fields[i].size);
	}
	buf_append(key, filter->before_start ? "1" : "0", 1);
	buf_append(key, &filter->one_in, sizeof(filter->one_in));
	suppressions_put_key(filter->suppress, filter->only_suppressed, key);
	return buf_error(key);
}

void filter_init(struct filter *filter)
{
#define UNSET(type, member, unset, ...) .member = unset,
	*filter = (struct filter){FILTERS(UNSET)};
#undef UNSET
}

void filter_done(struct filter *filter)
{
	for (size_t i = 0; i < FIELD_COUNT; i++)
		if (fields[i].is_text)
			free(*(char **)((char *)filter + fields[i].offset));
	free(filter->only);
	filter_init(filter);
}
