/*
 * Every answer against one computed naively from the same rows: totals, peak, groups, tree, in use at a moment, orders and pages,
 * for random recordings, some with threads that tell late and with losses, random filters, and any number of threads that share
 * pieces of the rows. HEAPCAST_TEST_FULL: thousands of them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/crew.h"
#include "collector/query/history.h"
#include "collector/query/sweep.h"
#include "collector/query/view.h"
#include "collector/store/pairing.h"
#include "tests/unit/query/naive.h"

#define ROUNDS	    24
#define ROUNDS_FULL 1500
#define EVENTS	    400

/* ---- the naive side ---- */

struct naive {
	struct naive_rows rows;
	struct recording *recording;
};

static void naive_init(struct naive *n, struct recording *recording)
{
	n->recording = recording;
	naive_rows_init(&n->rows, recording);
	assert_int_equal(n->rows.count, recording_rows(recording));
}

static uint32_t depth(const struct naive *n, uint32_t node)
{
	return node ? 1 + depth(n, recording_node(n->recording, node)->parent) : 0;
}

static bool whole_group_leaked(const struct naive *n, uint32_t stack)
{
	for (size_t i = 0; i < n->rows.count; i++)
		if (n->rows.list[i].stack == stack && n->rows.list[i].end != BLOCK_IN_USE)
			return false;
	return true;
}

static bool lifetime_fits(const struct naive *n, const struct naive_row *r, const struct filter *f)
{
	bool in_range = naive_freed(r) && r->death >= f->from_ns && r->death <= f->to_ns;
	const struct naive_row *last = r;

	switch (f->lifetime) {
	case LIFETIME_ALL:
		return true;
	case LIFETIME_ONLY_LEAKED:
		return r->end == BLOCK_IN_USE;
	case LIFETIME_ONLY_TEMPORARY:
		return naive_freed(r);
	case LIFETIME_ONLY_WHOLE_GROUP_LEAKED:
		return whole_group_leaked(n, r->stack);
	case LIFETIME_ONLY_CHAIN_LEAKED:
		while (last->next != NO_BLOCK)
			last = &n->rows.list[last->next];
		return last->end == BLOCK_IN_USE;
	case LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE:
		return !in_range;
	case LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE:
		return in_range;
	}
	return false;
}

static const struct naive_row *end_of_chain(const struct naive *n, const struct naive_row *r, bool last)
{
	for (uint64_t next; (next = last ? r->next : r->previous) != NO_BLOCK;)
		r = &n->rows.list[next];
	return r;
}

static uint64_t length_of_chain(const struct naive *n, const struct naive_row *r)
{
	uint64_t length = 1;

	for (r = end_of_chain(n, r, false); r->next != NO_BLOCK; length++)
		r = &n->rows.list[r->next];
	return length;
}

static uint64_t position_in_chain(const struct naive *n, const struct naive_row *r)
{
	uint64_t position = 0;

	for (; r->previous != NO_BLOCK; position++)
		r = &n->rows.list[r->previous];
	return position;
}

static bool chain_fits(const struct naive *n, const struct naive_row *r, const struct filter *f)
{
	const struct naive_row *first = end_of_chain(n, r, false), *last = end_of_chain(n, r, true);
	uint64_t length = length_of_chain(n, r), position = position_in_chain(n, r),
		 end = last->death == NO_TIME ? n->rows.end_ns : last->death, lived = end - first->birth;

	return first->size >= f->first_size_min && first->size <= f->first_size_max &&
	       last->size >= f->last_size_min && last->size <= f->last_size_max && length >= f->chain_length_min &&
	       length <= f->chain_length_max && position >= f->position_min && position <= f->position_max &&
	       lived >= f->chain_lifetime_min_ns && lived <= f->chain_lifetime_max_ns;
}

/* Of recordings without samples. */
static bool group_fits(const struct naive *n, const struct naive_row *r, const struct filter *f)
{
	uint64_t first = UINT64_MAX, last = 0, blocks = 0, leaked = 0;

	for (size_t i = 0; i < n->rows.count; i++) {
		const struct naive_row *other = &n->rows.list[i];

		if (other->stack != r->stack)
			continue;
		first = other->birth < first ? other->birth : first;
		last = other->birth > last ? other->birth : last;
		blocks++;
		leaked += other->end == BLOCK_IN_USE;
	}
	return last - first >= f->group_interval_min_ns && last - first <= f->group_interval_max_ns &&
	       blocks >= f->group_allocations_min && blocks <= f->group_allocations_max &&
	       (double)leaked >= f->group_leaked_min.number * (double)blocks / 100;
}

/* Its thread's next row tells. */
static bool freed_at_once(const struct naive *n, const struct naive_row *r)
{
	const struct naive_row *next = r + 1, *end = n->rows.list + n->rows.count;

	while (next < end && next->thread != r->thread)
		next++;
	if (r->end != BLOCK_FREED && r->end != BLOCK_REALLOCATED)
		return false;
	if (next == end || next->birth != r->death)
		return next == end || next->birth > r->death;
	return next->address == r->address || (uint64_t)(next - n->rows.list) == r->next;
}

static bool fits(const struct naive *n, const struct naive_row *r, const struct filter *f)
{
	uint64_t lived =
		(r->death == NO_TIME ? recording_end_ns(n->recording) : r->death) - r->birth;

	return r->birth >= f->from_ns && r->birth <= f->to_ns && r->size >= f->size_min &&
	       r->size <= f->size_max && r->address >= f->address_min &&
	       r->address <= f->address_max && lived >= f->lifetime_min_ns &&
	       lived <= f->lifetime_max_ns && depth(n, r->stack) >= f->depth_min &&
	       depth(n, r->stack) <= f->depth_max && (!f->backtrace || r->stack == f->backtrace) &&
	       (!f->thread || r->thread == f->thread) &&
	       (!f->deallocation_backtrace || r->death_stack == f->deallocation_backtrace) &&
	       (f->alive_at_ns == NO_TIME || naive_alive(r, f->alive_at_ns)) &&
	       (f->alive_at_2_ns == NO_TIME || naive_alive(r, f->alive_at_2_ns)) &&
	       (f->freed_at_once == ANSWER_ANY || freed_at_once(n, r) == (f->freed_at_once == ANSWER_YES)) &&
	       lifetime_fits(n, r, f) && chain_fits(n, r, f) && group_fits(n, r, f);
}

static bool counts(const struct naive_row *r, enum value value, uint64_t at)
{
	switch (value) {
	case VALUE_ALLOCATED:
		return true;
	case VALUE_LEAKED:
		return r->end == BLOCK_IN_USE;
	case VALUE_TEMPORARY:
		return naive_freed(r);
	default:
		return naive_alive(r, at);
	}
}

/* Sum over matched rows of one stack (or all: stack UINT32_MAX). */
static struct usage sum(const struct naive *n, const struct filter *f, enum value value,
			uint64_t at, uint32_t stack)
{
	double blocks = 0, bytes = 0;
	struct usage usage = {0};

	for (size_t i = 0; i < n->rows.count; i++) {
		const struct naive_row *r = &n->rows.list[i];
		double s = r->size ? (double)r->size : 1,
		       w = r->weight > r->size ? (double)r->weight : s;

		if ((stack != UINT32_MAX && r->stack != stack) || !fits(n, r, f) ||
		    !counts(r, value, at))
			continue;
		blocks += w / s;
		bytes += r->size ? w : 0;
	}
	usage.blocks = (uint64_t)(blocks + 0.5);
	usage.bytes = (uint64_t)(bytes + 0.5);
	return usage;
}

static uint64_t naive_peak(const struct naive *n)
{
	struct filter all;
	uint64_t best = 0, best_ns = 0;

	filter_init(&all);
	for (uint64_t pass = 0; pass < n->rows.count; pass++) {
		uint64_t at = n->rows.list[pass].birth,
			 bytes = sum(n, &all, VALUE_IN_USE, at, UINT32_MAX).bytes;

		if (bytes > best || (bytes == best && at < best_ns)) {
			best = bytes;
			best_ns = at;
		}
	}
	return best_ns;
}

static void equal_usage(const struct usage *got, const struct usage *wanted)
{
	assert_in_range(got->bytes + 1, wanted->bytes, wanted->bytes + 2);
	assert_in_range(got->blocks + 1, wanted->blocks, wanted->blocks + 2);
}

/* ---- questions ---- */

static void random_chain_filter(struct filter *f, uint64_t *random)
{
	switch (test_random(random) % 10) {
	case 0:
		f->first_size_min = test_random(random) % 300;
		break;
	case 1:
		f->last_size_max = test_random(random) % 3000;
		break;
	case 2:
		f->chain_length_min = test_random(random) % 4;
		break;
	case 3:
		f->chain_length_max = test_random(random) % 4;
		break;
	case 4:
		f->position_min = test_random(random) % 3;
		f->position_max = f->position_min + test_random(random) % 2;
		break;
	case 5:
		f->chain_lifetime_min_ns = test_random(random) % 500;
		break;
	default:
		break;
	}
}

static void random_group_filter(struct filter *f, uint64_t *random)
{
	switch (test_random(random) % 10) {
	case 0:
		f->group_interval_min_ns = test_random(random) % 2000;
		break;
	case 1:
		f->group_allocations_max = test_random(random) % 10;
		break;
	case 2:
		f->group_leaked_min = (struct filter_share){(double)(test_random(random) % 100), true};
		break;
	default:
		break;
	}
}

static void random_filter(struct filter *f, uint64_t *random, uint64_t end, bool sampled)
{
	filter_init(f);
	if (test_random(random) % 4 == 0)
		return;
	random_chain_filter(f, random);
	if (!sampled)
		random_group_filter(f, random);
	if (test_random(random) % 8 == 0)
		f->deallocation_backtrace = 1 + (uint32_t)(test_random(random) % TEST_NODES);
	if (test_random(random) % 6 == 0)
		f->alive_at_2_ns = test_random(random) % end;
	if (test_random(random) % 6 == 0)
		f->freed_at_once = test_random(random) % 2 ? ANSWER_YES : ANSWER_NO;
	if (test_random(random) % 3 == 0)
		f->from_ns = test_random(random) % end;
	if (test_random(random) % 3 == 0)
		f->to_ns = test_random(random) % end;
	if (test_random(random) % 2 == 0)
		f->lifetime = (enum filter_lifetime)(test_random(random) %
						     (LIFETIME_ONLY_CHAIN_LEAKED + 1));
	if (test_random(random) % 3 == 0)
		f->size_min = test_random(random) % 300;
	if (test_random(random) % 3 == 0)
		f->size_max = test_random(random) % 5000;
	if (test_random(random) % 5 == 0)
		f->address_min = test_random(random) % (EVENTS * 0x8000);
	if (test_random(random) % 5 == 0)
		f->address_max = test_random(random) % (EVENTS * 0x8000);
	if (test_random(random) % 5 == 0)
		f->lifetime_min_ns = test_random(random) % 1000;
	if (test_random(random) % 5 == 0)
		f->lifetime_max_ns = test_random(random) % 5000;
	if (test_random(random) % 5 == 0)
		f->depth_min = (uint32_t)(test_random(random) % 6);
	if (test_random(random) % 5 == 0)
		f->depth_max = (uint32_t)(test_random(random) % 6);
	if (test_random(random) % 8 == 0)
		f->backtrace = 1 + (uint32_t)(test_random(random) % TEST_NODES);
	if (test_random(random) % 5 == 0)
		f->thread = 1 + (uint32_t)(test_random(random) % TEST_THREADS);
	if (test_random(random) % 5 == 0)
		f->alive_at_ns = test_random(random) % end;
}

static void check_report(struct test_recording *t, const struct naive *n, const struct filter *f)
{
	struct report report;
	struct err_text err = {0};
	struct usage wanted;

	assert_int_equal(query_report(t->view, f, &report, &err), 0);
	wanted = sum(n, f, VALUE_ALLOCATED, 0, UINT32_MAX);
	equal_usage(&report.allocated, &wanted);
	wanted = sum(n, f, VALUE_LEAKED, 0, UINT32_MAX);
	equal_usage(&report.leaked, &wanted);
	wanted = sum(n, f, VALUE_TEMPORARY, 0, UINT32_MAX);
	equal_usage(&report.temporary, &wanted);
	wanted = sum(n, f, VALUE_PEAK, report.peak_ns, UINT32_MAX);
	equal_usage(&report.peak, &wanted);
}

static void check_groups(struct test_recording *t, const struct naive *n, const struct filter *f,
			 enum value value, uint64_t at)
{
	struct groups groups, sites;
	struct err_text err = {0};
	struct usage total = sum(n, f, value, at, UINT32_MAX);
	uint64_t bytes = 0, site_bytes = 0;
	size_t seen = 0;

	assert_int_equal(query_groups(t->view, f, GROUP_BY_BACKTRACE, value, at, &groups, &err), 0);
	equal_usage(&groups.total, &total);
	for (size_t i = 0; i < groups.count; i++) {
		struct usage wanted = sum(n, f, value, at, groups.list[i].node);

		equal_usage(&groups.list[i].value, &wanted);
		wanted = sum(n, f, VALUE_LEAKED, at, groups.list[i].node);
		equal_usage(&groups.list[i].leaked, &wanted);
		assert_true(!i || groups.list[i - 1].value.bytes >= groups.list[i].value.bytes);
		bytes += groups.list[i].value.bytes;
	}
	for (uint32_t s = 0; s <= TEST_NODES; s++)
		seen += sum(n, f, value, at, s).blocks > 0;
	assert_int_equal(groups.count, seen);
	assert_in_range(bytes + seen, total.bytes, total.bytes + 2 * seen);
	assert_int_equal(query_groups(t->view, f, GROUP_BY_SITE, value, at, &sites, &err), 0);
	for (size_t i = 0; i < sites.count; i++)
		site_bytes += sites.list[i].value.bytes;
	assert_in_range(site_bytes + seen, total.bytes, total.bytes + 2 * seen);
	assert_true(sites.count <= groups.count);
	groups_done(&groups);
	groups_done(&sites);
}

/* The names from the outermost frame on, as a collapsed stack. */
static void path_of(struct test_recording *t, uint32_t node, char *out, size_t size)
{
	char *tail;

	out[0] = 0;
	if (!node) {
		snprintf(out, size, ";[no backtrace]");
		return;
	}
	if (recording_node(t->recording, node)->parent)
		path_of(t, recording_node(t->recording, node)->parent, out, size);
	tail = out + strlen(out);
	snprintf(tail, size - (size_t)(tail - out), ";%s", view_frame_name(t->view, node, 0));
}

static void check_leaf(struct test_recording *t, const struct naive *n, const struct filter *f,
		       enum value value, uint64_t at, const struct tree *tree, uint32_t index,
		       const char *path)
{
	uint64_t self = 0, below = tree->nodes[index].self_bytes;
	char other[4096], deeper[4096];

	for (uint32_t s = 0; s <= TEST_NODES && index; s++) {
		path_of(t, s, other, sizeof(other));
		if (!strcmp(other, path))
			self += sum(n, f, value, at, s).bytes;
	}
	if (index)
		assert_in_range(tree->nodes[index].self_bytes + 2, self, self + 4);
	for (uint32_t c = tree->nodes[index].first_child; c; c = tree->nodes[c].next_sibling) {
		uint32_t next = tree->nodes[c].next_sibling;

		assert_true(!next || tree->nodes[next].bytes <= tree->nodes[c].bytes);
		snprintf(deeper, sizeof(deeper), "%s;%s", path, tree->nodes[c].function);
		check_leaf(t, n, f, value, at, tree, c, deeper);
		below += tree->nodes[c].bytes;
	}
	assert_int_equal(below, tree->nodes[index].bytes);
}

static void check_tree(struct test_recording *t, const struct naive *n, const struct filter *f,
		       enum value value, uint64_t at)
{
	struct tree tree;
	struct err_text err = {0};

	assert_int_equal(query_tree(t->view, f, value, at, &tree, &err), 0);
	assert_int_equal(tree.nodes[0].bytes, sum(n, f, value, at, UINT32_MAX).bytes);
	check_leaf(t, n, f, value, at, &tree, 0, "");
	tree_done(&tree);
}

static void check_scan(struct test_recording *t, const struct naive *n, const struct filter *f,
		       enum page_order order, bool descending, uint64_t *random)
{
	struct query_page *scan;
	struct err_text err = {0};
	uint64_t total, got = 0, wanted = 0, last = 0;
	const uint64_t off = order == PAGE_BY_TIME ? REPAIR_NS : 0;
	uint8_t *seen = calloc(n->rows.count + 1, 1);

	for (size_t i = 0; i < n->rows.count; i++)
		wanted += fits(n, &n->rows.list[i], f);
	assert_int_equal(query_page_new(t->view, f, order, descending, &scan, &err), 0);
	assert_int_equal(query_page_total(scan, &total, &err), 0);
	assert_int_equal(total, wanted);
	for (;;) {
		uint64_t rows[100];
		long count = query_page_next(scan, rows, 1 + test_random(random) % 100, &err);

		assert_true(count >= 0);
		if (!count)
			break;
		for (long i = 0; i < count; i++, got++) {
			const struct naive_row *r = &n->rows.list[rows[i]];
			uint64_t key = order == PAGE_BY_SIZE	  ? r->size
				       : order == PAGE_BY_ADDRESS ? r->address
								  : r->birth;

			assert_true(fits(n, r, f));
			assert_false(seen[rows[i]]);
			seen[rows[i]] = 1;
			assert_true(!got || (descending ? key <= last + off : key + off >= last));
			last = key;
		}
	}
	assert_int_equal(got, wanted);
	query_page_free(scan);
	free(seen);
}

static int count_row(void *context, const struct row_block *block, uint32_t index)
{
	(void)block;
	(void)index;
	++*(uint64_t *)context;
	return 0;
}

static void round_of(uint64_t seed, bool sampled)
{
	struct test_recording t;
	struct naive n;
	uint64_t random = seed * 977 + 1, end, at, peak_ns, rows = 0, wanted = 0;
	struct filter f, all;
	struct err_text err = {0};

	static const unsigned threads[] = {1, 2, 8}, pieces[] = {0, 8, 64, 1024};

	crew_limit(threads[seed % 3]);
	sweep_set_piece(pieces[seed % 4]);
	history_set_sizes(1u << (2 + seed % 7), 1 + seed % 300);
	test_disordered_recording(&t, seed, EVENTS, sampled, (enum test_disorder)(seed / 3 % 3));
	naive_init(&n, t.recording);
	end = recording_end_ns(t.recording) + 1;
	filter_init(&all);
	assert_int_equal(peak_moment(t.view, &all, &peak_ns, &err), 0);
	assert_int_equal(sum(&n, &all, VALUE_IN_USE, peak_ns, UINT32_MAX).bytes,
			 sum(&n, &all, VALUE_IN_USE, naive_peak(&n), UINT32_MAX).bytes);
	assert_int_equal(peak_ns, naive_peak(&n));
	random_filter(&f, &random, end, sampled);
	check_report(&t, &n, &f);
	at = test_random(&random) % end;
	for (enum value v = VALUE_ALLOCATED; v <= VALUE_PEAK; v++) {
		check_groups(&t, &n, &f, v, v == VALUE_PEAK ? peak_ns : at);
		if (!sampled)
			check_tree(&t, &n, &f, v, v == VALUE_PEAK ? peak_ns : at);
	}
	for (unsigned o = PAGE_BY_TIME; o <= PAGE_BY_SIZE; o++)
		check_scan(&t, &n, &f, (enum page_order)o, test_random(&random) & 1, &random);
	assert_int_equal(query_each(t.view, &f, count_row, &rows, &err), 0);
	for (size_t i = 0; i < n.rows.count; i++)
		wanted += fits(&n, &n.rows.list[i], &f);
	assert_int_equal(rows, wanted);
	free(n.rows.list);
	test_close(&t);
}

static uint64_t rounds(void)
{
	return getenv("HEAPCAST_TEST_FULL") ? ROUNDS_FULL : ROUNDS;
}

static void test_exact(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= rounds(); seed++)
		round_of(seed, false);
}

static void test_sampled(void **state)
{
	(void)state;
	for (uint64_t seed = 101; seed <= 100 + rounds() / 4; seed++)
		round_of(seed, true);
}

static void test_empty(void **state)
{
	struct test_recording t;
	struct filter f;
	struct report report;
	struct groups groups;
	struct tree tree;
	struct err_text err = {0};

	(void)state;
	test_random_recording(&t, 7, 0, false);
	filter_init(&f);
	assert_int_equal(query_report(t.view, &f, &report, &err), 0);
	assert_int_equal(report.allocated.blocks, 0);
	assert_int_equal(
		query_groups(t.view, &f, GROUP_BY_SITE, VALUE_PEAK, NO_TIME, &groups, &err), 0);
	assert_int_equal(groups.count, 0);
	groups_done(&groups);
	assert_int_equal(query_tree(t.view, &f, VALUE_ALLOCATED, NO_TIME, &tree, &err), 0);
	assert_int_equal(tree.count, 1);
	tree_done(&tree);
	test_close(&t);
}

static void test_cancelled(void **state)
{
	struct test_recording t;
	struct filter f;
	struct report report;
	struct err_text err = {0};
	atomic_bool cancelled = true;

	(void)state;
	test_random_recording(&t, 7, 100, false);
	filter_init(&f);
	f.cancelled = &cancelled;
	assert_int_equal(query_report(t.view, &f, &report, &err), -ECANCELED);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
