/* How the memory limit is divided: the parts add up to it, each has its share, and what is one byte
 * too little is refused. */
#include "agent/stream/budget.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/core/arena.h"
#include "agent/net/pending_peers.h"
#include "base/error.h"
#include "proto/columns.h"
#include "proto/frame.h"

#define KIB  1024u
#define MIB  (1024u * KIB)
#define PAGE (4 * KIB)

static struct budget divided(uint64_t limit, uint32_t slots)
{
	struct budget b;
	struct err_text err;

	assert_int_equal(budget_divide_paged(&b, limit, slots, PAGE, &err), 0);
	return b;
}

/* Everything that links take, the kernel's buffers included: it takes twice what is asked for. */
static size_t links_take(const struct budget *b)
{
	return b->links * (b->link_out + b->link_in + 2 * b->socket_buffer);
}

static size_t slot_of(const struct budget *b)
{
	return (b->limit - b->own - links_take(b) - b->message - FRAME_HEADROOM - b->scratch) /
	       b->slots;
}

static size_t within(size_t value, size_t low, size_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* No more than the limit; and less than two pages for each slot remain. */
static void test_adds_up(void **state)
{
	(void)state;
	for (uint64_t limit = 2 * MIB; limit < 200 * MIB; limit += limit / 7 + 12345) {
		struct budget b = divided(limit, 0);
		uint64_t all = b.own + b.links * 2 * b.socket_buffer + budget_private(&b) +
			       b.slots * b.ring;

		assert_true(all <= limit + PAGE); /* budget_private rounds up by a page */
		assert_true(all + b.slots * 2 * PAGE >= limit);
	}
}

static void test_shares(void **state)
{
	(void)state;
	for (uint64_t limit = 2 * MIB; limit < 200 * MIB; limit += limit / 3 + 54321) {
		struct budget b = divided(limit, 1);
		size_t rest = limit - b.own - links_take(&b), slot = slot_of(&b);
		bool large = slot >= 4 * MIB;

		assert_int_equal(b.own, budget_own(PAGE));
		assert_int_equal(b.message, within(rest / 10, 64 * KIB, 512 * KIB));
		assert_int_equal(b.scratch, 52 * KIB + b.message / 2);
		assert_int_equal(b.batch, frame_bound(b.message));
		assert_int_equal(b.state,
				 within(b.message / 5, EVENTS_STATE_MIN, EVENTS_STATE_BEST));
		assert_int_equal(b.ring, slot * (large ? 38ull : 28ull) / 100 / PAGE * PAGE);
		assert_int_equal(b.tables, slot * (large ? 39ull : 42ull) / 100 / PAGE * PAGE);
		assert_int_equal(b.spool % PAGE, 0);
	}
}

/* A slot of 4 MiB is large, one that is a byte smaller is not. */
static void test_large(void **state)
{
	uint64_t low = 4 * MIB, high = 8 * MIB;
	struct budget b;

	(void)state;
	while (low + 1 < high) {
		uint64_t middle = (low + high) / 2;

		b = divided(middle, 1);
		if (slot_of(&b) < 4 * MIB)
			low = middle;
		else
			high = middle;
	}
	b = divided(high, 1);
	assert_int_equal(slot_of(&b), 4 * MIB);
	assert_int_equal(b.ring, 4ull * MIB * 38 / 100 / PAGE * PAGE);
	b = divided(low, 1);
	assert_int_equal(b.ring, (4ull * MIB - 1) * 28 / 100 / PAGE * PAGE);
}

static void test_slots(void **state)
{
	static const struct {
		uint64_t limit;
		uint32_t slots, links;
	} cases[] = {
		{2 * MIB, 1, 2},	 {4 * MIB - 1, 1, 2},
		{4 * MIB, 2, 4}, /* room for a second slot, and for more collectors */
		{6 * MIB - 1, 2, 4},	 {6 * MIB, 3, 4},
		{511 * MIB, 255, 4},	 {512 * MIB, 256, 4},
		{1024ull * MIB, 256, 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct budget b = divided(cases[i].limit, 0);

		assert_int_equal(b.slots, cases[i].slots);
		assert_int_equal(b.links, cases[i].links);
		assert_int_equal(b.limit, cases[i].limit);
	}
}

/* Large pages leave room for fewer slots; those that were asked for are refused instead. */
static void test_large_pages(void **state)
{
	const size_t page = 64 * KIB;
	const uint64_t least = 2 * MIB + budget_own(page) - budget_own(PAGE);
	struct budget b, few;
	struct err_text err;

	(void)state;
	assert_int_equal(budget_own(page) - budget_own(PAGE), 32 * 60 * KIB);
	assert_int_equal(budget_divide_paged(&b, least - 1, 1, page, &err), -EINVAL);
	assert_int_equal(budget_divide_paged(&b, least, 1, page, &err), 0);
	assert_int_equal(b.ring % page, 0);
	assert_int_equal(b.links, 2);
	assert_int_equal(budget_divide_paged(&few, 4 * MIB, 0, page, &err), 0);
	assert_int_equal(few.slots, 1);
	assert_int_equal(budget_divide_paged(&b, 4 * MIB, 2, page, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too little for 2 programs"));
}

static void test_least(void **state)
{
	struct budget b;
	struct err_text err;
	uint64_t limit = budget_least();

	(void)state;
	assert_int_equal(budget_divide(&b, limit, 1, &err), 0);
	assert_int_equal(budget_divide(&b, limit - 1, 1, &err), -EINVAL);
	assert_non_null(strstr(err.text, "is too little: the least is"));
	assert_int_equal(budget_divide(&b, SIZE_MAX / 2, 1, &err), 0);
	assert_int_equal(budget_divide(&b, SIZE_MAX / 2 + 1ull, 1, &err), -EINVAL);
	assert_non_null(strstr(err.text, "more than this machine can address"));
}

/* TLS takes the same from every limit; what remains of the least limit that it lets pass can be
 * divided, and one byte less is refused. */
static void test_secure(void **state)
{
	uint64_t limit = 64 * MIB, takes, least;
	struct budget b;
	struct err_text err;

	(void)state;
	assert_int_equal(budget_secure(&limit, PENDING_PEERS_SESSIONS, &err), 0);
	takes = 64 * MIB - limit;
	assert_true(takes > 0);
	least = budget_least() + takes;
	limit = least;
	assert_int_equal(budget_secure(&limit, PENDING_PEERS_SESSIONS, &err), 0);
	assert_int_equal(limit, budget_least());
	assert_int_equal(budget_divide(&b, limit, 1, &err), 0);
	limit = least - 1;
	assert_int_equal(budget_secure(&limit, PENDING_PEERS_SESSIONS, &err), -EINVAL);
	assert_int_equal(limit, least - 1);
}

static void test_holding(void **state)
{
	const uint64_t limit = 8 * MIB;
	struct budget b, plain;
	struct err_text err;
	size_t least;

	(void)state;
	assert_int_equal(budget_divide_holding(&b, limit, 2, MIB, "culling", &err), 0);
	assert_int_equal(budget_divide(&plain, limit - MIB, 2, &err), 0);
	assert_int_equal(b.limit, limit);
	assert_int_equal(b.message, plain.message);
	assert_int_equal(b.hold_message, b.message / 4);
	assert_int_equal(b.scratch, plain.scratch + b.hold_message);
	assert_int_equal(b.hold, (MIB - b.hold_message) / 2 / 64 * 64);
	assert_int_equal(budget_private(&b) - budget_private(&plain), b.hold_message + 2 * b.hold);

	for (size_t more = 0; more < 130; more++) { /* whole lines of the cache */
		assert_int_equal(budget_divide_holding(&b, limit, 1, MIB + more, "culling", &err),
				 0);
		assert_int_equal(b.hold, (MIB + more - b.hold_message) / 64 * 64);
	}
	assert_int_equal(budget_divide_holding(&b, limit, 2, MIB, "culling", &err), 0);
	/* Each program needs 64 KiB beside the sums in the message. */
	for (least = b.hold_message + 64 * KIB;
	     budget_divide_holding(&b, limit, 2, least, "culling", &err) < 0; least++)
		;
	assert_int_equal(least, b.hold_message + 2 * 64 * KIB);
	assert_int_equal(b.hold, 64 * KIB);
	assert_int_equal(budget_divide_holding(&b, limit, 2, least - 1, "culling", &err), -EINVAL);
	assert_non_null(strstr(err.text, "is too little for culling: 2 programs"));

	assert_int_equal(budget_divide_holding(&b, MIB, 1, MIB, "culling", &err), -EINVAL);
	assert_non_null(strstr(err.text, "is all of a memory limit"));
	assert_int_equal(budget_divide_holding(&b, MIB, 1, MIB - 1, "culling", &err), -EINVAL);
	assert_non_null(strstr(err.text, "for culling taken off: "));
}

static void test_maps(void **state)
{
	static const struct {
		uint64_t limit;
		uint32_t slots;
		size_t maps;
	} cases[] = {
		{2 * MIB, 1, 16 * KIB},				       /* the least */
		{4 * MIB, 1, 32 * KIB},				       /* a 128th of the limit */
		{16 * MIB, 2, 64 * KIB},			       /* of each of two */
		{5 * MIB, 1, 40 * KIB},	 {5 * MIB - 128, 1, 36 * KIB}, /* whole pages */
		{256 * MIB, 1, MIB},				       /* the most */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct budget b = divided(cases[i].limit, cases[i].slots);
		const size_t spool = b.spool, all = budget_private(&b);

		budget_maps(&b);
		assert_int_equal(b.maps, cases[i].maps);
		assert_int_equal(b.spool, spool - b.maps);
		assert_int_equal(budget_private(&b), all);
	}
}

static void test_fixed(void **state)
{
	struct budget b = divided(4 * MIB, 1);

	(void)state;
	budget_maps(&b);
	b.hold_message = 999;
	budget_fix(&b);
	assert_int_equal(b.levels, 1);
	assert_int_equal(b.place[0].columns, b.message / 2 - 999 - 64);
	assert_int_equal(b.place[0].nodes, b.message / 8 * 3);
	assert_int_equal(b.place[0].definitions, b.message / 8);
	assert_int_equal(b.place[0].batch, b.batch);
	assert_int_equal(b.place[0].state, b.state);
	assert_int_equal(b.place[0].spool, b.spool);
	assert_int_equal(b.place[0].maps, b.maps);
}

static struct budget elastic(uint64_t limit, uint32_t depth, bool links, bool maps)
{
	struct budget b;
	struct err_text err;

	assert_int_equal(budget_divide_elastic(&b, limit, depth, links, maps, &err), 0);
	return b;
}

/* What all share and the room are the limit; a batch has room for its parts; levels grow. */
static void test_elastic(void **state)
{
	(void)state;
	for (uint64_t limit = budget_least(); limit < 100 * MIB; limit += limit / 3) {
		struct budget b = elastic(limit, 64, true, false);
		const struct budget_place *p = b.place;
		uint64_t all =
			b.own + b.links * 2 * b.socket_buffer + budget_private(&b) + b.room.size;

		assert_int_equal(all, limit + 4096);
		assert_int_equal(b.room.growth, b.room.size * 30ull / 100);
		assert_int_equal(b.slots, within(b.room.size / (p[0].cost + 37 * KIB), 1, 256));
		assert_int_equal(b.message, within(((uint64_t)b.room.size + b.message +
						    FRAME_HEADROOM + b.scratch) *
								   30 / 100 / 10 +
							   16 * KIB,
						   40 * KIB, 512 * KIB) +
						    8 * KIB);
		assert_int_equal(b.scratch, 52 * KIB + b.message / 2);
		for (uint32_t k = 0; k < b.levels; k++) {
			size_t parts = p[k].columns + p[k].nodes + p[k].definitions;

			assert_int_equal(p[k].batch, frame_bound(parts + 8 * KIB));
			assert_true(parts + 8 * KIB <= b.message);
			assert_true(p[k].spool >= p[k].batch + 2 * KIB);
			assert_true(p[k].cost >=
				    p[k].stacks + p[k].batch + p[k].state + p[k].spool + p[k].maps);
			assert_true(!k || p[k].cost > p[k - 1].cost);
		}
		assert_int_equal(b.ring, b.shape.size[b.levels - 1]);
		assert_int_equal(b.spool, p[b.levels - 1].spool);
		assert_true(b.virtual >= 2 * p[b.levels - 1].stacks + p[b.levels - 1].batch +
						 p[b.levels - 1].spool);
	}
}

/* A level is twice the one before, from 320 KiB on; a quarter of it is ring. The largest takes at
 * most 30 % of the room and half of the first. */
static void test_levels(void **state)
{
	(void)state;
	for (uint64_t limit = budget_least(); limit < 400 * MIB; limit += limit / 5) {
		struct budget b = elastic(limit, 64, false, false);
		const uint64_t most = b.room.size * 30ull / 100 + 160 * KIB;
		const uint64_t last = (uint64_t)(320 * KIB) << (b.levels - 2);

		assert_int_equal(b.links, 1);
		assert_int_equal(b.shape.size[0], 42 * KIB);
		assert_true(b.levels >= 2 && last <= most);
		/* All processes at their largest have to fit into the address space. */
		if (b.levels < RING_STEPS_MAX && 2 * last <= SIZE_MAX / 8 / BUDGET_SLOTS_MAX)
			assert_true(2 * last > most);
		for (uint32_t k = 1; k < b.levels; k++) {
			size_t size = (size_t)(320 * KIB) << (k - 1);

			assert_int_equal(b.shape.size[k], size / 4);
			assert_int_equal(b.place[k].modules, within(40u << k, 0, 1024));
			assert_int_equal(b.place[k].columns,
					 within(size / 10, 40 * KIB, 512 * KIB) / 2 - 64);
			assert_int_equal(b.place[k].stacks % PAGE, 0);
			assert_true(b.place[k].stacks <= size * 36 / 100);
			assert_true(b.place[k].stacks + PAGE > size * 36 / 100 / 2);
		}
	}
}

/* Deep backtraces take more of a place that is young; maps take a part of each level. */
static void test_young(void **state)
{
	struct budget b = elastic(16 * MIB, 511, true, false), maps;

	(void)state;
	assert_int_equal(b.place[0].stacks, 24 * KIB);
	assert_int_equal(b.place[0].maps, 0);
	assert_int_equal(b.place[0].definitions, 2560);
	b = elastic(16 * MIB, 512, true, false);
	assert_int_equal(b.place[0].stacks, 2 * 24 * KIB);
	b = elastic(16 * MIB, 1024, true, false);
	assert_int_equal(b.place[0].stacks, 4 * 24 * KIB);
	b = elastic(16 * MIB, 64, true, false);
	maps = elastic(16 * MIB, 64, true, true);
	assert_int_equal(maps.levels, b.levels);
	for (uint32_t k = 0; k < maps.levels; k++) {
		assert_int_equal(maps.place[k].maps, 16 * KIB);
		assert_true(maps.place[k].definitions >= 6 * KIB + MAPS_BESIDE);
	}
}

static void test_room(void **state)
{
	struct room room = {.size = 100, .growth = 40};

	(void)state;
	assert_true(room_take(&room, 60, ROOM_YOUNG)); /* more than growth may take */
	assert_false(room_take(&room, 41, ROOM_YOUNG));
	assert_int_equal(room.used, 60);
	assert_int_equal(room.grown, 0);
	assert_true(room_take(&room, 40, ROOM_GROWING));
	assert_int_equal(room.used, 100);
	assert_int_equal(room.grown, 40);
	room_give(&room, 60, ROOM_YOUNG);
	assert_int_equal(room.grown, 40);
	assert_false(room_take(&room, 1, ROOM_GROWING));
	assert_int_equal(room.used, 40);
	assert_int_equal(room.grown, 40);
	assert_true(room_take(&room, 60, ROOM_MUST));
	assert_int_equal(room.grown, 100);
	assert_false(room_take(&room, 1, ROOM_MUST));
	room_give(&room, 100, ROOM_MUST);
	assert_int_equal(room.used, 0);
	assert_int_equal(room.grown, 0);
	/* What takes nothing may always grow. */
	room.growth = 0;
	assert_true(room_take(&room, 0, ROOM_GROWING));
}

static void test_arena(void **state)
{
	struct arena a, part, none;
	uint8_t *first, *second;

	(void)state;
	assert_int_equal(arena_open(&a, 2 * PAGE), 0);
	assert_int_equal(a.size, 2 * PAGE);
	first = arena_take(&a, 1);
	second = arena_take(&a, 64);
	assert_ptr_equal(first, a.memory);
	assert_ptr_equal(second, a.memory + 64);
	part = arena_part(&a, 2 * PAGE - 128);
	assert_ptr_equal(part.memory, a.memory + 128);
	assert_int_equal(part.size, 2 * PAGE - 128);
	assert_int_equal(a.used, a.size);
	assert_null(arena_take(&a, 1));
	none = arena_part(&a, 1);
	assert_null(none.memory);
	assert_int_equal(none.size, 0);
	assert_int_equal(a.used, a.size);
	arena_clear(&a);
	assert_null(arena_take(&a, 2 * PAGE + 1));
	assert_non_null(arena_take(&a, 1));
	assert_null(arena_take(&a, 2 * PAGE - 63)); /* a byte more than behind the gap */
	assert_non_null(arena_take(&a, 2 * PAGE - 64));
	arena_close(&a);
	assert_null(a.memory);

	assert_int_equal(arena_open_sparse(&a, 4 * PAGE), 0);
	memset(arena_take(&a, 100), 7, 100);
	arena_drop(&a);
	assert_int_equal(a.used, 0);
	assert_int_equal(a.memory[5], 0);
	arena_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adds_up),	    cmocka_unit_test(test_shares),
		cmocka_unit_test(test_large),	    cmocka_unit_test(test_slots),
		cmocka_unit_test(test_large_pages), cmocka_unit_test(test_least),
		cmocka_unit_test(test_secure),	    cmocka_unit_test(test_holding),
		cmocka_unit_test(test_maps),	    cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_elastic),	    cmocka_unit_test(test_levels),
		cmocka_unit_test(test_young),	    cmocka_unit_test(test_room),
		cmocka_unit_test(test_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
