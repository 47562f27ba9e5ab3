/* The stack table forgets: generations of nodes, in the table and as a collector sees them. */
#include "tests/unit/streamer/harness.h"

#define PREFIX	3
#define EVENTS	60000
#define CHUNK	20
#define PC_BASE UINT64_C(0x1000000)

static struct stacks_path none;					    /* no stack is numbered */
static const uint64_t prefix[PREFIX] = {0x50030, 0x50020, 0x50010}; /* innermost first */

static void test_table(void **state)
{
	static uint8_t memory[128 << 10];
	uint32_t node[2], used, number;
	struct stacks_path path = {.node = node, .depth = 2};
	struct stacks s;
	struct stack_node got;

	(void)state;
	stacks_init(&s, memory, sizeof(memory));
	stacks_child(&s, 0, 7, 70); /* so that those held must move */
	node[0] = stacks_child(&s, 0, 1, 10);
	node[1] = stacks_child(&s, node[0], 2, 20);
	while (stacks_has_room(&s, 2))
		assert_false(stacks_is_cut(&s, stacks_child(&s, node[1], 3, s.nodes)));
	used = s.nodes;
	number = stacks_number(&s, node[1]);
	assert_true(stacks_renew(&s, &path, 1, &none));
	assert_int_equal(s.base, used);
	assert_int_equal(s.nodes, 2);
	assert_int_equal(s.places, 2);
	assert_int_equal(s.sent, 0);
	assert_false(stacks_get(&s, number, &got));
	assert_int_equal(got.parent, 0);
	assert_int_equal(got.module, 0);
	assert_int_equal(got.offset, HEAPCAST__PSEUDO_FRAME__FRAME_FORGOTTEN);
	assert_true(stacks_get(&s, stacks_number(&s, node[1]), &got));
	assert_int_equal(got.parent, stacks_number(&s, node[0]));
	assert_int_equal(got.module, 2);
	assert_int_equal(got.offset, 20);
	assert_int_equal(stacks_child(&s, 0, 1, 10), node[0]);
	assert_int_equal(stacks_child(&s, node[0], 2, 20), node[1]);
	assert_true(stacks_child(&s, node[1], 3, 5) > node[1]);
}

static uint32_t slots_used(const struct stacks *s)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < s->places_slots; i++)
		used += s->place_index[i] != 0;
	return used;
}

/* More than half is held: nothing changes, and stacks are cut as the table says. */
static void test_held(void **state)
{
	static uint8_t memory[128 << 10];
	static uint32_t node[8192];
	struct stacks_path path = {.node = node};
	struct stacks s;

	(void)state;
	stacks_init(&s, memory, sizeof(memory));
	for (uint32_t at = 0; stacks_has_room(&s, 1) && path.depth < 8192; path.depth++)
		node[path.depth] = at = stacks_child(&s, at, 1, path.depth % 7);
	assert_true(s.nodes > s.nodes_max / 2);
	assert_false(stacks_renew(&s, &path, 1, &none));
	assert_int_equal(s.base, 0);
	assert_int_equal(slots_used(&s), s.places); /* each place once, or the index fills up */
	for (uint32_t i = 0, at = 0; i < path.depth; i++)
		assert_int_equal(at = stacks_child(&s, at, 1, i % 7), node[i]);
	assert_true(stacks_is_cut(&s, stacks_child(&s, node[0], 9, 99)));
}

/* Each held node counts, once; so does the room that is left for numbers. */
static void test_limits(void **state)
{
	static uint8_t memory[128 << 10];
	static uint32_t one[1], node[8192];
	struct stacks_path path[2] = {{.node = one, .depth = 1}, {.node = node}};
	struct stack_node got;
	struct stacks s;

	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		stacks_init(&s, memory, sizeof(memory));
		one[0] = stacks_child(&s, 0, 7, 70);
		path[1].depth = s.nodes_max / 2 - 1 + more;
		assert_true(path[1].depth < 8192);
		for (uint32_t i = 0, at = 0; i < path[1].depth; i++)
			node[i] = at = stacks_child(&s, at, 1, i % 7);
		assert_int_equal(stacks_renew(&s, path, 2, &none), !more);
		assert_true(stacks_get(&s, stacks_number(&s, one[0]), &got));
		assert_int_equal(got.module, 7);
		assert_int_equal(got.offset, 70);
	}
	for (uint32_t more = 0; more < 2; more++) {
		stacks_init(&s, memory, sizeof(memory));
		one[0] = stacks_child(&s, stacks_child(&s, 0, 7, 70), 8, 80);
		s.base = STACKS_NUMBER_MAX - 2 * s.nodes_max + more;
		assert_int_equal(stacks_renew(&s, path, 1, &none), !more);
		assert_int_equal(s.nodes, 2);
		assert_int_equal(one[0], 2);
	}
	/* Nothing is held: it begins anew. */
	stacks_child(&s, 0, 9, 90);
	s.base = 5;
	path[0].depth = 0;
	assert_true(stacks_renew(&s, path, 1, &none));
	assert_int_equal(s.nodes, 0);
	assert_int_equal(s.base, 8);
}

#define TURNS 3 /* places below a node */

/* What the table must answer: by node and turn, the child, 0: none. */
struct tree {
	uint32_t child[16384][TURNS];
};

/* Asks for a child in one of the two ways in which the stream does. */
static uint32_t go_down(struct stacks *s, struct tree *tree, uint32_t node, uint32_t turn,
			bool next)
{
	uint32_t place = stacks_place(s, 1, turn), known = tree->child[node][turn],
		 nodes = s->nodes, got = next ? stacks_next(s, node, place) : 0;

	if (!got)
		got = stacks_below(s, node, place);
	assert_int_equal(got, known ? known : nodes + 1);
	assert_int_equal(s->nodes, known ? nodes : nodes + 1);
	assert_true(got < 16384);
	tree->child[node][turn] = got;
	return got;
}

static void read_tree(const struct stacks *s, struct tree *tree)
{
	memset(tree, 0, sizeof(*tree));
	for (uint32_t i = 1; i <= s->nodes; i++) {
		uint32_t turn = (uint32_t)(s->place[s->node[i].place] & STACKS_OFFSET_MAX);

		assert_true(s->node[i].parent < i);
		assert_int_equal(tree->child[s->node[i].parent][turn], 0);
		tree->child[s->node[i].parent][turn] = i;
	}
}

/* A node is found again, whether it is the one after its parent or another, also after the table
 * has forgotten others, moved, or both. */
static void test_chains(void **state)
{
	static uint8_t memory[2][192 << 10];
	static struct tree tree;
	static uint32_t node[40];
	struct stacks_path path = {.node = node};
	struct stacks s;
	uint32_t renewed = 0, into = 1;

	(void)state;
	srandom(5);
	stacks_init(&s, memory[0], 128 << 10);
	while (renewed < 20) {
		uint32_t at = 0;

		path.depth = 0;
		for (uint32_t depth = (uint32_t)random() % 40; path.depth < depth;) {
			at = go_down(&s, &tree, at, (uint32_t)random() % TURNS,
				     (uint32_t)random() % 2);
			node[path.depth++] = at;
		}
		if (stacks_has_room(&s, 40))
			continue;
		assert_true(stacks_renew(&s, &path, 1, &none));
		if (++renewed % 5 == 0) {
			stacks_move(&s, memory[into], sizeof(memory[0]));
			into = !into;
		}
		read_tree(&s, &tree);
		at = 0;
		for (uint32_t i = 0; i < path.depth; at = node[i++])
			assert_int_equal(s.node[node[i]].parent, at);
	}
}

/* What a collector knows. */
struct knowledge {
	struct stack_node node[4 * EVENTS];
	uint32_t nodes;
	uint64_t events, forgotten;
};

static void learn(struct knowledge *k, const Heapcast__Stacks *stacks)
{
	struct stacks_decoder d;
	struct err_text err;
	struct stack_node node;
	uint32_t number;

	if (!stacks)
		return;
	assert_int_equal(stacks_decoder_init(&d, stacks, &err), 0);
	while (stacks_decoder_next(&d, &number, &node, &err) == 1) {
		assert_int_equal(number, k->nodes + 1); /* no hole, nothing twice */
		assert_true(node.parent < number);
		k->node[k->nodes++] = node;
	}
}

/* The stack of each event must be the one that it had, which its address tells; or be said to be
 * forgotten. */
static bool is_forgotten(const struct knowledge *k, uint32_t at)
{
	return at && k->node[at - 1].offset == HEAPCAST__PSEUDO_FRAME__FRAME_FORGOTTEN;
}

static void check_event(struct knowledge *k, const struct event *e)
{
	uint32_t at = e->stack;

	assert_in_range(at, 1, k->nodes);
	k->events++;
	if (is_forgotten(k, at) || is_forgotten(k, k->node[at - 1].parent)) {
		k->forgotten++;
		return;
	}
	assert_int_equal(k->node[at - 1].offset, PC_BASE + e->address);
	for (unsigned i = 0; i < PREFIX; i++) {
		at = k->node[at - 1].parent;
		assert_in_range(at, 1, k->nodes);
		assert_int_equal(k->node[at - 1].offset, prefix[i]);
	}
	assert_int_equal(k->node[at - 1].parent, 0);
}

static void read_batch(struct knowledge *k, struct bench *b, uint64_t number)
{
	Heapcast__Batch *batch = bench_batch(b, number);
	struct events_decoder d;
	struct err_text err;
	struct event e;

	learn(k, batch->stacks);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->stacks_cut, 0);
	if (batch->events) {
		assert_int_equal(events_decoder_init(&d, batch->events, &err), 0);
		while (events_decoder_next(&d, &e, &err) == 1)
			check_event(k, &e);
		events_decoder_done(&d);
	}
	heapcast__batch__free_unpacked(batch, NULL);
}

static void catch_up(struct knowledge *k, struct bench *b, struct catch_up *c)
{
	static uint8_t out[64 << 10];
	const uint8_t *message;
	struct err_text err;
	size_t size;
	long length;

	while ((length = batch_pack_catch_up(&b->stream, &b->packer, c, out, sizeof(out))) > 0) {
		Heapcast__Batch *batch;

		assert_int_equal(
			frame_decode(b->decoder, out, (size_t)length, &message, &size, &err), 0);
		batch = heapcast__batch__unpack(NULL, size, message);
		assert_non_null(batch);
		learn(k, batch->stacks);
		heapcast__batch__free_unpacked(batch, NULL);
	}
	assert_int_equal(length, 0);
}

/* A program with more stacks than the table holds: none is cut, all arrive as they were; a
 * latecomer gets what is known. */
static void test_stream(void **state)
{
	static struct knowledge all, late;
	struct bench b = {0};
	struct writer w;
	uint64_t read = 1, pcs[PREFIX + 1];
	bool whole = true;
	struct catch_up c;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	memcpy(pcs + 1, prefix, sizeof(prefix));
	for (uint64_t i = 1; i <= EVENTS; i++) {
		pcs[0] = PC_BASE + i * 16;
		if (i % 50 == 7) { /* the first stack again, which has a number */
			writer_event(&w, 1, 16, 24, clock_monotonic_ns(), RING_RECALL + 3, 0, NULL);
			whole = true;
		} else {
			writer_event(&w, 1, i * 16, 24, clock_monotonic_ns(), whole ? 0 : PREFIX,
				     whole ? PREFIX + 1 : 1, pcs);
			whole = false;
		}
		if (i == 1) {
			writer_word(&w, RING_SAVE);
			writer_word(&w, 3);
			writer_word(&w, clock_monotonic_ns());
			writer_publish(&w);
		}
		if (i % CHUNK)
			continue;
		usleep(60); /* past the slack of stamps */
		bench_drain(&b, false);
		for (; read < b.stream.spool.next; read++)
			read_batch(&all, &b, read);
		spool_ack(&b.stream.spool, read - 1, read - 1);
	}
	usleep(200);
	bench_drain(&b, true);
	for (; read < b.stream.spool.next; read++)
		read_batch(&all, &b, read);
	assert_int_equal(all.events, EVENTS);
	assert_int_equal(all.forgotten, 0);
	assert_int_equal(b.stream.stacks_cut, 0);
	assert_true(b.stream.stacks.generations >= 2);
	c = catch_up_begin(&b.stream.spool, true);
	assert_true(c.next > 1);
	catch_up(&late, &b, &c);
	assert_int_equal(late.nodes, c.gone.nodes);
	for (uint64_t number = c.next; number < b.stream.spool.next; number++)
		read_batch(&late, &b, number);
	assert_int_equal(late.nodes, all.nodes);
	assert_true(late.events > late.forgotten);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),  cmocka_unit_test(test_held),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_chains),
		cmocka_unit_test(test_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
