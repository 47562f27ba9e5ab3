/* Questions while reads fail: each failed call is told, or the answer is what it is when all is
 * well. */
#include "tests/unit/failing.h"

#include "collector/columns/row_memory.h"
#include "tests/unit/query/again.h"

/* Reads of one question that fail, one each time it is asked: spread over all that it reads. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define READS	     3
#define READS_FILTER 1
#else
#define READS	     16
#define READS_FILTER 4
#endif

/* Without room for a sentence what has no rows does not tell the disk from memory. */
static int ask_failing(void *context)
{
	const struct question *q = context;
	int r = ask(context);

	if (r && r != -EIO && r != -ENOMEM)
		fail_msg("%s, %s fails: %s", q->name, failing_name, strerror(-r));
	return r;
}

/* Returns how many times it was told. */
static unsigned ask_each(struct question q, long reads)
{
	return failing_some(ask_failing, &q, 1 + failing_calls(ask, &q) / reads);
}

static void all_questions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ASK_QUESTIONS; i++) {
		struct question q = {.of = &recording,
				     .name = ask_questions[i].name,
				     .ask = ask_questions[i].ask};

		if (!ask_each(q, READS) && q.ask != ask_culled)
			fail_msg("%s: nothing was read", q.name);
	}
}

static void all_filters(void **state)
{
	(void)state;
	for (size_t i = 0; i < AGAIN_FILTERS; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct question q = {.of = &recording,
					     .name = k ? "tree" : "report",
					     .filter = again_filters[i][0],
					     .value = again_filters[i][1],
					     .ask = k ? ask_tree : ask_report};

			if (!ask_each(q, READS_FILTER))
				fail_msg("%s, %s: nothing was read", q.name, q.filter);
		}
}

/* A block of rows lies in a file, and the next one is in memory. */
static int begin(void **state)
{
	(void)state;
	row_memory_limit(0);
	ask_about.at_once = 10000;
	again_begin(140000);
	assert_int_equal(recording_blocks(recording.recording), 2);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_questions),
		cmocka_unit_test(all_filters),
	};

	return cmocka_run_group_tests(tests, begin, again_end);
}
