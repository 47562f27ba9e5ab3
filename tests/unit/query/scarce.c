/* Questions when memory runs out: each failed allocation is told, or the answer is what it is with
 * plenty of memory. */
#include "tests/unit/scarce.h"

#include "tests/unit/query/again.h"

static void ask_each(struct question q)
{
	unsigned failed;
	int r = ask(&q);

	if (r)
		fail_msg("%s, %s: %s", q.name, q.filter ? q.filter : "no filter", strerror(-r));
	failed = scarce_some(ask, &q, SCARCE_STEP);
	failed += scarce_lasting(ask, &q, SCARCE_STEP);
	if (!failed)
		fail_msg("%s, %s: no allocation", q.name, q.filter ? q.filter : "no filter");
}

/* How many allocations passed through each place. */
static int ask_places(struct view *view, const struct filter *f, uint64_t *d)
{
	(void)f;
	for (uint32_t node = 0; node <= TEST_NODES + 1; node++) {
		uint64_t count;
		int r = view_place_allocations(view, node, &count, NULL);

		if (r)
			return r;
		ask_digest(d, count);
	}
	return 0;
}

static void all_questions(void **state)
{
	(void)state;
	ask_each((struct question){.of = &recording, .name = "places", .ask = ask_places});
	for (size_t i = 0; i < ASK_QUESTIONS; i++)
		ask_each((struct question){.of = &recording,
					   .name = ask_questions[i].name,
					   .ask = ask_questions[i].ask});
}

static void samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < ASK_QUESTIONS; i += 2)
		ask_each((struct question){.of = &sampled,
					   .name = ask_questions[i].name,
					   .ask = ask_questions[i].ask});
}

static void all_filters(void **state)
{
	(void)state;
	for (size_t i = 0; i < AGAIN_FILTERS; i++)
		for (unsigned k = 0; k < 2; k++)
			ask_each((struct question){.of = &recording,
						   .name = k ? "timeline" : "report",
						   .filter = again_filters[i][0],
						   .value = again_filters[i][1],
						   .ask = k ? ask_timeline : ask_report});
}

static int begin(void **state)
{
	(void)state;
	sweep_set_piece(64);
	history_set_sizes(16, 50);
	again_begin(300);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_questions),
		cmocka_unit_test(samples),
		cmocka_unit_test(all_filters),
	};

	return cmocka_run_group_tests(tests, begin, again_end);
}
