/* Threads and accounts, as batches tell them: of one agent, and of one that goes on for another. */
#include "base/bytes.h"
#include "tests/unit/store/defined.h"

/* ---- threads ---- */

static void define_thread(const Heapcast__Thread *t, uint32_t incarnation)
{
	Heapcast__Thread thread = *t, *list[] = {&thread};
	Heapcast__Batch batch = batch_of(incarnation);

	batch.thread = list;
	batch.n_thread = 1;
	take(&batch);
}

static void threads(void **state)
{
	Heapcast__Thread t = HEAPCAST__THREAD__INIT, *list[] = {&t};
	Heapcast__Batch batch = batch_of(1);
	struct thread_info *info;

	(void)state;
	batch.thread = list;
	batch.n_thread = 1;
	refuse(&batch, "a thread with the number 0");
	t.number = HOLE_MAX + 1;
	refuse(&batch, "a thread with the number 65537");
	t.number = 2;
	t.tid = 71;
	t.started_ns = 5;
	t.name = bytes("worker");
	define_thread(&t, 1);
	assert_true(d.thread_count == 2 && !d.threads[0]);
	info = d.threads[1];
	assert_true(info->number == 2 && info->tid == 71 && info->started_ns == 5 &&
		    !info->ended_ns && info->incarnation == 1);
	assert_string_equal(info->name, "worker");
	/* What is not said again stays, but for its end. */
	t.name.len = 0;
	t.started_ns = 0;
	t.ended_ns = 9;
	define_thread(&t, 1);
	assert_true(info->started_ns == 5 && info->ended_ns == 9);
	assert_string_equal(info->name, "worker");
	t.name = bytes("other");
	t.started_ns = 6;
	t.ended_ns = 0;
	define_thread(&t, 2);
	assert_true(info->started_ns == 6 && !info->ended_ns && info->incarnation == 2);
	assert_string_equal(info->name, "other");
	t.number = HOLE_MAX + 2;
	define_thread(&t, 2);
	assert_int_equal(definitions_thread(&d, THREADS_MAX + 1, &info), -EBADMSG);
	assert_int_equal(d.thread_count, HOLE_MAX + 2);
}

/* ---- accounts ---- */

static uint8_t columns[5][32];

/* A thread's row. */
static void put_row(Heapcast__Ledger *l, uint64_t thread, uint64_t produced, uint64_t delivered,
		    uint64_t lost, uint64_t culled)
{
	const uint64_t values[] = {thread, produced, delivered, lost, culled};
	ProtobufCBinaryData *to[] = {&l->thread, &l->thread_produced, &l->thread_delivered,
				     &l->thread_lost, &l->thread_culled};

	for (unsigned i = 0; i < 5; i++) {
		to[i]->data = columns[i];
		to[i]->len = (size_t)(varint_put(columns[i], values[i]) - columns[i]);
	}
}

static void account(uint32_t incarnation, Heapcast__Ledger *l)
{
	Heapcast__Batch batch = batch_of(incarnation);

	batch.ledger = l;
	take(&batch);
}

static void accounts_of_threads(void **state)
{
	Heapcast__Ledger l = HEAPCAST__LEDGER__INIT;
	Heapcast__Batch batch = batch_of(1);

	(void)state;
	batch.ledger = &l;
	put_row(&l, 2, 10, 6, 3, 1);
	account(1, &l);
	assert_true(d.thread_count == 2 && d.threads[1]->produced == 10 &&
		    d.threads[1]->delivered == 6 && d.threads[1]->lost == 3 &&
		    d.threads[1]->culled == 1);
	l.thread_culled.len = 0; /* an agent that knows of none */
	account(1, &l);
	assert_int_equal(d.threads[1]->culled, 0);
	put_row(&l, 0, 1, 1, 1, 1);
	refuse(&batch, "the ledger speaks of a thread with the number 0");
	put_row(&l, THREADS_MAX + 1, 1, 1, 1, 1);
	refuse(&batch, "the ledger speaks of a thread with the number 1048577");
	put_row(&l, UINT32_MAX + 2ull, 1, 1, 1, 1);
	refuse(&batch, "the ledger speaks of a thread with the number 4294967297");
	for (unsigned i = 0; i < 5; i++) {
		ProtobufCBinaryData *to[] = {&l.thread, &l.thread_produced, &l.thread_delivered,
					     &l.thread_lost, &l.thread_culled};

		put_row(&l, 1, 1, 1, 1, 1);
		columns[i][0] |= 0x80; /* and there it ends */
		if (i)
			refuse(&batch, "the ledger's columns of threads are damaged");
		else
			assert_int_equal(definitions_add(&d, &batch, NULL), -EBADMSG);
		if (i == 0 || i == 4)
			continue;
		put_row(&l, 1, 1, 1, 1, 1);
		to[i]->len = 0;
		refuse(&batch, "the ledger's columns of threads are damaged");
	}
}

/* What an agent had delivered and the collector has not got went with it. */
static void the_next_account(void **state)
{
	Heapcast__Ledger l = HEAPCAST__LEDGER__INIT;
	Heapcast__Thread t = HEAPCAST__THREAD__INIT;
	Heapcast__Batch late = batch_of(1);

	(void)state;
	late.time_ns = 500;
	take(&late);
	put_row(&l, 1, 100, 80, 15, 5);
	l.produced = 100;
	l.delivered = 80;
	l.lost = 15;
	l.culled = 5;
	account(1, &l);
	t.number = 1;
	t.earlier_delivered = 92; /* with 5 short-lived ones: 7 more than came */
	define_thread(&t, 2);
	assert_true(d.threads[0]->unarrived == 7 && d.threads[0]->lost == 22 &&
		    d.threads[0]->culled_before == 5);
	t.earlier_delivered = 95;
	define_thread(&t, 2); /* once */
	assert_true(d.threads[0]->unarrived == 7 && d.threads[0]->lost == 22);
	put_row(&l, 1, 130, 120, 17, 1);
	l.produced = 130;
	l.delivered = 120;
	l.earlier_delivered = 92;
	l.lost = 18;
	l.earlier_lost = 17; /* two gaps more than came */
	l.culled = 1;
	account(2, &l);
	assert_int_equal(d.unarrived, 7);
	assert_int_equal(d.gap_count, 1);
	assert_int_equal(d.gaps[0].reason, HEAPCAST__REASON__REASON_AGENT_GONE);
	assert_true(d.gaps[0].events == 9 && d.gaps[0].from_ns == 500 && d.gaps[0].to_ns == 500);
	assert_true(d.ledger.delivered == 120 - 7 - 5 && d.ledger.lost == 18 + 7 &&
		    d.ledger.culled == 6 && d.ledger.produced == 130);
	assert_true(d.threads[0]->delivered == 120 - 7 - 5 && d.threads[0]->lost == 17 + 7 &&
		    d.threads[0]->culled == 6);
	account(2, &l);
	assert_int_equal(d.gap_count, 1);
	assert_int_equal(d.unarrived, 7);
}

static void catch_up(uint32_t incarnation, uint64_t before_join, uint64_t earlier)
{
	Heapcast__Ledger l = HEAPCAST__LEDGER__INIT;
	Heapcast__Batch batch = batch_of(incarnation);

	l.before_join = before_join;
	l.earlier_delivered = earlier;
	batch.ledger = &l;
	batch.catch_up = true;
	take(&batch);
}

/* How much there was before the collector joined is said by catch-ups, until it has. */
static void joined_late(void **state)
{
	Heapcast__Ledger l = HEAPCAST__LEDGER__INIT;

	(void)state;
	catch_up(1, 4, 0);
	assert_int_equal(d.ledger.before_join, 4);
	catch_up(1, 6, 0);
	assert_int_equal(d.ledger.before_join, 6);
	catch_up(1, 0, 0);
	assert_int_equal(d.ledger.before_join, 6);
	l.before_join = 7;
	account(1, &l);
	assert_int_equal(d.ledger.before_join, 7);
	catch_up(1, 8, 0);
	assert_int_equal(d.ledger.before_join, 7);
}

/* The second agent is the first that the collector hears of. */
static void joined_the_second(void **state)
{
	(void)state;
	catch_up(2, 0, 9);
	assert_int_equal(d.ledger.before_join, 9);
	catch_up(2, 5, 9);
	assert_int_equal(d.ledger.before_join, 9);
	assert_int_equal(d.gap_count, 0);
}

static void joined_the_second_and_told(void **state)
{
	(void)state;
	catch_up(2, 5, 9);
	assert_int_equal(d.ledger.before_join, 5);
}

/* Of processes that were not recorded, the larger counts stay. */
static void accounts_of_the_unrecorded(void **state)
{
	Heapcast__Ledger l = HEAPCAST__LEDGER__INIT;
	Heapcast__Unrecorded u = HEAPCAST__UNRECORDED__INIT, *list[] = {&u};
	Heapcast__Batch batch = batch_of(1);

	(void)state;
	l.unrecorded = 5;
	l.unrecorded_uncounted = 4;
	l.unrecorded_events = 3;
	l.unrecorded_bytes = 2;
	l.before_recording = 1;
	l.not_begun = true;
	account(1, &l);
	heapcast__ledger__init(&l);
	account(1, &l);
	assert_true(d.ledger.unrecorded == 5 && d.ledger.unrecorded_uncounted == 4 &&
		    d.ledger.unrecorded_events == 3 && d.ledger.unrecorded_bytes == 2 &&
		    d.ledger.before_recording == 1 && !d.ledger.not_begun);
	u.pid = 8;
	u.counted = true;
	u.events = 1;
	u.allocations = 2;
	u.frees = 3;
	u.bytes = 4;
	u.name = bytes("a\tb");
	batch.unrecorded = list;
	batch.n_unrecorded = 1;
	for (unsigned i = 0; i <= UNRECORDED_MAX; i++)
		take(&batch);
	assert_int_equal(d.unrecorded_count, UNRECORDED_MAX);
	assert_true(d.unrecorded[0].pid == 8 && d.unrecorded[0].counted &&
		    d.unrecorded[0].events == 1 && d.unrecorded[0].allocations == 2 &&
		    d.unrecorded[0].frees == 3 && d.unrecorded[0].bytes == 4);
	assert_string_equal(d.unrecorded[0].name, "a b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads),
		TEST(accounts_of_threads),
		TEST(the_next_account),
		TEST(joined_late),
		TEST(joined_the_second),
		TEST(joined_the_second_and_told),
		TEST(accounts_of_the_unrecorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
