/* Threads that move from slice to slice while agents come and go: what they skipped counts once. */
#include "tests/unit/streamer/ring_takeup.h"

/* What a thread skipped in a later slice does not count as skipped before an earlier one. */
static void test_account_moved(void **state)
{
	(void)state;
	for (unsigned later = 0; later < 2; later++) {
		struct writer w[2];

		scene_close(NULL);
		scene_open(NULL);
		header()->claims += 2;
		for (unsigned k = 0; k < 2; k++) {
			w[k] = own(k, 7, 2, BEGIN_NS - (k == later ? 50 : 60) * MS);
			event_at(&w[k], BEGIN_NS - 30 * MS);
		}
		scene_round(false);
		assert_ptr_equal(scene.thread[0], scene.thread[1]);
		w[!later].slice->not_sampled = 6;
		w[later].slice->not_sampled = 10;
		scene.thread[0]->counts.not_sampled = 3 + 6 + 10;
		for (uint32_t k = 0; k < 2; k++)
			scene.s.source.ops->count(&scene.s.source, k);
		seal();
		assert_int_equal(w[!later].slice->thread_not_sampled, 3);
		assert_int_equal(w[later].slice->thread_not_sampled, 3 + 6);
	}
}

/* What began before the oldest slice of a thread is in no counter of the program. Two slices of one
 * thread come one after the other, in any order. */
static void test_earlier(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const unsigned later = i & 1;
		/* While it is sampled, a thread may record nothing between two slices. */
		const uint64_t first = i < 2 ? 30 : 12;
		struct writer w[3];
		uint64_t produced = 0, not_sampled = 0;

		scene_close(NULL);
		scene_open(NULL);
		for (unsigned k = 0; k < 3; k++) {
			w[k] = own(k, 7 + k / 2, k == later ? first : 12,
				   BEGIN_NS + (k == later) * MS);
			w[k].slice->events = 100;
			w[k].slice->thread = 1 + k / 2;
			w[k].slice->thread_not_sampled = k == later ? 9 : 4;
		}
		w[2].slice->thread_delivered = 3;
		w[2].slice->thread_lost = 2;
		header()->account.threads = 2;
		take_up(w, 3);
		scene_fill(false); /* one in a run */
		assert_int_equal(scene.count, 1);
		scene_round(false);
		assert_int_equal(scene.count, 2);
		assert_ptr_equal(scene.thread[0], scene.thread[1]);
		produced = scene.thread[0]->counts.produced;
		not_sampled = scene.thread[0]->counts.not_sampled;
		assert_int_equal(produced, 12 + 4);
		assert_int_equal(not_sampled, 4);
		assert_int_equal(scene.thread[2]->counts.produced, 12 + 4);
		assert_int_equal(scene.thread[2]->counts.not_sampled, 4);
		assert_int_equal(scene.thread[2]->counts.delivered, 3);
		assert_int_equal(scene.thread[2]->counts.lost, 2);
		scene_round(false);
		assert_int_equal(scene.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(test_account_moved),
		SCENE(test_earlier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
