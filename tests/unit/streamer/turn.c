/* A turn of the drain thread for one stream: when a batch is closed and what then is told, and
 * when a stream stalls. turn_ends.c has how images and processes end. */
#include "tests/unit/streamer/scripted.h"

#include <sys/prctl.h>

#define MS	 UINT64_C(1000000)
#define SLACK_NS (60000 * MS) /* no machine is so slow */

/* ---- when a batch is closed ---- */

/* Returns true if this turn, long after the last batch and what is in this one, closes it. */
static bool closes(void)
{
	uint64_t next = s->spool.next;

	stream_hurry(s);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_in_range(s->spool.next, next, next + 1);
	return s->spool.next > next;
}

/* Each thing that is to be told closes a batch, and nothing else does. */
static void content(void **state)
{
	struct run_module module = module_of(1);
	const struct unrecorded unrecorded = {.pid = 7};
	const struct figures figures = {.time_ns = 5};

	(void)state;
	assert_false(closes());
	assert_int_equal(s->batch.opened_ns, 0);
	s->process_news = true;
	assert_true(closes());
	script_thread(0, NOBODY, "a");
	assert_true(closes());
	assert_false(closes());
	script_event(0, 1, 16);
	assert_true(closes());
	script_gap(0, 1, 1);
	assert_true(closes());
	assert_true(stream_put_mark(s, HEAPCAST__MARK_KIND__MARK_TEXT, 1, 1, "text"));
	assert_true(closes());
	script_load(&module);
	assert_true(closes());
	script_unload(module.id, 1, 5000);
	assert_true(closes());
	stream_put_figures(s, &figures);
	assert_true(closes());
	stream_tell_unrecorded(s, &unrecorded);
	assert_true(closes());
	s->maps_ready = true;
	assert_true(closes());
	assert_false(s->maps_ready);
	assert_false(closes());
}

/* A batch stays open for a quarter of a second after the first thing that it tells. */
static void content_waits(void **state)
{
	uint64_t next, before;

	(void)state;
	script_thread(0, NOBODY, "a");
	next = s->spool.next;
	before = now();
	assert_int_equal(turn(), STREAM_IDLE);
	assert_in_range(s->batch.opened_ns, before, now());
	assert_int_equal(s->spool.next, next);
	before = s->batch.opened_ns;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(s->batch.opened_ns, before);
	while (now() < before + STREAM_CLOSE_NS)
		usleep(1000);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(s->spool.next, next + 1);
	assert_true(s->closed_ns >= before + STREAM_CLOSE_NS);
}

/* With nothing else to tell, the account is told each second, if events were begun. */
static void accounts(void **state)
{
	uint64_t next, before;

	(void)state;
	script_thread(0, NOBODY, "a");
	assert_true(closes());
	next = s->spool.next;
	script.count[0].produced = 5;
	before = s->closed_ns = now() - STREAM_LEDGER_NS / 2;
	assert_int_equal(turn(), STREAM_IDLE);
	if (now() < before + STREAM_LEDGER_NS) { /* else this machine is slow */
		assert_int_equal(s->spool.next, next);
		assert_int_equal(script.count[0].produced, 5); /* is not asked, either */
	}
	next = s->spool.next;
	script.count[0].produced = 5;
	before = now();
	s->closed_ns = before - STREAM_LEDGER_NS;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(s->spool.next, next + 1);
	assert_in_range(stream_ledger(s).produced, 5, 10);
	assert_in_range(s->closed_ns, before, now());
	s->closed_ns = now() - STREAM_LEDGER_NS;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(s->spool.next, next + 1); /* it is known */
}

/* A batch is told of as it is closed. */
static void sealed(void **state)
{
	struct run_item *item;
	const uint64_t pcs[] = {500002, 500001};
	unsigned seals;
	struct spool_account last;

	(void)state;
	script_thread(0, NOBODY, "a");
	item = script_event(0, 1, 16);
	item->size = 1000;
	script_stack(0, 0, 2, pcs)->size = 24;
	script_event(0, 32, 16);
	script_gap(0, 1, 10);
	script.rest.until_ns = 123456789;
	s->stacks_cut = 3;
	s->image = 4;
	seals = script.seals;
	forget(script_batch(&b));
	assert_int_equal(script.seals, seals + 1);
	assert_int_equal(script.sealed.watermark_ns, 123456789);
	assert_int_equal(script.sealed.stacks_cut, 3);
	assert_int_equal(script.sealed.allocations, 2);
	assert_int_equal(script.sealed.frees, 1);
	assert_int_equal(script.sealed.bytes, 1024);
	assert_int_equal(script.sealed.lost.events, 10);
	assert_int_equal(script.sealed.lost.allocations, 11);
	assert_int_equal(script.sealed.lost.frees, 12);
	assert_int_equal(script.sealed.lost.bytes, 13);
	assert_int_equal(script.sealed.image, 4);
	last = spool_account_at(&s->spool, s->spool.next - 1);
	assert_int_equal(last.events, 3);
	assert_int_equal(last.allocations, 2);
	assert_int_equal(last.frees, 1);
	assert_int_equal(last.bytes, 1024);
	assert_int_equal(last.time_ns, 123456789);
	assert_int_equal(last.nodes, 2);

	/* The watermark does not go back. */
	script_again();
	script_gap(0, 1, 1);
	script.rest.until_ns = 1000;
	forget(script_batch(&b));
	assert_int_equal(script.sealed.watermark_ns, 123456789);
	script_again();
	script_gap(0, 1, 1);
	script.rest.until_ns = 123456790;
	forget(script_batch(&b));
	assert_int_equal(script.sealed.watermark_ns, 123456790);
}

/* A mark that a client waits for: until a batch reaches beyond it, by a tick. */
static void orders_are_awaited(void **state)
{
	const uint8_t text[] = "x";

	(void)state;
	assert_false(closes());
	script.rest.until_ns = 49999;
	assert_int_equal(
		stream_mark(s, HEAPCAST__MARK_KIND__MARK_SNAPSHOT, 1, 50000, text, 1, "me"), 0);
	assert_true(closes());
	assert_true(closes()); /* the batch before ended below the mark */
	script.rest.until_ns = 50999;
	assert_true(closes()); /* so did this one */
	assert_true(closes()); /* what it said is 50000, and not above */
	script.rest.until_ns = 51000;
	assert_true(closes());
	assert_false(closes());
}

/* ---- names ---- */

static void names_are_read_again(void **state)
{
	Heapcast__Batch *batch;
	struct thread *t;
	uint64_t before;

	(void)state;
	prctl(PR_SET_NAME, "before");
	script_thread(0, (uint32_t)getpid(), "said");
	script_thread(1, NOBODY, "said");
	forget(script_batch(&b));
	t = s->lane_thread[0];
	assert_string_equal(t->name, "before");
	prctl(PR_SET_NAME, "after");
	before = s->named_ns = now() - 500000000;
	assert_int_equal(turn(), STREAM_IDLE);
	if (now() < before + 1000000000)
		assert_string_equal(t->name, "before");
	before = now();
	s->named_ns = before - 1000000000;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_string_equal(t->name, "after");
	assert_in_range(s->named_ns, before, now());
	assert_string_equal(s->lane_thread[1]->name, "said");
	batch = script_batch(&b);
	assert_int_equal(batch->n_thread, 1);
	assert_text(batch->thread[0]->name, "after");
	forget(batch);

	/* Not of a thread that has ended, though another one may have its tid. */
	script_again();
	script_put(RUN_ENDED, 0, 5000);
	prctl(PR_SET_NAME, "another");
	s->named_ns = 0;
	forget(script_batch(&b));
	s->named_ns = 0;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_string_equal(t->name, "after");
}

/* The names of threads are told like threads, of which a batch has room for 64. */
static void names_have_room(void **state)
{
	struct thread *t;

	(void)state;
	prctl(PR_SET_NAME, "before");
	script_thread(0, (uint32_t)getpid(), "said");
	forget(script_batch(&b));
	t = s->lane_thread[0];
	script_again();
	for (uint32_t i = 0; i < BATCH_THREADS_MAX - 1; i++)
		script_thread(1, NOBODY + i, "some");
	assert_int_equal(turn(), STREAM_IDLE);
	prctl(PR_SET_NAME, "one more");
	s->named_ns = 0;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_string_equal(t->name, "one more");
	assert_int_equal(s->threads.news, BATCH_THREADS_MAX);
	prctl(PR_SET_NAME, "is news already");
	s->named_ns = 0;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_string_equal(t->name, "is news already");
	assert_true(closes());

	script_again();
	for (uint32_t i = 0; i < BATCH_THREADS_MAX; i++)
		script_thread(1, NOBODY + 100 + i, "some");
	assert_int_equal(turn(), STREAM_IDLE);
	prctl(PR_SET_NAME, "too much");
	s->named_ns = 0;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_string_equal(t->name, "is news already");
	assert_int_equal(s->threads.news, BATCH_THREADS_MAX);
}

/* ---- turns ---- */

/* The source hears when the last turn was so long ago that programs may have given up. */
static void away(void **state)
{
	unsigned turns = script.turns;
	uint64_t before;

	(void)state;
	s->turn_ns = 0; /* this is the first */
	script.away = 0;
	turn();
	assert_int_equal(script.turns, turns + 1);
	assert_int_equal(script.away, 0);
	assert_in_range(s->turn_ns, now() - SLACK_NS, now());
	s->turn_ns = now() - 1000000000 - 1;
	turn();
	assert_int_equal(script.away, 1);
	before = s->turn_ns = now() - 500000000;
	turn();
	assert_true(script.away == 1 || now() > before + 1000000000);
}

/* More than one turn has time for: four batches, and then others have theirs. */
static void many_batches(void **state)
{
	uint64_t first = s->spool.next;

	(void)state;
	script_thread(0, NOBODY, "a");
	for (int i = 0; i < 6 * BATCH_GAPS_MAX - 1; i++)
		script_gap(RUN_NO_LANE, 1 + i % 2, 1);
	assert_int_equal(turn(), STREAM_MORE);
	assert_int_equal(s->spool.next, first + 4);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(s->spool.next, first + 5);
	assert_int_equal(s->lost.events, 6 * BATCH_GAPS_MAX - 1);
}

/* A source that has more at once says so; then nothing else is done. */
static void more_at_once(void **state)
{
	(void)state;
	script_thread(0, NOBODY, "a");
	script.rest.more = true;
	script.rest.until_ns = 5000;
	stream_hurry(s);
	assert_int_equal(turn(), STREAM_MORE);
	assert_int_equal(s->spool.next, 2);
	assert_int_equal(s->watermark_ns, 5000);
	assert_false(script.filled_finally);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(s->spool.next, 3);
}

/* A run that is not complete is followed by another one in the same turn. */
static void runs_follow(void **state)
{
	unsigned fills = script.fills;

	(void)state;
	script_thread(0, NOBODY, "a");
	for (unsigned i = 0; i < 9; i++)
		script_event(0, 1, 16);
	script.runs_max = 2;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(script.fills, fills + 5);
	assert_int_equal(s->batch.events.count, 9);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(script.fills, fills + 6);
}

static void stalled(void **state)
{
	uint64_t last = stall(), taken;
	size_t pending = s->frame_pending;
	unsigned fills;

	(void)state;
	assert_true(last > 2);
	assert_true(pending > 0);
	taken = s->delivered.events;
	fills = script.fills;
	assert_int_equal(turn(), STREAM_STALLED);
	assert_int_equal(s->frame_pending, pending);
	assert_int_equal(s->spool.next, last + 1);
	assert_int_equal(s->delivered.events, taken);
	assert_int_equal(script.fills, fills);
	assert_int_equal(spool_ack(&s->spool, last, last), 0);
	assert_int_equal(turn(), STREAM_MORE);
	assert_true(s->spool.next > last + 1);
	assert_int_equal(s->frame_pending, 0);
	assert_true(s->delivered.events > taken);
	for (uint64_t i = last + 1; i < s->spool.next; i++)
		forget(bench_batch(&b, i));
}

/* Batches that are closed for other reasons stall, too. */
static void stalled_otherwise(void **state)
{
	uint64_t last = stall();
	enum stream_work work;

	(void)state;
	/* what waits goes in, and nothing behind it */
	while (s->frame_pending) {
		assert_int_equal(spool_ack(&s->spool, s->spool.first, s->spool.first), 0);
		script.items = script.given;
		s->run.taken = s->run.count;
		turn();
	}
	assert_true(s->spool.next > last);
	while (!s->frame_pending) { /* each turn closes a batch for its time alone */
		script_again();
		for (unsigned i = 0; i < 20; i++)
			script_event(0, 1, (uint64_t)random() << 15)->size = (uint64_t)random()
									     << 20;
		stream_hurry(s);
		work = turn();
		assert_int_equal(work, s->frame_pending ? STREAM_STALLED : STREAM_IDLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED(content),
		SCRIPTED(content_waits),
		SCRIPTED(accounts),
		SCRIPTED(sealed),
		SCRIPTED(orders_are_awaited),
		SCRIPTED(names_are_read_again),
		SCRIPTED(names_have_room),
		SCRIPTED(away),
		SCRIPTED(many_batches),
		SCRIPTED(more_at_once),
		SCRIPTED(runs_follow),
		SCRIPTED(stalled),
		SCRIPTED(stalled_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
