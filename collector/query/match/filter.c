/*
 * Parses filters: a table of names, each with the function that reads its value. matcher.c does the
 * matching.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/pattern.h"
#include "collector/query/query.h"
#include "collector/query/match/view.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define TIME_FORMS                                                                                 \
	"seconds since the start (10, 1.5s, 4h3m2s, 100ms), a part of the recording (50%%), "      \
	"or seconds or milliseconds since the epoch"

struct field {
	const char *name; /* with '_' */
	int (*read)(struct filter *filter, const struct view *view, const struct field *field,
		    const char *value, struct err_text *err);
	size_t offset;
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
	if (!plain_number(number, &value))
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

/* Nanoseconds since the start, negative before it. */
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

static int read_time(struct filter *filter, const struct view *view, const struct field *field,
		     const char *value, struct err_text *err)
{
	uint64_t *to = (uint64_t *)((char *)filter + field->offset);
	int r = query_time(view, field->name, value, to, err);

	/* Before the start nothing was born and nothing was alive. */
	if (r > 0 && strcmp(field->name, "from"))
		filter->before_start = true;
	return r < 0 ? r : 0;
}

/* Like read_time, but a whole second or millisecond since the epoch extends to its end, so that
 * events within it match. */
static int read_until(struct filter *filter, const struct view *view, const struct field *field,
		      const char *value, struct err_text *err)
{
	double ns;
	uint64_t unit = epoch_time(view, value, &ns);

	if (!unit)
		return read_time(filter, view, field, value, err);
	if (keep_time(ns + (double)(unit - 1), (uint64_t *)((char *)filter + field->offset)) > 0)
		filter->before_start = true;
	return 0;
}

/* Like read_time, for moments other than births and lives: a time before the start becomes 0, and
 * does not exclude everything. */
static int read_moment(struct filter *filter, const struct view *view, const struct field *field,
		       const char *value, struct err_text *err)
{
	int r = query_time(view, field->name, value, (uint64_t *)((char *)filter + field->offset),
			   err);

	return r < 0 ? r : 0;
}

static int read_duration(struct filter *filter, const struct view *view, const struct field *field,
			 const char *value, struct err_text *err)
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

static int read_address(struct filter *filter, const struct view *view, const struct field *field,
			const char *value, struct err_text *err)
{
	(void)view;
	if (parse_u64(value, (uint64_t *)((char *)filter + field->offset)) < 0)
		return err_set(err, -EINVAL,
			       "%s takes an address (140000000000, 0x7f0000001000), not \"%.60s\"",
			       field->name, value);
	return 0;
}

static int read_size(struct filter *filter, const struct view *view, const struct field *field,
		     const char *value, struct err_text *err)
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

static int read_node(struct filter *filter, const struct view *view, const struct field *field,
		     const char *value, struct err_text *err)
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

static int read_thread(struct filter *filter, const struct view *view, const struct field *field,
		       const char *value, struct err_text *err)
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

static int read_lifetime(struct filter *filter, const struct view *view, const struct field *field,
			 const char *value, struct err_text *err)
{
	static const struct {
		const char *name;
		enum filter_lifetime lifetime;
	} words[] = {
		{"all", LIFETIME_ALL},
		{"only_leaked", LIFETIME_ONLY_LEAKED},
		{"only_freed", LIFETIME_ONLY_TEMPORARY},
		{"only_temporary", LIFETIME_ONLY_TEMPORARY}, /* its former name */
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

static int read_regex(struct filter *filter, const struct view *view, const struct field *field,
		      const char *value, struct err_text *err)
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

static int read_module(struct filter *filter, const struct view *view, const struct field *field,
		       const char *value, struct err_text *err)
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

static int read_arena(struct filter *filter, const struct view *view, const struct field *field,
		      const char *value, struct err_text *err)
{
	(void)view;
	if (strcmp(value, "main") != 0 && strcmp(value, "non_main") != 0)
		return err_set(err, -EINVAL, "%s takes main or non_main, not \"%.60s\"",
			       field->name, value);
	filter->main_arena = value[0] == 'm' ? ANSWER_YES : ANSWER_NO;
	return 0;
}

static int read_marker(struct filter *filter, const struct view *view, const struct field *field,
		       const char *value, struct err_text *err)
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

/* A duration, or a percentage of the recording's duration. */
static int read_interval(struct filter *filter, const struct view *view, const struct field *field,
			 const char *value, struct err_text *err)
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

/* A number of blocks, or a percentage of the group's. */
static int read_share(struct filter *filter, const struct view *view, const struct field *field,
		      const char *value, struct err_text *err)
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
	*to = (struct filter_share){read, percent};
	return 0;
}

#define AT(field) offsetof(struct filter, field)

static const struct field fields[] = {
	{"from", read_time, AT(from_ns)},
	{"to", read_until, AT(to_ns)},
	{"lifetime", read_lifetime, 0},
	{"address_min", read_address, AT(address_min)},
	{"address_max", read_address, AT(address_max)},
	{"size_min", read_size, AT(size_min)},
	{"size_max", read_size, AT(size_max)},
	{"lifetime_min", read_duration, AT(lifetime_min_ns)},
	{"lifetime_max", read_duration, AT(lifetime_max_ns)},
	{"backtrace_depth_min", filter_read_number, AT(depth_min)},
	{"backtrace_depth_max", filter_read_number, AT(depth_max)},
	{"backtraces", read_node, AT(backtrace)},
	{"deallocation_backtraces", read_node, AT(deallocation_backtrace)},
	{"function_regex", read_regex, AT(function_regex)},
	{"source_regex", read_regex, AT(source_regex)},
	{"negative_function_regex", read_regex, AT(negative_function_regex)},
	{"negative_source_regex", read_regex, AT(negative_source_regex)},
	{"alive_at", read_time, AT(alive_at_ns)},
	{"alive_at_2", read_time, AT(alive_at_2_ns)},
	{"thread", read_thread, 0},
	{"thread_name", read_regex, AT(thread_name)},
	{"module", read_module, 0},
	{"tag", filter_read_text, AT(tag)},
	{"temporary", filter_read_answer, AT(freed_at_once)},
	{"freed_at_once", filter_read_answer, AT(freed_at_once)}, /* its former name */
	{"mmaped", filter_read_answer, AT(mmaped)},
	{"arena", read_arena, 0},
	{"jemalloc", filter_read_answer, AT(jemalloc)},
	{"marker", read_marker, AT(marker)},
	{"from_map", read_marker, AT(from_map)},
	{"hide", filter_read_answer, AT(hide)},
	{"first_size_min", read_size, AT(first_size_min)},
	{"first_size_max", read_size, AT(first_size_max)},
	{"last_size_min", read_size, AT(last_size_min)},
	{"last_size_max", read_size, AT(last_size_max)},
	{"chain_length_min", filter_read_count, AT(chain_length_min)},
	{"chain_length_max", filter_read_count, AT(chain_length_max)},
	{"chain_lifetime_min", read_duration, AT(chain_lifetime_min_ns)},
	{"chain_lifetime_max", read_duration, AT(chain_lifetime_max_ns)},
	{"position_in_chain_min", filter_read_count, AT(position_min)},
	{"position_in_chain_max", filter_read_count, AT(position_max)},
	{"group_interval_min", read_interval, AT(group_interval_min_ns)},
	{"group_interval_max", read_interval, AT(group_interval_max_ns)},
	{"group_allocations_min", filter_read_count, AT(group_allocations_min)},
	{"group_allocations_max", filter_read_count, AT(group_allocations_max)},
	{"group_leaked_allocations_min", read_share, AT(group_leaked_min)},
	{"group_leaked_allocations_max", read_share, AT(group_leaked_max)},
	{"group_max_total_usage_first_seen_min", read_moment, AT(group_peak_min_ns)},
	{"group_max_total_usage_first_seen_max", read_moment, AT(group_peak_max_ns)},
};

static bool same_name(const char *field, const char *name)
{
	for (; *field && *name; field++, name++)
		if (*field != (*name == '-' ? '_' : *name))
			return false;
	return *field == *name;
}

int filter_set(struct filter *filter, const struct view *view, const char *name, const char *value,
	       struct err_text *err)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (same_name(fields[i].name, name))
			return fields[i].read(filter, view, &fields[i], value, err);
	return err_set(err, -ENOENT, "no filter is called \"%.60s\"", name);
}

struct row_bits *row_bits_new(uint64_t rows)
{
	struct row_bits *bits = calloc(1, sizeof(*bits) + rows / 8 + 1);

	if (bits)
		bits->rows = rows;
	return bits;
}

void filter_init(struct filter *filter)
{
	*filter = (struct filter){
		.to_ns = UINT64_MAX,
		.address_max = UINT64_MAX,
		.size_max = UINT64_MAX,
		.lifetime_max_ns = UINT64_MAX,
		.depth_max = UINT32_MAX,
		.alive_at_ns = NO_TIME,
		.alive_at_2_ns = NO_TIME,
		.marker = NO_MARKER,
		.from_map = NO_MARKER,
		.first_size_max = UINT64_MAX,
		.last_size_max = UINT64_MAX,
		.chain_lifetime_max_ns = UINT64_MAX,
		.chain_length_max = UINT64_MAX,
		.position_max = UINT64_MAX,
		.group_interval_max_ns = UINT64_MAX,
		.group_allocations_max = UINT64_MAX,
		.group_leaked_max.number = -1,
		.group_peak_max_ns = UINT64_MAX,
	};
}

void filter_done(struct filter *filter)
{
#define X(text) free(filter->text);
	FILTER_TEXTS(X)
#undef X
	free(filter->only);
	filter_init(filter);
}
