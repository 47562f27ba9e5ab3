/* The merged recording has what its parts had at their markers: each kind of block (backtrace and
 * size) as often, each process apart, and estimates with the same error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "proto/stack_columns.h"
#include "collector/query/sums/in_use.h"
#include "collector/snapshot/merge.h"
#include "collector/rewrite/compose.h"
#include "collector/catalogue/snapshots.h"
#include "collector/columns/row_block.h"
#include "collector/derive/recording_parts.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/totals.h"
#include "tests/unit/query/recording.h"
#include "tests/unit/temporary.h"

#define PARTS  4
#define EVENTS 6000

/* A kind of block, and how many there are. */
struct kind {
	char stack[1024]; /* outwards: "libexample.so+0x100;..." */
	uint64_t size, blocks;
};

struct kinds {
	struct kind *list;
	uint32_t count, capacity;
	const struct recording *recording;
};

static void stack_text(const struct recording *r, uint32_t node, char *out, size_t size)
{
	size_t used = 0;

	out[0] = 0;
	for (uint32_t n = node; n && used < size; n = recording_node(r, n)->parent) {
		const struct stack_node *at = recording_node(r, n);
		const struct module_info *module = recording_module(r, at->module);

		used += (size_t)snprintf(out + used, size - used, "%s+%llx;",
					 module ? module_basename(module->path) : "",
					 (unsigned long long)at->offset);
	}
	assert_true(used < size);
}

static int take_kind(void *context, const struct in_use_blocks *b)
{
	struct kinds *k = context;
	struct kind kind = {.size = b->size, .blocks = b->blocks};

	stack_text(k->recording, b->stack, kind.stack, sizeof(kind.stack));
	for (uint32_t i = 0; i < k->count; i++) {
		if (k->list[i].size != kind.size || strcmp(k->list[i].stack, kind.stack) != 0)
			continue;
		k->list[i].blocks += kind.blocks;
		return 0;
	}
	assert_int_equal(array_reserve(&k->list, &k->capacity, k->count + 1, sizeof(kind)), 0);
	k->list[k->count++] = kind;
	return 0;
}

static struct usage add_kinds(struct kinds *k, struct test_recording *t, uint64_t at_ns)
{
	struct usage usage;
	struct filter filter;

	filter_init(&filter);
	k->recording = t->recording;
	assert_int_equal(query_in_use(t->view, &filter, at_ns, take_kind, k, &usage, NULL), 0);
	filter_done(&filter);
	return usage;
}

static int by_kind(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;
	int order = strcmp(x->stack, y->stack);

	return order ? order : (x->size > y->size) - (x->size < y->size);
}

static void assert_kinds_equal(struct kinds *a, struct kinds *b)
{
	qsort(a->list, a->count, sizeof(*a->list), by_kind);
	qsort(b->list, b->count, sizeof(*b->list), by_kind);
	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		assert_string_equal(a->list[i].stack, b->list[i].stack);
		assert_int_equal(a->list[i].size, b->list[i].size);
		assert_int_equal(a->list[i].blocks, b->list[i].blocks);
	}
}

struct part {
	struct test_recording of;
	struct snapshot_member member;
};

/* The same places in all of them, and other blocks. */
static void open_parts(struct part *parts, unsigned sampled)
{
	for (unsigned i = 0; i < PARTS; i++) {
		struct part *p = &parts[i];
		uint64_t half;

		test_random_recording(&p->of, 7 + i, EVENTS, i < sampled);
		half = recording_end_ns(p->of.recording) / (i + 1);
		p->member = (struct snapshot_member){.host = (char *)(uintptr_t) "board",
						     .executable =
							     (char *)(uintptr_t) "/usr/bin/example",
						     .pid = 100 + i,
						     .time_ns = half};
	}
}

static void close_parts(struct part *parts)
{
	for (unsigned i = 0; i < PARTS; i++)
		test_close(&parts[i].of);
}

/* Every other part is read ahead of its turn. */
static int merge_part(struct merge *merge, struct part *part, unsigned number, struct err_text *err)
{
	struct gathered gathered = {0};
	int r;

	if (number % 2)
		assert_int_equal(merge_gather(part->of.view, part->member.time_ns, &gathered, err),
				 0);
	r = merge_add(merge, part->of.view, number % 2 ? &gathered : NULL, 1000 * number,
		      &part->member, err);
	gathered_done(&gathered);
	return r;
}

/* What the merge says of its recording is what whoever reads it finds. */
static void assert_sums(const struct snapshot_sums *sums, const struct stream_id *id,
			const char *path)
{
	struct totals totals = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0 && !fstat(fd, &st));
	assert_int_equal(totals_scan(&totals, id, fd, (uint64_t)st.st_size, NULL), 0);
	assert_int_equal(recording_sum_up_of(path, &totals, NULL), 0);
	assert_int_equal(sums->events, totals.events);
	assert_int_equal(sums->batches + 1, totals.position.next);
	assert_int_equal(sums->last_ns, totals.last_ns);
	assert_int_equal(sums->in_use_bytes, totals.in_use_bytes);
	assert_int_equal(sums->in_use_blocks, totals.in_use_blocks);
	assert_int_equal(totals.summed_bytes, st.st_size);
	assert_string_equal(totals.incomplete, "");
	totals_done(&totals);
	close(fd);
}

/* 1: as merge_add. */
static int merge_parts(struct part *parts, bool exact, struct test_recording *ret)
{
	struct symbols_options options = {0};
	struct stream_id id = {{77}};
	struct err_text err = {0};
	struct snapshot_sums sums;
	struct merge *merge;
	char path[128];
	int fd, r = 0;

	snprintf(path, sizeof(path), "%s/merged.%d", temporary_folder, exact);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(merge_new(fd, &id, "test", 1, exact, &merge, &err), 0);
	for (unsigned i = 0; !r && i < PARTS; i++)
		r = merge_part(merge, &parts[i], i, &err);
	assert_true(r >= 0);
	if (!r)
		assert_int_equal(merge_end(merge, 1000 * PARTS, &sums, &err), 0);
	merge_free(merge);
	close(fd);
	if (r)
		return r;
	assert_int_equal(recording_open(path, NULL, NULL, &ret->recording, &err), 0);
	assert_int_equal(symbols_new(&options, &ret->symbols, &err), 0);
	assert_int_equal(view_new(ret->recording, ret->symbols, &ret->view, &err), 0);
	assert_true(recording_adds_up(ret->recording, &err));
	assert_sums(&sums, &id, path);
	return 0;
}

static struct usage total_of(struct test_recording *t, const char *thread)
{
	struct groups groups;
	struct usage total;
	struct filter filter;

	filter_init(&filter);
	if (thread)
		assert_int_equal(filter_set(&filter, t->view, "thread-name", thread, NULL), 0);
	assert_int_equal(query_groups(t->view, &filter, GROUP_BY_BACKTRACE, VALUE_IN_USE, NO_TIME,
				      &groups, NULL),
			 0);
	total = groups.total;
	groups_done(&groups);
	filter_done(&filter);
	return total;
}

static void assert_parts(struct part *parts, struct test_recording *merged)
{
	for (unsigned i = 0; i < PARTS; i++) {
		const struct snapshot_member *m = &parts[i].member;
		struct usage part;
		char name[64];

		snprintf(name, sizeof(name), "^board/example/%u$", m->pid);
		part = total_of(merged, name);
		assert_int_equal(part.blocks, m->blocks);
		assert_int_equal(part.bytes, m->bytes);
		assert_int_equal(part.samples, m->samples);
		assert_true(part.bytes_error >= 0.999 * m->bytes_error &&
			    part.bytes_error < 1.001 * m->bytes_error + 1e-9);
	}
}

static void counted(void **state)
{
	struct part parts[PARTS];
	struct test_recording merged;
	struct kinds before = {0}, after = {0};
	struct usage sum = {0}, total;

	(void)state;
	open_parts(parts, 0);
	assert_int_equal(merge_parts(parts, true, &merged), 0);
	for (unsigned i = 0; i < PARTS; i++) {
		struct usage usage = add_kinds(&before, &parts[i].of, parts[i].member.time_ns);

		assert_int_equal(usage.bytes, parts[i].member.bytes);
		sum.bytes += usage.bytes;
		sum.blocks += usage.blocks;
	}
	assert_true(sum.blocks > 2 * TEST_LIVE);
	total = add_kinds(&after, &merged, NO_TIME);
	assert_kinds_equal(&before, &after);
	assert_int_equal(total.bytes, sum.bytes);
	assert_int_equal(total.blocks, sum.blocks);
	assert_int_equal(total.samples, 0);
	assert_true(recording_rows(merged.recording) < sum.blocks); /* equal ones share a row */
	total = total_of(&merged, NULL);
	assert_int_equal(total.bytes, sum.bytes);
	assert_int_equal(total.blocks, sum.blocks);
	assert_parts(parts, &merged);
	free(before.list);
	free(after.list);
	test_close(&merged);
	close_parts(parts);
}

/* Whoever has sampled blocks is refused where weights count; else all is as it was. */
static void estimated(void **state)
{
	struct part parts[PARTS];
	struct test_recording merged;
	struct usage total, sum = {0};

	(void)state;
	open_parts(parts, 2);
	assert_int_equal(merge_parts(parts, true, &merged), 1);
	assert_int_equal(merge_parts(parts, false, &merged), 0);
	assert_true(parts[0].member.samples && parts[1].member.samples);
	assert_true(!parts[2].member.samples && !parts[3].member.samples &&
		    !parts[3].member.bytes_error);
	for (unsigned i = 0; i < PARTS; i++) {
		sum.blocks += parts[i].member.blocks;
		sum.bytes += parts[i].member.bytes;
		sum.samples += parts[i].member.samples;
	}
	total = total_of(&merged, NULL);
	/* Each part was rounded. */
	assert_in_range(total.blocks + PARTS - sum.blocks, 0, 2 * PARTS);
	assert_in_range(total.bytes + PARTS - sum.bytes, 0, 2 * PARTS);
	assert_int_equal(total.samples, sum.samples);
	assert_parts(parts, &merged);
	test_close(&merged);
	close_parts(parts);
}

/* A recording whose weights are counts, of one stack with that many blocks. */
static void open_counted(struct test_recording *t, uint64_t blocks)
{
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Origin origin = HEAPCAST__ORIGIN__INIT;
	struct symbols_options options = {0};
	struct stream_id id = {{78}};
	struct composer *c;
	uint32_t node;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/counted", temporary_folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	origin.exact = true;
	process.origin = &origin;
	assert_int_equal(composer_new(fd, &id, &process, &c, NULL), 0);
	assert_int_equal(composer_node(c, 0, 0, COMPOSER_FIRST_PLACE, &node), 0);
	assert_int_equal(composer_blocks(c, 1, node, blocks, 16 * blocks, false), 0);
	assert_int_equal(composer_end(c, NULL, NULL), 0);
	composer_free(c);
	close(fd);
	assert_int_equal(recording_open(path, NULL, NULL, &t->recording, NULL), 0);
	assert_int_equal(symbols_new(&options, &t->symbols, NULL), 0);
	assert_int_equal(view_new(t->recording, t->symbols, &t->view, NULL), 0);
}

/* More blocks in a number than could be told one by one: one event, also beside sampled ones. */
static void beyond_telling(void **state)
{
	const uint64_t blocks = (uint64_t)1 << 50;
	struct snapshot_member member = {.host = (char *)(uintptr_t) "board",
					 .executable = (char *)(uintptr_t) "/bin/x",
					 .time_ns = 1};
	struct stream_id id = {{79}};
	struct test_recording t;
	struct merge *merge;
	char path[128];
	int fd;

	(void)state;
	open_counted(&t, blocks);
	snprintf(path, sizeof(path), "%s/merged", temporary_folder);
	for (unsigned exact = 0; exact < 2; exact++) {
		struct test_recording merged;
		struct symbols_options options = {0};

		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(merge_new(fd, &id, "test", 1, exact, &merge, NULL), 0);
		assert_int_equal(merge_add(merge, t.view, NULL, 0, &member, NULL), 0);
		assert_int_equal(member.blocks, blocks);
		assert_int_equal(merge_end(merge, 1, NULL, NULL), 0);
		merge_free(merge);
		close(fd);
		assert_int_equal(recording_open(path, NULL, NULL, &merged.recording, NULL), 0);
		assert_int_equal(symbols_new(&options, &merged.symbols, NULL), 0);
		assert_int_equal(view_new(merged.recording, merged.symbols, &merged.view, NULL), 0);
		assert_int_equal(total_of(&merged, NULL).blocks, blocks);
		assert_int_equal(recording_rows(merged.recording), 1);
		test_close(&merged);
	}
	test_close(&t);
}

static int count_calls(void *context, const struct in_use_blocks *b)
{
	(void)b;
	++*(unsigned *)context;
	return 0;
}

static void nothing_in_use(void **state)
{
	struct test_recording t;
	struct filter filter;
	struct usage usage = {.blocks = 1};
	unsigned calls = 0;

	(void)state;
	test_random_recording(&t, 3, 100, false);
	filter_init(&filter);
	assert_int_equal(query_in_use(t.view, &filter, 0, count_calls, &calls, &usage, NULL), 0);
	assert_int_equal(calls, 0);
	assert_int_equal(usage.blocks, 0);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(counted),
		TEST_IN_FOLDER(estimated),
		TEST_IN_FOLDER(nothing_in_use),
		TEST_IN_FOLDER(beyond_telling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
