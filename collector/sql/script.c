/* Formats filters as SQL, for allocation_filter_to_script and map_filter_to_script of the REST API.
 * See sql.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "collector/query/query.h"
#include "collector/recording/row_reader.h"
#include "collector/sql/sql.h"

#include "base/ban.h"

/* The names of corresponding columns in the two tables. */
struct words {
	const char *birth, *death, *lifetime, *thread_name, *leaked, *freed, *death_stack;
};

static const struct words of_allocations = {
	.birth = "birth_ns",
	.death = "death_ns",
	.lifetime = "lifetime_ns",
	.thread_name = "coalesce(thread_name, '')",
	.leaked = "leaked = 1",
	.freed = "freed = 1",
	.death_stack = "death_stack",
};

static const struct words of_maps = {
	.birth = "mapped_ns",
	.death = "unmapped_ns",
	.lifetime = "(coalesce(unmapped_ns, (select end_ns from recording)) - mapped_ns)",
	.thread_name =
		"coalesce((select name from threads where threads.thread = maps.thread), '')",
	.leaked = "unmapped_ns is null",
	.freed = "unmapped_ns is not null",
	.death_stack = "end_stack",
};

struct text {
	struct buf *out;
	const struct words *words;
	bool some;
};

static void script_add(struct text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void script_add(struct text *t, const char *format, ...)
{
	va_list args;

	buf_string(t->out, t->some ? " and " : "");
	t->some = true;
	va_start(args, format);
	buf_vprintf(t->out, format, args);
	va_end(args);
}

static void add_quoted(struct text *t, const char *before, const char *text, const char *after)
{
	script_add(t, "%s'", before);
	for (; *text; text++) {
		if (*text == '\'')
			buf_byte(t->out, '\'');
		buf_byte(t->out, (uint8_t)*text);
	}
	buf_printf(t->out, "'%s", after);
}

/* Appends a range. SQLite's integers end at INT64_MAX, and so do the numbers of the tables. */
static void add_range(struct text *t, const char *column, uint64_t min, uint64_t max)
{
	if (min)
		script_add(t, "%s >= %" PRIu64, column, min < INT64_MAX ? min : INT64_MAX);
	if (max < INT64_MAX)
		script_add(t, "%s <= %" PRIu64, column, max);
}

static void add_answer(struct text *t, const char *column, enum filter_answer answer)
{
	if (answer != ANSWER_ANY)
		script_add(t, "%s = %d", column, answer == ANSWER_YES);
}

static void add_alive(struct text *t, uint64_t at_ns)
{
	const char *birth = t->words->birth, *death = t->words->death;

	if (at_ns < INT64_MAX)
		script_add(t, "%s <= %" PRIu64 " and (%s is null or %s > %" PRIu64 ")", birth,
			   at_ns, death, death, at_ns);
}

static void add_lifetime(struct text *t, const struct filter *f)
{
	const struct words *w = t->words;
	uint64_t to = f->to_ns < INT64_MAX ? f->to_ns : INT64_MAX;

	switch (f->lifetime) {
	case LIFETIME_ALL:
		break;
	case LIFETIME_ONLY_LEAKED:
		script_add(t, "%s", w->leaked);
		break;
	case LIFETIME_ONLY_FREED:
		script_add(t, "%s", w->freed);
		break;
	case LIFETIME_ONLY_WHOLE_GROUP_LEAKED:
		script_add(t,
			   "%s and stack in (select stack from stacks where row_blocks = "
			   "leaked_blocks)",
			   w->leaked);
		break;
	case LIFETIME_ONLY_CHAIN_LEAKED:
		script_add(t, "chain_leaked = 1");
		break;
	case LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE:
		script_add(t, "(%s and %s between %" PRIu64 " and %" PRIu64 ") is not true",
			   w->freed, w->death, f->from_ns, to);
		break;
	case LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE:
		script_add(t, "%s and %s between %" PRIu64 " and %" PRIu64, w->freed, w->death,
			   f->from_ns, to);
		break;
	}
}

static void add_stack(struct text *t, const struct filter *f)
{
	if (f->backtrace)
		script_add(t, "stack = %u", f->backtrace);
	if (f->deallocation_backtrace)
		script_add(t, "%s = %u", t->words->death_stack, f->deallocation_backtrace);
	add_range(t, "depth(stack)", f->depth_min,
		  f->depth_max == UINT32_MAX ? UINT64_MAX : f->depth_max);
	if (f->function_regex)
		add_quoted(t, "through(stack, ", f->function_regex, ")");
	if (f->source_regex)
		add_quoted(t, "through_source(stack, ", f->source_regex, ")");
	if (f->negative_function_regex)
		add_quoted(t, "not through(stack, ", f->negative_function_regex, ")");
	if (f->negative_source_regex)
		add_quoted(t, "not through_source(stack, ", f->negative_source_regex, ")");
	if (f->module)
		add_quoted(t, "through_module(stack, ", f->module, ")");
}

static void add_origin(struct text *t, const struct filter *f)
{
	if (f->tag)
		add_quoted(t, "label = ", f->tag, "");
	add_answer(t, "freed_at_once", f->freed_at_once);
	add_answer(t, "mmaped", f->mmaped);
	add_answer(t, "main_arena", f->main_arena);
	add_answer(t, "coalesce(jemalloc, 0)", f->jemalloc);
	if (f->marker != NO_MARKER)
		script_add(t, "marker = %" PRIu64, f->marker);
	if (f->from_map != NO_MARKER)
		script_add(t, "map = %" PRIu64, f->from_map);
}

static void add_chain(struct text *t, const struct filter *f)
{
	add_range(t, "first_size", f->first_size_min, f->first_size_max);
	add_range(t, "last_size", f->last_size_min, f->last_size_max);
	add_range(t, "chain_length", f->chain_length_min, f->chain_length_max);
	add_range(t, "chain_lifetime_ns", f->chain_lifetime_min_ns, f->chain_lifetime_max_ns);
	add_range(t, "chain_position", f->position_min, f->position_max);
}

static void add_share(struct text *t, const char *compare, const struct filter_share *share)
{
	if (share->percent)
		script_add(t, "leaked_blocks * 100.0 %s row_blocks * %.17g", compare,
			   share->number);
	else
		script_add(t, "leaked_blocks %s %.17g", compare, share->number);
}

/* Appends conditions on all blocks of the same backtrace. */
static void add_group(struct text *t, const struct filter *f)
{
	struct text group = {.out = t->out, .words = t->words};
	size_t before = t->out->length, begun;

	script_add(t, "stack in (select stack from stacks where row_blocks > 0");
	begun = t->out->length;
	group.some = true;
	add_range(&group, "(last_ns - first_ns)", f->group_interval_min_ns,
		  f->group_interval_max_ns);
	add_range(&group, "row_blocks", f->group_allocations_min, f->group_allocations_max);
	add_range(&group, "peak_ns", f->group_peak_min_ns, f->group_peak_max_ns);
	if (f->group_leaked_min.number > 0)
		add_share(&group, ">=", &f->group_leaked_min);
	if (f->group_leaked_max.number >= 0)
		add_share(&group, "<=", &f->group_leaked_max);
	if (t->out->length == begun) {
		t->out->length = before;
		t->some = before != 0;
	} else {
		buf_string(t->out, ")");
	}
}

int sql_of_filter(const struct recording *recording, const struct filter *f, bool maps,
		  struct buf *out)
{
	struct buf condition = {0};
	struct text t = {.out = &condition, .words = maps ? &of_maps : &of_allocations};
	char name[128];
	int r;

	if (f->before_start)
		script_add(&t, "0");
	add_range(&t, t.words->birth, f->from_ns, f->to_ns);
	add_lifetime(&t, f);
	add_range(&t, "address", f->address_min, f->address_max);
	add_range(&t, "size", f->size_min, f->size_max);
	add_range(&t, t.words->lifetime, f->lifetime_min_ns, f->lifetime_max_ns);
	add_stack(&t, f);
	add_alive(&t, f->alive_at_ns);
	add_alive(&t, f->alive_at_2_ns);
	if (f->thread)
		script_add(&t, "thread = %u", f->thread);
	if (f->thread_name) {
		snprintf(name, sizeof(name), "%s regexp ", t.words->thread_name);
		add_quoted(&t, name, f->thread_name, "");
	}
	if (!maps) {
		if (recording_survivors(recording) && !filter_asks_alive(f))
			script_add(&t, "not survivor");
		add_origin(&t, f);
		add_chain(&t, f);
		add_group(&t, f);
	}
	r = buf_error(&condition);
	if (!r)
		buf_append(out, condition.length ? condition.data : (const uint8_t *)"1",
			   condition.length ? condition.length : 1);
	buf_done(&condition);
	return r ? r : buf_error(out);
}
