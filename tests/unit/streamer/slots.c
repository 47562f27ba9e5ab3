/* What the place of a stream has room for, by its limit, and with how little memory it says so. */
#include "tests/unit/streamer/scripted.h"

#include <errno.h>

#define MIB (1u << 20)

static struct place {
	struct budget budget;
	struct arena arena;
	struct packer packer;
	struct stream stream;
} place;

/* The same for each attempt: a stream that is initialized in an arena of this size. */
static int init_fixed(size_t size, uint32_t depth)
{
	int r;

	assert_int_equal(arena_open(&place.arena, size), 0);
	r = stream_init(&place.stream, &place.arena, &place.budget, depth, &place.packer);
	return r;
}

/* Whatever size a test has pretended. */
static void close_place(size_t size)
{
	place.arena.size = size;
	arena_close(&place.arena);
}

static size_t lanes_bytes(const struct stream *of)
{
	size_t frames = 0;

	for (uint32_t i = 0; i < of->lane_count; i++)
		frames += of->lane[i].most;
	return frames * sizeof(uint32_t);
}

static uint32_t least(uint32_t a, uint32_t c)
{
	return a < c ? a : c;
}

/* The parts of a slot of fixed size, by its limit: as large as the budget says. */
static void fixed_slots(void **state)
{
	const uint32_t depths[] = {8, 64, 254, 1000};

	(void)state;
	for (unsigned mib = 2; mib <= 32; mib *= 4)
		for (unsigned i = 0; i < 4; i++) {
			struct budget *budget = &place.budget;
			struct stream *of = &place.stream;
			struct err_text err;
			size_t tables;

			assert_int_equal(budget_divide(budget, mib * (uint64_t)MIB, 1, &err), 0);
			budget_maps(budget);
			assert_int_equal(init_fixed(budget_private(budget) + 65536, depths[i]), 0);
			assert_int_equal(of->lane_count, budget_lanes(budget, 1));
			assert_ptr_equal(of->budget, budget);
			assert_ptr_equal(of->packer, &place.packer);
			assert_int_equal(of->threads.capacity, of->lane_count + 256);
			tables = budget->tables;
			assert_int_equal(of->modules.capacity, tables / 16 / 400 < 112 ? 112
							       : tables / 16 / 400 < 1024
								       ? tables / 16 / 400
								       : 1024);
			/* Stacks are as deep as they may be, but a quarter is enough for lanes. */
			assert_true(lanes_bytes(of) <= tables / 4);
			assert_in_range(of->depth_max, 10, depths[i] + 2);
			assert_true(of->depth_max <= of->batch.nodes_max / 2 ||
				    of->batch.nodes_max < budget->message / 8 * 3 / 20);
			if (depths[i] == 8)
				assert_int_equal(of->depth_max, 10);
			else if (depths[i] + 2 <= budget->message / 8 * 3 / 20 / 2 &&
				 of->depth_max < depths[i] + 2)
				assert_true(lanes_bytes(of) > tables / 4 / 2);
			for (uint32_t lane = 0; lane < of->lane_count; lane++) {
				const struct stacks_path *path = &of->lane[lane];

				assert_int_equal(path->most,
						 least(budget_frames(budget, lane), of->depth_max));
				assert_int_equal(path->depth, 0);
				assert_ptr_equal(path->node, lane ? of->lane[lane - 1].node +
									     of->lane[lane - 1].most
								  : of->path);
			}
			/* The rest of the tables is the stack table's, on whole cache lines. */
			assert_int_equal((uintptr_t)of->stacks.cache % 64, 0);
			assert_true(of->stacks.size > tables / 4);
			assert_int_equal(of->batch.nodes_max,
					 least((uint32_t)(budget->message / 8 * 3 / 20),
					       of->stacks.nodes_max / 8));
			assert_int_equal(of->maps.entry != NULL, budget->maps != 0);
			assert_int_equal(of->spool.next, 1);
			arena_close(&place.arena);
		}
}

/* Where a few lanes serve all threads, there are as many as the tables have room for, but 64 at
 * least; then stacks are cut. */
static void fixed_slots_of_no_ring(void **state)
{
	const uint32_t depths[] = {8, 64, 254, 1000};
	struct budget *budget = &place.budget;
	struct stream *of = &place.stream;
	struct err_text err;

	(void)state;
	for (unsigned mib = 2; mib <= 32; mib *= 4)
		for (unsigned i = 0; i < 4; i++) {
			uint32_t room, lanes;

			assert_int_equal(budget_divide(budget, mib * (uint64_t)MIB, 1, &err), 0);
			budget->alike = true;
			lanes = budget_lanes(budget, 1);
			assert_int_equal(init_fixed(budget_private(budget) + 65536, depths[i]), 0);
			room = (uint32_t)(budget->tables / 4 / 4 /
					  least(depths[i] + 2, of->batch.nodes_max / 2));
			if (of->batch.nodes_max == budget->message / 8 * 3 / 20)
				assert_int_equal(of->lane_count, least(lanes, lanes <= 64 ? lanes
									      : room > 64 ? room
											  : 64));
			assert_true(lanes_bytes(of) <= budget->tables / 4);
			for (uint32_t lane = 0; lane < of->lane_count; lane++)
				assert_int_equal(of->lane[lane].most, of->depth_max);
			arena_close(&place.arena);
		}
}

/* With too little memory it says so, whatever is missing. */
static void slots_without_memory(void **state)
{
	struct err_text err;
	size_t size, whole;

	(void)state;
	assert_int_equal(budget_divide(&place.budget, 2 * MIB, 1, &err), 0);
	budget_maps(&place.budget);
	assert_int_equal(init_fixed(2 * MIB, 64), 0);
	whole = place.arena.used;
	assert_true(whole > MIB / 2);
	for (size = whole; size > 0; size = size > 16384 ? size - 16384 : 0) {
		arena_clear(&place.arena);
		place.arena.size = size;
		assert_int_equal(
			stream_init(&place.stream, &place.arena, &place.budget, 64, &place.packer),
			size == whole ? 0 : -ENOMEM);
	}
	arena_clear(&place.arena);
	place.arena.size = whole - 64;
	assert_int_equal(stream_init(&place.stream, &place.arena, &place.budget, 64, &place.packer),
			 -ENOMEM);
	close_place(2 * MIB);
}

/* A place that grows has at first what the smallest level says, and room for the largest. */
static int init_place(size_t size)
{
	int r;

	assert_int_equal(arena_open_sparse(&place.arena, 64 * MIB), 0);
	place.arena.size = size;
	r = stream_init_place(&place.stream, &place.arena, &place.budget, 64, &place.packer);
	return r;
}

static void places_that_grow(void **state)
{
	const struct budget *budget = &place.budget;
	struct stream *of = &place.stream;
	const struct budget_place *first = budget->place, *most;
	struct maps maps;
	struct err_text err;
	size_t whole;

	(void)state;
	memset(of, 0, sizeof(*of));
	pthread_mutex_init(&of->lock, NULL);
	assert_int_equal(budget_divide_elastic(&place.budget, 32 * MIB, 66, true, true, &err), 0);
	most = &budget->place[budget->levels - 1];
	memset(of->id, 0xff, sizeof(*of) - offsetof(struct stream, id));
	assert_int_equal(init_place(budget->virtual), 0);
	whole = place.arena.used;
	assert_true(whole <= budget->virtual);
	assert_int_equal(of->level, 0);
	assert_null(of->source);
	assert_int_equal(of->mode, 0);
	assert_int_equal(of->depth_max, 66);
	assert_int_equal(of->lane_count, budget_lanes(budget, 1));
	for (uint32_t lane = 0; lane < of->lane_count; lane++) {
		assert_int_equal(of->lane[lane].most, least(budget_frames(budget, lane), 66));
		assert_ptr_equal(of->lane[lane].node,
				 lane ? of->lane[lane - 1].node + of->lane[lane - 1].most
				      : of->path);
	}
	assert_int_equal(of->threads.capacity, first->threads);
	assert_int_equal(of->modules.capacity, first->modules);
	assert_int_equal(of->modules.text.size, first->modules * 224);
	assert_int_equal(of->stacks.size, first->stacks);
	assert_ptr_equal(of->stacks.cache, of->stacks_room[0]);
	assert_true(of->stacks_room[1] >= of->stacks_room[0] + most->stacks ||
		    of->stacks_room[0] >= of->stacks_room[1] + most->stacks);
	assert_int_equal(of->batch.size, first->batch);
	assert_int_equal(of->batch.definition_bytes_max, first->definitions);
	assert_non_null(of->maps.entry);

	/* Again, and the maps stay: the observer may still read. */
	maps = of->maps;
	of->image = 7;
	close_place(64 * MIB);
	assert_int_equal(init_place(budget->virtual), 0);
	assert_int_equal(of->image, 0);
	assert_memory_equal(&of->maps, &maps, sizeof(maps));
	assert_int_equal(pthread_mutex_trylock(&of->lock), 0); /* it was given back */
	pthread_mutex_unlock(&of->lock);
	close_place(64 * MIB);

	for (size_t size = whole; size > 0; size = size > 49152 ? size - 49152 : 0) {
		memset(&of->maps, 0, sizeof(of->maps));
		assert_int_equal(init_place(size), size == whole ? 0 : -ENOMEM);
		close_place(64 * MIB);
	}
	assert_int_equal(init_place(whole - 64), -ENOMEM);
	close_place(64 * MIB);
	pthread_mutex_destroy(&of->lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_slots),
		cmocka_unit_test(fixed_slots_of_no_ring),
		cmocka_unit_test(slots_without_memory),
		cmocka_unit_test(places_that_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
