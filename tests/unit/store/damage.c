/* Recordings that are cut, damaged, or none at all: every whole frame counts, the rest is named,
 * nothing crashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/recording/completeness.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "proto/columns.h"
#include "proto/culled.h"
#include "proto/stack_columns.h"
#include "tests/unit/store/builder.h"

static void build_small(struct builder *b)
{
	builder_init(b, 1);
	for (unsigned i = 0; i < 4; i++) {
		builder_malloc(b, 100 * i + 10, 1, 0x1000 + 16 * i, 10 + i);
		builder_malloc(b, 100 * i + 20, 1, 0x2000 + 16 * i, 20 + i);
		builder_free(b, 100 * i + 30, 1, 0x2000 + 16 * i);
		builder_close(b, 100 * i + 50);
	}
	builder_end(b, 0);
}

static size_t frames_in(const struct builder *b, size_t length)
{
	size_t n = 0;

	while (n < b->frame_count && b->ends[n] <= length)
		n++;
	return n;
}

static void assert_incomplete(const struct recording *r, const char *says)
{
	struct completeness c;

	recording_completeness(r, &c);
	assert_false(c.complete);
	assert_true(!strncmp(c.line, "Incomplete: ", 12));
	if (!strstr(c.line, says))
		fail_msg("'%s' does not say '%s'", c.line, says);
}

static void every_truncation(void **state)
{
	struct builder b;

	(void)state;
	build_small(&b);
	for (size_t length = 1; length <= b.file.length; length++) {
		size_t whole = frames_in(&b, length);
		struct err_text err = {0};
		struct recording *r;
		int e = builder_open(&b, length, &r, &err);

		if (!whole) {
			assert_int_equal(e, -EBADMSG);
			assert_non_null(strstr(err.text, "is cut off before its first event"));
			continue;
		}
		if (e < 0)
			fail_msg("%zu bytes: %s", length, err_get(&err, e));
		assert_int_equal(recording_ledger(r)->stored, whole < 5 ? 3 * whole : 12);
		assert_int_equal(recording_ledger(r)->cut_bytes,
				 length - (whole ? b.ends[whole - 1] : 0));
		assert_int_equal(recording_ledger(r)->damaged_places, 0);
		assert_true(recording_adds_up(r, NULL));
		assert_int_equal(recording_process(r)->ended, whole == 5);
		if (length < b.file.length)
			assert_incomplete(r, "without an end, and what followed is not known");
		if (recording_ledger(r)->cut_bytes)
			assert_incomplete(r, "the file is cut off: its last ");
		recording_close(r);
	}
	builder_done(&b);
}

static void every_flipped_byte(void **state)
{
	struct builder b;

	(void)state;
	build_small(&b);
	for (size_t at = 0; at < b.file.length; at++) {
		size_t frame = frames_in(&b, at);
		struct err_text err = {0};
		struct recording *r;
		int e;

		b.file.data[at] ^= 0x40;
		e = builder_open(&b, b.file.length, &r, &err);
		assert_int_equal(e, 0);
		/* The damaged frame is passed over, also if it was the last, which was not cut; the
		 * others are used; and it shows. */
		assert_int_equal(recording_ledger(r)->damaged_places, 1);
		assert_int_equal(recording_ledger(r)->cut_bytes, 0);
		if (at < b.ends[3])
			assert_int_equal(recording_ledger(r)->stored, 9);
		assert_int_equal(recording_ledger(r)->first_damage, frame ? b.ends[frame - 1] : 0);
		assert_int_equal(recording_ledger(r)->skipped_bytes,
				 b.ends[frame] - (frame ? b.ends[frame - 1] : 0));
		assert_incomplete(r,
				  "bytes of the recording are damaged, in 1 place, the first at");
		recording_close(r);
		b.file.data[at] ^= 0x40;
	}
	builder_done(&b);
}

static void open_bytes(const void *data, size_t length, int expected, const char *sentence)
{
	struct builder b = {0};
	struct err_text err = {0};
	struct recording *r;
	int e;

	buf_append(&b.file, data, length);
	e = builder_open(&b, length, &r, &err);
	assert_int_equal(e, expected);
	if (!strstr(err.text, sentence))
		fail_msg("'%s' does not say '%s'", err.text, sentence);
	buf_done(&b.file);
}

static void not_a_recording(void **state)
{
	static const char text[] = "This is a letter, not a recording, and it goes on for a while.";
	static uint8_t zeros[100000];
	struct err_text err = {0};
	struct recording *r;

	(void)state;
	open_bytes(text, sizeof(text), -EBADMSG, "not a recording: at offset 0");
	open_bytes(zeros, sizeof(zeros), -EBADMSG, "not a recording: at offset 0");
	open_bytes("", 0, -EBADMSG, "it is empty");
	assert_int_equal(recording_open("/nonexistent/file", NULL, NULL, &r, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/file"));
	assert_int_equal(recording_open("/tmp", NULL, NULL, &r, &err), -EBADMSG);
}

static void missing_and_double_batches(void **state)
{
	struct err_text reason = {0};
	struct recording *r;
	struct builder b, half = {0};

	(void)state;
	build_small(&b);
	buf_append(&half.file, b.file.data, b.ends[1]);
	buf_append(&half.file, b.file.data + b.ends[0],
		   b.ends[1] - b.ends[0]); /* the second again */
	buf_append(&half.file, b.file.data + b.ends[2],
		   b.file.length - b.ends[2]); /* without the third */
	assert_int_equal(builder_open(&half, half.file.length, &r, NULL), 0);
	assert_int_equal(recording_ledger(r)->duplicate_batches, 1);
	assert_int_equal(recording_ledger(r)->missing_batches, 1);
	assert_int_equal(recording_ledger(r)->stored, 9);
	assert_false(recording_adds_up(r, &reason));
	assert_non_null(strstr(reason.text, "delivered is 12, but stored"));
	assert_incomplete(r, "1 batch is missing (with 3 events)");
	recording_close(r);
	buf_done(&half.file);
	builder_done(&b);
}

/* The first batches never came, and nobody has told why: they are missing like any others. */
static void missing_first_batches(void **state)
{
	struct builder b;

	(void)state;
	build_small(&b);
	for (size_t gone = 1; gone + 1 < b.frame_count; gone++) {
		struct builder rest = {0};
		struct completeness c;
		struct recording *r;
		char says[64];

		buf_append(&rest.file, b.file.data + b.ends[gone - 1],
			   b.file.length - b.ends[gone - 1]);
		assert_int_equal(builder_open(&rest, rest.file.length, &r, NULL), 0);
		assert_int_equal(recording_ledger(r)->missing_batches, gone);
		assert_int_equal(recording_ledger(r)->duplicate_batches, 0);
		assert_false(recording_adds_up(r, NULL));
		recording_completeness(r, &c);
		assert_int_equal(c.missing_batches, gone);
		assert_int_equal(c.missing_events, 3 * gone);
		snprintf(says, sizeof(says), "Incomplete: %zu batch%s missing (with %zu events).",
			 gone, gone == 1 ? " is" : "es are", 3 * gone);
		assert_string_equal(c.line, says);
		recording_close(r);
		buf_done(&rest.file);
	}
	builder_done(&b);
}

/* What a catch-up stands for is told by its account; what is missing between it and the next batch
 * that is here is not. */
static void missing_behind_a_catch_up(void **state)
{
	(void)state;
	for (unsigned remote_process_before = 0; remote_process_before < 2; remote_process_before++)
		for (size_t gone = 0; gone < 3; gone++) {
			struct builder b, rest = {0};
			struct recording *r;
			size_t told;

			builder_init(&b, 1);
			if (remote_process_before) {
				builder_malloc(&b, 1, 1, 0x800, 32);
				builder_close(&b, 1);
			} else {
				b.before_join = 1000;
			}
			b.number = 40;
			b.delivered += 1000;
			b.of_thread[1] += 1000;
			b.catch_up = true;
			builder_close(&b, 5);
			told = b.frame_count;
			for (unsigned i = 0; i < 4; i++) {
				builder_malloc(&b, 10 + i, 1, 0x1000 + 64 * i, 32);
				builder_close(&b, 10 + i);
			}
			builder_end(&b, 0);
			buf_append(&rest.file, b.file.data, b.ends[told - 1]);
			buf_append(&rest.file, b.file.data + b.ends[told - 1 + gone],
				   b.file.length - b.ends[told - 1 + gone]);
			assert_int_equal(builder_open(&rest, rest.file.length, &r, NULL), 0);
			assert_int_equal(recording_ledger(r)->missing_batches, gone);
			assert_int_equal(recording_ledger(r)->before_join +
						 recording_ledger(r)->missed,
					 1000);
			assert_int_equal(recording_adds_up(r, NULL), !gone);
			recording_close(r);
			buf_done(&rest.file);
			builder_done(&b);
		}
}

/* The call that a thread was in when it was killed is no loss: of one event, that is. */
static void unfinished_calls(void **state)
{
	(void)state;
	for (uint64_t events = 1; events <= 2; events++) {
		Heapcast__Gap gap = HEAPCAST__GAP__INIT;
		struct completeness c;
		struct recording *r;
		struct builder b;

		builder_init(&b, 1);
		builder_malloc(&b, 10, 1, 0x1000, 32);
		gap.thread = 1;
		gap.events = b.lost = events;
		gap.reason = HEAPCAST__REASON__REASON_WRITER_DIED;
		b.gap = &gap;
		builder_end(&b, 0);
		assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
		recording_completeness(r, &c);
		assert_int_equal(c.unfinished_events, events == 1);
		assert_int_equal(c.lost_events, events == 1 ? 0 : events);
		assert_int_equal(c.complete, events == 1);
		recording_close(r);
		builder_done(&b);
	}
}

/* A collector that joined late: the catch-up says what came before. */
static void joined_late(void **state)
{
	struct recording *r;
	struct err_text reason = {0};
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	b.number = 40;
	b.before_join = b.delivered = b.of_thread[1] = 1000;
	b.catch_up = true;
	builder_close(&b, 5);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_end(&b, 0);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	if (!recording_adds_up(r, &reason))
		fail_msg("%s", reason.text);
	assert_int_equal(recording_ledger(r)->before_join, 1000);
	assert_incomplete(r,
			  "Incomplete: the first 1,000 events were before the collector joined.");
	assert_int_equal(recording_ledger(r)->missing_batches, 0);
	assert_int_equal(recording_nodes(r), 2);
	recording_close(r);
	builder_done(&b);
}

/* The first catch-up was overtaken: more is gone, and the account of the second has it all. */
static void joined_later_still(void **state)
{
	Heapcast__Gap gap = HEAPCAST__GAP__INIT;
	const struct gap_info *told;
	struct recording *r;
	struct err_text reason = {0};
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	gap.reason = HEAPCAST__REASON__REASON_JOINED_LATE;
	for (unsigned i = 1; i <= 2; i++) {
		b.number = 40 * i;
		b.before_join = b.delivered = b.of_thread[1] = gap.events = 1000 * i;
		gap.to_ns = 5 * i;
		b.gap = &gap;
		b.catch_up = true;
		builder_close(&b, 5 * i);
	}
	builder_malloc(&b, 20, 1, 0x1000, 32);
	builder_end(&b, 0);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	if (!recording_adds_up(r, &reason))
		fail_msg("%s", reason.text);
	assert_int_equal(recording_ledger(r)->before_join, 2000);
	assert_int_equal(recording_gaps(r), 1);
	told = recording_gap(r, 0);
	assert_int_equal(told->events, 2000);
	assert_int_equal(told->to_ns, 10);
	recording_close(r);
	builder_done(&b);
}

/* One that joined late at a stream that culls: sums that went before it are missed, and the account
 * says so. */
static void joined_late_at_culling(void **state)
{
	static uint8_t memory[2 * CULLED_ROW_MAX];
	struct err_text reason = {0};
	struct culled_encoder encoder;
	Heapcast__Culled culled;
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	b.number = 40;
	b.before_join = b.delivered = b.of_thread[1] = 1000;
	b.culled_events = 600;
	b.catch_up = true;
	builder_close(&b, 5);
	culled_encoder_init(&encoder, memory, 2, 0);
	assert_int_equal(culled_encoder_put(&encoder, &(struct culled_row){.thread = 1,
									   .stack = BUILDER_STACK,
									   .lifetime = 3,
									   .blocks = 5,
									   .bytes = 500,
									   .size_least = 100,
									   .size_most = 100}),
			 0);
	culled_encoder_fill(&encoder, &culled);
	b.culled = &culled;
	b.culled_events += encoder.allocations + encoder.frees;
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_close(&b, 10);
	builder_end(&b, 0);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	if (!recording_adds_up(r, &reason))
		fail_msg("%s", reason.text);
	assert_int_equal(recording_ledger(r)->culled, 610);
	assert_int_equal(recording_ledger(r)->culled_missed, 600);
	assert_int_equal(recording_ledger(r)->culled_stored, 10);
	assert_int_equal(recording_culled_totals(r)->blocks, 5);
	assert_int_equal(recording_ledger(r)->before_join, 1000);
	assert_incomplete(
		r, "600 events of short-lived blocks are in no sum here; the first 1,000 events");
	recording_close(r);
	/* Sums that were lost on the way are no such thing. */
	b.culled_events += 2;
	b.process = NULL;
	builder_close(&b, UINT64_MAX);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	assert_false(recording_adds_up(r, &reason));
	assert_non_null(strstr(reason.text, "short-lived is 612"));
	recording_close(r);
	builder_done(&b);
}

/* A collector that was too slow: what the agent had delivered meanwhile is a gap, counted by the
 * two accounts. */
static void missed_batches(void **state)
{
	const struct gap_info *gap;
	struct recording *r;
	struct err_text reason = {0};
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	b.delivered_allocations = 1;
	b.delivered_bytes = 32;
	builder_close(&b, 10);
	b.number = 40;
	b.delivered += 100;
	b.of_thread[1] += 100;
	b.delivered_allocations += 60;
	b.delivered_frees = 40;
	b.delivered_bytes += 6000;
	b.catch_up = true;
	builder_close(&b, 50);
	builder_malloc(&b, 60, 1, 0x2000, 32);
	builder_end(&b, 0);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	if (!recording_adds_up(r, &reason))
		fail_msg("%s", reason.text);
	assert_int_equal(recording_ledger(r)->missed, 100);
	assert_incomplete(r, "Incomplete: 98.0 % of the events were lost (100 of 102, with "
			     "allocations of 5.86 KiB).");
	assert_int_equal(recording_ledger(r)->missing_batches, 0);
	assert_int_equal(recording_ledger(r)->stored, 2);
	assert_int_equal(recording_gaps(r), 1);
	gap = recording_gap(r, 0);
	assert_int_equal(gap->reason, HEAPCAST__REASON__REASON_SPOOL_FULL);
	assert_int_equal(gap->events, 100);
	assert_int_equal(gap->allocations, 60);
	assert_int_equal(gap->frees, 40);
	assert_int_equal(gap->bytes, 6000);
	assert_int_equal(gap->from_ns, 10);
	assert_int_equal(gap->to_ns, 50);
	recording_close(r);
	builder_done(&b);
}

/* What a hostile agent might send: numbers without a definition, and definitions that make no
 * sense. */
static void hostile_numbers(void **state)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Module module = HEAPCAST__MODULE__INIT, *modules[] = {&module};
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT, *threads[] = {&thread};
	Heapcast__Stacks stacks = HEAPCAST__STACKS__INIT;
	struct stacks_encoder encoder;
	struct recording *r;
	struct builder b;
	uint8_t nodes[64];

	(void)state;
	builder_init(&b, 1);
	builder_event(&b, &(struct event){.kind = 1,
					  .thread = 0xffffffff,
					  .time_ns = 1,
					  .address = 0x10,
					  .size = 1,
					  .stack = 77});
	builder_event(&b, &(struct event){.kind = 1,
					  .thread = 1,
					  .time_ns = 2,
					  .address = ~15ull,
					  .size = ~0ull,
					  .stack = 2});
	builder_event(&b, &(struct event){.kind = 32, .thread = 1, .time_ns = 3, .address = ~0ull});
	builder_close(&b, 10);
	batch.stream = builder_bytes(b.id, sizeof(b.id));
	batch.incarnation = 1;
	batch.number = b.number + 1;
	batch.n_module = batch.n_thread = 1;
	batch.module = modules;
	batch.thread = threads;
	module.number = 0xfffffff0;
	thread.number = 1;
	builder_frame(&b, &batch);
	module.number = 2;
	thread.number = 0xfffffff0;
	builder_frame(&b, &batch);
	thread.number = 3;
	stacks_encoder_init(&encoder, nodes, sizeof(nodes), 0x0ffffff0);
	stacks_encoder_put(&encoder, &(struct stack_node){.module = 1});
	stacks_encoder_fill(&encoder, &stacks);
	batch.stacks = &stacks;
	builder_frame(&b, &batch);
	stacks_encoder_init(&encoder, nodes, sizeof(nodes), 3);
	stacks_encoder_put(&encoder, &(struct stack_node){.module = 99});
	stacks_encoder_fill(&encoder, &stacks);
	builder_frame(&b, &batch);

	builder_malloc(&b, 20, 1, 0x20, 1);
	builder_end(&b, 0);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	assert_int_equal(recording_pairing(r)->bad_references, 1);
	assert_int_equal(recording_rows(r), 3);
	assert_int_equal(recording_block(r, 0)->stack[0], 0);
	assert_int_equal(recording_ledger(r)->damaged_places, 4);
	assert_int_equal(recording_nodes(r), 2);
	assert_null(recording_module(r, 0));
	assert_null(recording_module(r, 1000000));
	assert_null(recording_node(r, 0xffffffff));
	assert_null(recording_thread(r, 0));
	recording_close(r);
	builder_done(&b);
}

/* Small on the disk, huge when unpacked: turned away. */
static void unpacking_bomb(void **state)
{
	enum { SIZE = 4 << 20 };
	uint8_t *message = malloc(FRAME_HEADROOM + SIZE);
	struct recording *r;
	struct builder b;
	size_t bound = frame_bound(SIZE);
	long n;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 1, 1, 0x10, 1);
	builder_close(&b, 1);
	for (size_t i = 0; i < SIZE; i += 2) { /* two million empty threads */
		message[FRAME_HEADROOM + i] = 10 << 3 | 2;
		message[FRAME_HEADROOM + i + 1] = 0;
	}
	n = frame_encode(b.frames, message + FRAME_HEADROOM, SIZE, buf_reserve(&b.file, bound),
			 bound);
	assert_true(n > 0);
	b.file.length += (size_t)n;
	builder_end(&b, 0);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	assert_int_equal(recording_ledger(r)->damaged_places, 1);
	assert_int_equal(recording_threads(r), 1);
	recording_close(r);
	builder_done(&b);
	free(message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_truncation),
		cmocka_unit_test(every_flipped_byte),
		cmocka_unit_test(not_a_recording),
		cmocka_unit_test(missing_and_double_batches),
		cmocka_unit_test(missing_first_batches),
		cmocka_unit_test(missing_behind_a_catch_up),
		cmocka_unit_test(unfinished_calls),
		cmocka_unit_test(joined_late),
		cmocka_unit_test(joined_later_still),
		cmocka_unit_test(joined_late_at_culling),
		cmocka_unit_test(missed_batches),
		cmocka_unit_test(hostile_numbers),
		cmocka_unit_test(unpacking_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
