/* What has changed from one snapshot to another. See snapshot_diff.h. */
#include "collector/cli/fleet/snapshot_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/answers/json.h"
#include "collector/answers/results.h"
#include "collector/answers/snapshots.h"
#include "collector/cli/build_id.h"
#include "collector/cli/fleet/snapshot_answers.h"
#include "collector/cli/output.h"
#include "collector/cli/table.h"
#include "collector/cli/terminal.h"
#include "collector/query/query.h"

#include "base/ban.h"

/* A device, or a build: its processes together. */
struct changed {
	char *host;    /* NULL: a build on any host */
	char *program; /* with its folder */
	char build_id[BUILD_ID_TEXT];
	uint64_t base_bytes, now_bytes, base_processes, now_processes;
	int64_t bytes;
};

struct changes {
	struct changed *list;
	size_t count;
};

static void changes_done(struct changes *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->list[i].host);
		free(c->list[i].program);
	}
	free(c->list);
}

static bool is_same(const struct changed *a, const struct changed *b)
{
	if (a->host)
		return !strcmp(a->host, b->host) && !strcmp(a->program, b->program);
	return !strcmp(a->program, b->program) && !strcmp(a->build_id, b->build_id);
}

static struct changed *find_or_add(struct changes *c, const struct changed *key)
{
	struct changed *list;

	/* Members are sorted by host and program, so the last one fits most often. */
	for (size_t i = c->count; i-- > 0;)
		if (is_same(key, &c->list[i]))
			return &c->list[i];
	list = reallocarray(c->list, c->count + 1, sizeof(*list));
	if (!list)
		return NULL;
	c->list = list;
	list[c->count] = *key;
	list[c->count].host = key->host ? strdup(key->host) : NULL;
	list[c->count].program = strdup(key->program);
	if ((key->host && !list[c->count].host) || !list[c->count].program)
		return NULL;
	return &list[c->count++];
}

static int add_members(struct changes *c, const struct snapshot *s, bool by_host, bool is_base)
{
	for (size_t i = 0; i < s->count && !s->members[i].missing; i++) {
		const struct snapshot_member *m = &s->members[i];
		struct changed key = {.host = by_host ? m->host : NULL, .program = m->executable};
		struct changed *row;

		if (m->build_id_length)
			build_id_format(key.build_id, m->build_id, m->build_id_length);
		row = find_or_add(c, &key);
		if (!row)
			return -ENOMEM;
		if (is_base) {
			row->base_bytes += m->bytes;
			row->base_processes++;
		} else {
			row->now_bytes += m->bytes;
			row->now_processes++;
		}
	}
	return 0;
}

static int most_change_first(const void *a, const void *b)
{
	const struct changed *x = a, *y = b;
	uint64_t p = x->bytes < 0 ? 0 - (uint64_t)x->bytes : (uint64_t)x->bytes,
		 q = y->bytes < 0 ? 0 - (uint64_t)y->bytes : (uint64_t)y->bytes;
	int r;

	if (p != q)
		return p > q ? -1 : 1;
	r = strcmp(x->host ? x->host : "", y->host ? y->host : "");
	r = r ? r : strcmp(x->program, y->program);
	return r ? r : strcmp(x->build_id, y->build_id);
}

static int find_changes(struct changes *c, const struct snapshot *base, const struct snapshot *now,
			bool by_host)
{
	int r = add_members(c, base, by_host, true);

	if (!r)
		r = add_members(c, now, by_host, false);
	for (size_t i = 0; i < c->count; i++)
		c->list[i].bytes = (int64_t)(c->list[i].now_bytes - c->list[i].base_bytes);
	if (!r && c->count)
		qsort(c->list, c->count, sizeof(*c->list), most_change_first);
	return r;
}

/* ---- as text ---- */

static const char *signed_bytes(char out[40], int64_t bytes)
{
	char size[32];

	snprintf(out, 40, "%c%s", bytes < 0 ? '-' : '+',
		 format_size(size, bytes < 0 ? -(double)bytes : (double)bytes));
	return out;
}

/* "was 3.1 MiB", or what came and went. */
static void print_was(const struct changed *c)
{
	char was[32], is[32];

	if (!c->base_processes)
		printf("  new, %s", format_size(is, (double)c->now_bytes));
	else if (!c->now_processes)
		printf("  gone, was %s", format_size(was, (double)c->base_bytes));
	else
		printf("  %s, was %s", format_size(is, (double)c->now_bytes),
		       format_size(was, (double)c->base_bytes));
}

static void print_changes(const struct changes *c, const char *title, uint64_t count)
{
	char bytes[40];

	terminal_heading(title);
	for (size_t i = 0; i < c->count && i < count; i++) {
		const struct changed *row = &c->list[i];

		printf("%11s  ", signed_bytes(bytes, row->bytes));
		if (row->host) {
			terminal_text(STYLE_PLAIN, row->host, 24);
			printf("  ");
		}
		terminal_text(STYLE_PLAIN, module_basename(row->program), 24);
		if (!row->host && *row->build_id)
			printf("  %.8s", row->build_id);
		print_was(row);
		putchar('\n');
	}
	if (c->count > count)
		printf("and %zu more (--count)\n", (size_t)(c->count - count));
}

static void print_functions(const struct diff *d, uint64_t count)
{
	char bytes[40];

	terminal_heading("By function");
	if (!d->count)
		printf("None differs.\n");
	for (size_t i = 0; i < d->count && i < count; i++) {
		printf("%11s  ", signed_bytes(bytes, d->list[i].bytes));
		terminal_name(STYLE_PLAIN, d->list[i].function ? d->list[i].function : "?",
			      terminal_width() - 13);
		putchar('\n');
	}
	if (d->count > count)
		printf("and %zu more (--count)\n", (size_t)(d->count - count));
}

/* ---- as JSON ---- */

#define ANSWER_OF struct changed
static const struct answer_field changed_fields[] = {
	ROW("host", host, NULL, "absent for a build", .when = IF_SET),
	ROW("executable", program, NULL, ""),
	ROW_AS("build_id", build_id, ANSWER_CHARS, NULL, "of the program", .when = IF_TEXT),
	ROW("bytes", bytes, "bytes", "the change"),
	ROW("base_bytes", base_bytes, "bytes", "in use in the base"),
	ROW("now_bytes", now_bytes, "bytes", "in use now"),
	ROW("base_processes", base_processes, NULL, "0: it is new"),
	ROW("now_processes", now_processes, NULL, "0: it is gone, or missing in the snapshot"),
	{0},
};
#undef ANSWER_OF
static const struct answer changed_answer = {"snapshot_change", changed_fields};

struct told_diff {
	const char *base, *now;
	size_t base_incomplete, incomplete;
	struct changes devices, builds;
	struct diff functions; /* lent */
};

static void told_diff_done(struct told_diff *t)
{
	changes_done(&t->devices);
	changes_done(&t->builds);
}

#define ANSWER_OF struct told_diff
static const struct answer_field told_diff_fields[] = {
	ROW("base_name", base, NULL, "name of the snapshot that is compared with"),
	ROW("name", now, NULL, "name of the other snapshot"),
	ROW("base_incomplete_processes", base_incomplete, "processes",
	    "in the base, whose recording lacked something: more may have been in use"),
	ROW("incomplete_processes", incomplete, "processes", "the same in the other snapshot"),
	ROW_LIST("devices", devices.list, devices.count, changed_answer,
		 "a program on a host each, greatest change first"),
	ROW_LIST("builds", builds.list, builds.count, changed_answer, "greatest change first"),
	ROWS_OF(diff_answer, functions),
	{0},
};
#undef ANSWER_OF
const struct answer snapshot_diff_answer = {"snapshot_diff", told_diff_fields};

static int show_text(const struct told_diff *t, const struct snapshot *base,
		     const struct snapshot *now, uint64_t count)
{
	char bytes[40], was[32], is[32];

	printf("From %s to %s: %s, %s in %zu processes, was %s in %zu\n", base->name, now->name,
	       signed_bytes(bytes, t->functions.bytes),
	       format_size(is, (double)t->functions.now.bytes), now->count - now->missing,
	       format_size(was, (double)t->functions.base.bytes), base->count - base->missing);
	if (base->missing || now->missing)
		terminal_say(STYLE_YELLOW, 0, "Missing: %zu in %s, %zu in %s", base->missing,
			     base->name, now->missing, now->name);
	if (t->base_incomplete || t->incomplete)
		terminal_say(STYLE_YELLOW, 0,
			     "Incomplete, so that a change may be none: %zu in %s, %zu in %s "
			     "('snapshot show' says which)",
			     t->base_incomplete, base->name, t->incomplete, now->name);
	print_changes(&t->devices, "By device", count);
	print_changes(&t->builds, "By build", count);
	print_functions(&t->functions, count);
	return EXIT_DONE;
}

int snapshot_diff_show(struct command_call *call, const struct snapshot *base,
		       const struct snapshot *now, struct diff *functions, uint64_t count,
		       bool json)
{
	cleanup(told_diff_done) struct told_diff told = {.base = base->name,
							 .now = now->name,
							 .base_incomplete =
								 snapshot_incomplete(base),
							 .incomplete = snapshot_incomplete(now)};
	struct err_text err = {0};
	int r = find_changes(&told.devices, base, now, true);

	if (!r)
		r = find_changes(&told.builds, base, now, false);
	if (r < 0)
		return command_fault(call->command, r, &err);
	snapshot_sort_diff(functions);
	told.functions = *functions;
	if (json)
		return output_answer(call->command, stdout, &snapshot_diff_answer, &told);
	return show_text(&told, base, now, count);
}
