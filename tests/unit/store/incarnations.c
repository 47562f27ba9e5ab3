/* A stream of two agents: the second has taken up the ring when the first was gone. One stream, one
 * account. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/columns.h"
#include "proto/stack_columns.h"
#include "collector/columns/row_block.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "tests/unit/store/builder.h"

#define SECOND_NS 1000000000ull

static Heapcast__Module module_of(uint32_t number, const char *path, uint64_t start)
{
	Heapcast__Module m = HEAPCAST__MODULE__INIT;

	m.number = number;
	m.path = builder_bytes(path, strlen(path));
	m.bias = m.start = start;
	m.end = start + 0x10000;
	return m;
}

/* What one agent says of itself in its first batch. */
struct agent {
	uint32_t incarnation;
	uint32_t program, library;		  /* its numbers of the two modules */
	uint64_t earlier_delivered, earlier_lost; /* of the stream, and of its only thread */
	uint64_t lost, delivered;
	bool catch_up;
};

static void put_row(ProtobufCBinaryData *column, uint8_t *memory, uint64_t value)
{
	*column = builder_bytes(memory, (size_t)(varint_put(memory, value) - memory));
}

/* A batch with all that is defined, and the events that the builder has. */
static void close_batch(struct builder *b, const struct agent *a, uint64_t number, uint64_t time_ns)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Module program = module_of(a->program, "/bin/program", 0x10000),
			 library = module_of(a->library, "/lib/library.so", 0x40000),
			 *modules[] = {a->program < a->library ? &program : &library,
				       a->program < a->library ? &library : &program};
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT, *threads[] = {&thread};
	Heapcast__Stacks stacks = HEAPCAST__STACKS__INIT;
	Heapcast__Ledger ledger = HEAPCAST__LEDGER__INIT;
	Heapcast__Events events;
	struct stacks_encoder encoder;
	uint8_t nodes[256], rows[4][10];

	batch.stream = builder_bytes(b->id, sizeof(b->id));
	batch.incarnation = a->incarnation;
	batch.number = a->catch_up ? 0 : number;
	batch.catch_up = a->catch_up;
	batch.next = a->catch_up ? number : 0;
	batch.time_ns = batch.watermark_ns = time_ns;
	batch.process = &process;
	batch.module = modules;
	batch.n_module = 2;
	thread.number = 1;
	thread.tid = 1000;
	thread.earlier_delivered = a->earlier_delivered;
	thread.earlier_lost = a->earlier_lost;
	batch.thread = threads;
	batch.n_thread = 1;
	stacks_encoder_init(&encoder, nodes, sizeof(nodes), 1);
	stacks_encoder_put(&encoder, &(struct stack_node){.module = a->program, .offset = 0x100});
	stacks_encoder_put(
		&encoder, &(struct stack_node){.parent = 1, .module = a->library, .offset = 0x200});
	stacks_encoder_fill(&encoder, &stacks);
	batch.stacks = &stacks;
	if (b->events.count && !a->catch_up) {
		events_encoder_fill(&b->events, &events);
		batch.events = &events;
	}
	ledger.delivered = a->delivered;
	ledger.lost = a->lost;
	ledger.produced = a->delivered + a->lost;
	ledger.earlier_delivered = a->earlier_delivered;
	ledger.earlier_lost = a->earlier_lost;
	put_row(&ledger.thread, rows[0], 1);
	put_row(&ledger.thread_produced, rows[1], ledger.produced);
	put_row(&ledger.thread_delivered, rows[2], a->delivered);
	put_row(&ledger.thread_lost, rows[3], a->lost);
	batch.ledger = &ledger;
	builder_frame(b, &batch);
	if (batch.events)
		events_encoder_clear(&b->events);
}

/* The first agent's only batch that came: two blocks. */
static void first_agent(struct builder *b)
{
	const struct agent a = {.incarnation = 1, .program = 1, .library = 2, .delivered = 2};

	builder_malloc(b, SECOND_NS, 1, 0x1000, 32);
	builder_malloc(b, SECOND_NS + 10, 1, 0x2000, 64);
	close_batch(b, &a, 1, SECOND_NS + 20);
}

/* Three events went with the first agent, four more were found lost by the second. Then one block
 * is freed that the first has seen, one that nobody has, and one is new. */
static void second_agent(struct builder *b)
{
	const struct agent a = {.incarnation = 2,
				.program = 2,
				.library = 1,
				.earlier_delivered = 5,
				.delivered = 8,
				.lost = 4};

	builder_free(b, 3 * SECOND_NS, 1, 0x1000);
	builder_free(b, 3 * SECOND_NS + 10, 1, 0x9000);
	builder_malloc(b, 3 * SECOND_NS + 20, 1, 0x3000, 128);
	close_batch(b, &a, 1, 3 * SECOND_NS + 30);
}

static void assert_account(const struct recording *r, uint64_t stored, uint64_t lost,
			   uint64_t before_join)
{
	const struct ledger_info *l = recording_ledger(r);
	struct err_text reason = {0};

	if (!recording_adds_up(r, &reason))
		fail_msg("%s", reason.text);
	assert_int_equal(l->produced, 12);
	assert_int_equal(l->stored, stored);
	assert_int_equal(l->lost, lost);
	assert_int_equal(l->before_join, before_join);
}

static void one_stream(void **state)
{
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	first_agent(&b);
	second_agent(&b);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	assert_account(r, 5, 7, 0);
	assert_int_equal(recording_thread(r, 1)->stored, 5);
	assert_int_equal(recording_thread(r, 1)->delivered, 5);
	assert_int_equal(recording_thread(r, 1)->lost, 7);
	assert_int_equal(recording_gaps(r),
			 1); /* the four are in a gap of a batch, which is not here */
	assert_int_equal(recording_gap(r, 0)->events, 3);
	assert_int_equal(recording_gap(r, 0)->reason, HEAPCAST__REASON__REASON_AGENT_GONE);
	/* Modules and stacks are the same, whatever their numbers. */
	assert_int_equal(recording_modules(r), 2);
	assert_int_equal(recording_nodes(r), 2);
	assert_string_equal(recording_module(r, 2)->path, "/lib/library.so");
	/* The free finds the block that the first agent has seen. */
	assert_int_equal(recording_rows(r), 3);
	assert_int_equal(recording_block(r, 0)->end[0], BLOCK_FREED);
	assert_int_equal(recording_block(r, 0)->death_ns[0], 3 * SECOND_NS);
	assert_int_equal(recording_block(r, 0)->stack[2], recording_block(r, 0)->stack[0]);
	assert_int_equal(recording_pairing(r)->orphan_frees, 1);
	assert_int_equal(recording_pairing(r)->bad_references, 0);
	/* The other may have been freed meanwhile: nobody calls it a leak. */
	assert_int_equal(recording_block(r, 0)->end[1], BLOCK_CENSORED);
	assert_int_equal(recording_block(r, 0)->end[2], BLOCK_IN_USE);
	recording_close(r);
	builder_done(&b);
}

/* Who has nothing of the first agent has joined late. */
static void joined_late(void **state)
{
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	second_agent(&b);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	assert_account(r, 3, 4, 5);
	assert_int_equal(recording_gaps(r), 0);
	recording_close(r);
	builder_done(&b);
}

/* The second agent has no longer its first batches when we come back: they are missed, what went
 * with the first is lost, and that is all. */
static void came_back_late(void **state)
{
	struct agent a = {.incarnation = 2,
			  .program = 2,
			  .library = 1,
			  .earlier_delivered = 5,
			  .delivered = 9,
			  .lost = 1,
			  .catch_up = true};
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	first_agent(&b);
	close_batch(&b, &a, 4, 4 * SECOND_NS);
	a.catch_up = false;
	a.delivered = 11;
	builder_free(&b, 5 * SECOND_NS, 1, 0x1000);
	builder_malloc(&b, 5 * SECOND_NS, 1, 0x3000, 128);
	close_batch(&b, &a, 4, 5 * SECOND_NS);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	assert_account(r, 4, 4, 0);
	assert_int_equal(recording_ledger(r)->missed, 4);
	assert_int_equal(recording_gaps(r), 2);
	assert_int_equal(recording_gap(r, 0)->events, 3);
	assert_int_equal(recording_gap(r, 0)->reason, HEAPCAST__REASON__REASON_AGENT_GONE);
	assert_int_equal(recording_gap(r, 1)->events, 4);
	assert_int_equal(recording_gap(r, 1)->reason, HEAPCAST__REASON__REASON_SPOOL_FULL);
	recording_close(r);
	builder_done(&b);
}

/* Batches of the agent that is gone come too late, also as a catch-up. */
static void too_late(void **state)
{
	struct agent old = {.incarnation = 1, .program = 1, .library = 2, .catch_up = true};
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	first_agent(&b);
	second_agent(&b);
	close_batch(&b, &old, 2, 4 * SECOND_NS);
	assert_int_equal(builder_open(&b, b.file.length, &r, NULL), 0);
	assert_account(r, 5, 7, 0);
	assert_int_equal(recording_ledger(r)->duplicate_batches, 1);
	recording_close(r);
	builder_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_stream),
		cmocka_unit_test(joined_late),
		cmocka_unit_test(came_back_late),
		cmocka_unit_test(too_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
