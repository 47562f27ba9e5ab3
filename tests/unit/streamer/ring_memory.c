/* The ring's memory: every limit gives slices of all sizes, apart from each other and inside of the
 * ring; and only a ring that an agent made is taken over. */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ring/ring_memory.h"

static uint32_t slices_of(uint64_t limit, uint32_t slots, struct budget *b)
{
	struct err_text err;

	assert_int_equal(budget_divide(b, limit, slots, &err), 0);
	return ring_slice_count(&b->shape, 1);
}

static void check_layout(uint64_t limit, uint32_t slots)
{
	struct budget b;
	uint32_t count = slices_of(limit, slots, &b);
	struct ring_memory *ring = calloc(1, ring_memory_struct_size(&b.shape));
	uint64_t end;

	assert_non_null(ring);
	assert_int_equal(ring_memory_open(ring, &b.shape, &(struct ring_settings){0}), 0);
	assert_true(ring->size <= b.ring);
	assert_int_equal(ring->slice_count, count);
	end = ring->header->data_offset;
	assert_true(end >= ring->header->modules_offset + ring->modules_size);
	assert_true(ring->header->modules_offset >=
		    ring->header->slices_offset + count * sizeof(struct ring_slice));
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(ring->extent[i].offset, end);
		assert_int_equal(ring->extent[i].words, ring_slice_words(&b.shape, i));
		assert_int_equal(ring->slices[i].words, ring->extent[i].words);
		end += ring->extent[i].words * 8;
	}
	assert_true(end <= ring->size);
	assert_int_equal(ring->extent[0].words, RING_MIN_WORDS);
	ring_memory_close(ring);
	free(ring);
}

static void test_layouts(void **state)
{
	(void)state;
	check_layout(2u << 20, 1);
	check_layout(8u << 20, 1);
	check_layout(8u << 20, 0);
	check_layout(20u << 20, 1);
}

/* 500 threads at once have a slice each at the default limit, and a single busy one half a
 * megabyte. */
static void test_crowd(void **state)
{
	struct budget b;
	uint32_t count = slices_of(8u << 20, 1, &b), first = 0;

	(void)state;
	assert_in_range(count, 501, RING_SLICES_MAX);
	for (uint32_t i = 0; i < count; i++)
		first += ring_slice_words(&b.shape, i) == RING_FIRST_WORDS;
	assert_true(first >= 12);
	assert_int_equal(ring_slice_words(&b.shape, count - 1), (512 << 10) / 8);
	assert_in_range(slices_of(1u << 30, 1, &b), 501, RING_SLICES_MAX);
}

/* ---- layouts ---- */

#define CLASSES 5

/* Slices of each size in each step: 2, 8, 32, 128 and 512 KiB. */
static const struct layout {
	struct ring_shape shape;
	uint64_t modules, set;
	uint32_t slices[RING_STEPS_MAX][CLASSES];
} layouts[] = {
	{{1, {64 << 20}}, 64 << 10, 1 << 20, {{484, 220, 128, 82, 72}}},
	{{1, {256 << 20}}, 64 << 10, 1 << 20, {{484, 220, 128, 96, 96}}},
	{{1, {256 << 10}}, 16 << 10, 8 << 10, {{33, 2, 4, 0, 0}}},
	{{1, {400 << 10}}, 16 << 10, 16 << 10, {{53, 5, 2, 1, 0}}},
	{{1, {(1 << 20) - 4096}}, 16 << 10, 32 << 10, {{140, 6, 6, 3, 0}}},
	{{1, {1 << 20}}, 64 << 10, 32 << 10, {{223, 4, 3, 2, 0}}},
	{{1, {1536 << 10}}, 64 << 10, 64 << 10, {{343, 8, 4, 3, 0}}},
	{{1, {4 << 20}}, 64 << 10, 128 << 10, {{484, 29, 14, 4, 3}}},
	{{4, {96 << 10, 256 << 10, 1 << 20, 8 << 20}},
	 8 << 10,
	 4 << 10,
	 {{11, 2, 1, 0, 0}, {22, 1, 3, 0, 0}, {179, 6, 1, 2, 0}, {272, 65, 34, 10, 7}}},
	{{2, {128 << 10, 4 << 20}}, 8 << 10, 4 << 10, {{16, 1, 2, 0, 0}, {468, 30, 17, 4, 3}}},
};

#define LARGE	2 /* of these, the first: they are not opened */
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* Memory for it. What lies behind is no extent of a slice. */
static struct ring_memory *new_ring(const struct ring_shape *shape)
{
	size_t size = ring_memory_struct_size(shape);
	struct ring_memory *ring = malloc(size + sizeof(ring->extent[0]));

	assert_non_null(ring);
	memset(ring, 0xff, size + sizeof(ring->extent[0]));
	*ring = (struct ring_memory){.fd = -1, .lock = -1};
	return ring;
}

static struct ring_memory *open_ring(const struct ring_shape *shape,
				     const struct ring_settings *settings)
{
	struct ring_memory *ring = new_ring(shape);

	assert_int_equal(ring_memory_open(ring, shape, settings), 0);
	return ring;
}

static void close_ring(struct ring_memory *ring)
{
	ring_memory_close(ring);
	assert_int_equal(ring->fd, -1);
	assert_int_equal(ring->lock, -1);
	free(ring);
}

/* What the kernel has given for it. */
static uint64_t backed_bytes(const struct ring_memory *ring)
{
	struct stat st;

	assert_int_equal(fstat(ring->fd, &st), 0);
	assert_int_equal(st.st_size, ring->size);
	return (uint64_t)st.st_blocks * 512;
}

/* Small ones first. */
static void test_sizes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LAYOUTS; i++) {
		const struct layout *l = &layouts[i];
		uint32_t index = 0;

		for (uint32_t step = 0; step < l->shape.steps; step++) {
			for (unsigned class = 0; class < CLASSES; class ++)
				for (uint32_t k = 0; k < l->slices[step][class]; k++)
					assert_int_equal(ring_slice_words(&l->shape, index++),
							 RING_MIN_WORDS << 2 * class);
			assert_int_equal(index, ring_slice_count(&l->shape, step + 1));
		}
	}
}

/* The slices of a step lie one behind the other. Returns the end of their data. */
static uint64_t check_step(const struct ring_memory *ring, const struct layout *l, uint32_t step,
			   uint64_t at)
{
	uint32_t index = step ? ring_slice_count(&l->shape, step) : 0,
		 end = ring_slice_count(&l->shape, step + 1);

	for (; index < end; index++) {
		uint64_t words = ring_slice_words(&l->shape, index);

		assert_int_equal(ring->extent[index].words, words);
		assert_int_equal(ring->extent[index].offset, at);
		assert_int_equal(ring->slices[index].words, words);
		assert_int_equal(ring->slices[index].data_offset, at);
		at += 8 * words;
	}
	assert_int_equal(ring->slices[index].words | ring->slices[index].data_offset, 0);
	assert_int_equal(ring->slice_count, index);
	assert_int_equal(ring->header->slice_count, index);
	assert_int_equal(ring->steps, step + 1);
	return at;
}

static void check_places(const struct ring_memory *ring, const struct layout *l)
{
	const struct ring_header *h = ring->header;
	uint32_t most = ring_slice_count(&l->shape, l->shape.steps);

	assert_int_equal(h->size, ring->size);
	assert_true(h->size <= l->shape.size[l->shape.steps - 1] + (l->shape.steps > 1) * 65536);
	assert_int_equal(h->slices_most, most);
	assert_int_equal(h->slices_offset, RING_HEADER_SIZE);
	assert_int_equal(h->modules_size, l->modules);
	assert_int_equal(ring->modules_size, l->modules);
	assert_int_equal(h->set_lines * sizeof(struct ring_set_line), l->set);
	assert_true(h->modules_offset >= RING_HEADER_SIZE + most * sizeof(struct ring_slice));
	assert_true(h->set_offset >= h->modules_offset + l->modules);
	assert_true(h->data_offset >= h->set_offset + l->set);
	assert_int_equal(h->modules_offset % (l->shape.steps > 1 ? 65536 : 64), 0);
	assert_int_equal(h->set_offset % 64, 0);
	assert_int_equal(h->data_offset % 64, 0);
	assert_ptr_equal(ring->modules, (const uint8_t *)h + h->modules_offset);
	assert_ptr_equal(ring->slices, (const uint8_t *)h + RING_HEADER_SIZE);
}

static void test_steps(void **state)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	(void)state;
	for (unsigned i = LARGE; i < LAYOUTS; i++) {
		const struct layout *l = &layouts[i];
		struct ring_memory *ring = open_ring(&l->shape, &(struct ring_settings){0});
		uint64_t at = ring->header->data_offset;

		check_places(ring, l);
		for (uint32_t step = 0; step < l->shape.steps; step++) {
			if (step)
				assert_int_equal(ring_memory_back(ring, &l->shape), 0);
			at = check_step(ring, l, step, at);
			assert_int_equal(ring->backed, ring_backed(&l->shape, step + 1));
			assert_in_range(ring->backed, backed_bytes(ring),
					backed_bytes(ring) + page);
			if (l->shape.steps > 1)
				assert_int_equal(ring->backed, backed_bytes(ring));
			assert_true(ring->backed <= l->shape.size[step]);
		}
		assert_in_range(ring->size, at, at + 4095);
		assert_int_equal(ring->size % 4096, 0);
		close_ring(ring);
	}
}

/* What was agreed stands in the header, and what both begin with. */
static void test_header(void **state)
{
	const struct ring_settings settings = {
		.stream = "a stream's id...",
		.mark = "a mark of those who it is for...",
		.mode = 11,
		.policy = 12,
		.block_max_ms = 13,
		.sample_interval = UINT64_C(14) << 32,
		.frees_have_stacks = 15,
		.depth_limit = 16,
		.verify = 17,
		.counter = 18,
		.emulated = 19,
	};
	struct ring_memory *ring = open_ring(&layouts[LARGE].shape, &settings);
	const struct ring_header *h = ring->header;

	(void)state;
	assert_int_equal(h->magic, RING_MAGIC);
	assert_int_equal(h->version, RING_VERSION);
	assert_memory_equal(h->stream, settings.stream, sizeof(h->stream));
	assert_memory_equal(h->home.mark, settings.mark, sizeof(h->home.mark));
	assert_int_equal(h->mode, 11);
	assert_int_equal(h->policy, 12);
	assert_int_equal(h->block_max_ms, 13);
	assert_true(h->sample_interval == UINT64_C(14) << 32);
	assert_int_equal(h->frees_have_stacks, 15);
	assert_int_equal(h->depth_limit, 16);
	assert_int_equal(h->verify, 17);
	assert_int_equal(h->counter, 18);
	assert_int_equal(h->unflagged, 1);
	assert_int_equal(h->control, 1);
	assert_int_equal(h->heartbeat, 1);
	assert_int_equal(h->account.incarnation, 1);
	assert_int_equal(h->account.lockable, 1);
	close_ring(ring);
	ring = open_ring(&layouts[LARGE].shape, &(struct ring_settings){0});
	assert_int_equal(ring->header->unflagged, 0);
	close_ring(ring);
}

/* ---- another agent's ring ---- */

static unsigned open_files(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Takes it over in a place that may have another one ready, and says what came of that. */
static int adopt_into(const struct ring_memory *from, const struct ring_shape *shape, bool prepared)
{
	struct ring_memory *ring = new_ring(shape);
	unsigned before = open_files();
	uint32_t count = from->header->slice_count;
	char path[64];
	int r, lock;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", from->fd);
	lock = open(path, O_RDWR | O_CLOEXEC);
	assert_true(lock >= 0);
	if (prepared)
		assert_int_equal(ring_memory_prepare(ring, shape), 0);
	r = ring_memory_adopt(ring, shape, lock);
	if (!r) {
		assert_int_equal(ring->lock, lock);
		assert_int_equal(ring->slice_count, count);
		assert_int_equal(ring->size, from->size);
		assert_int_equal(ring->backed, ring_backed(shape, ring->steps));
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(ring->extent[i].offset, from->extent[i].offset);
	}
	close_ring(ring);
	assert_int_equal(open_files(), before);
	return r;
}

static int adopt(const struct ring_memory *from, const struct ring_shape *shape)
{
	return adopt_into(from, shape, false);
}

#define WORD(member) offsetof(struct ring_header, member), sizeof(((struct ring_header *)0)->member)

static void add_to(void *word, size_t size, int by)
{
	if (size == sizeof(uint64_t))
		*(uint64_t *)word += (uint64_t)by;
	else
		*(uint32_t *)word += (uint32_t)by;
}

/* Each word on which the rest depends has to be as it was made. */
static void test_adopt_header(void **state)
{
	const struct {
		size_t at, size;
	} words[] = {
		{WORD(magic)},	       {WORD(version)},	    {WORD(size)},
		{WORD(slices_offset)}, {WORD(slices_most)}, {WORD(modules_offset)},
		{WORD(modules_size)},  {WORD(set_offset)},  {WORD(set_lines)},
		{WORD(data_offset)},   {WORD(slice_count)}, {WORD(account.lockable)},
	};
	const struct layout *l = &layouts[LARGE];
	struct ring_memory *ring = open_ring(&l->shape, &(struct ring_settings){0});

	(void)state;
	assert_int_equal(adopt(ring, &l->shape), 0);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (int by = -1; by <= 1; by += 2) {
			void *at = (uint8_t *)ring->header + words[i].at;

			add_to(at, words[i].size, by);
			assert_int_equal(adopt(ring, &l->shape), -EBADMSG);
			add_to(at, words[i].size, -by);
		}
	assert_int_equal(adopt(ring, &l->shape), 0);
	close_ring(ring);
}

static void test_adopt_incarnations(void **state)
{
	const struct {
		uint32_t number;
		int result;
	} cases[] = {
		{0, -EBADMSG},
		{1, 0},
		{RING_INCARNATION_MAX - 1, 0},
		{RING_INCARNATION_MAX, -EBADMSG},
		{UINT32_MAX, -EBADMSG},
	};
	const struct layout *l = &layouts[LARGE];
	struct ring_memory *ring = open_ring(&l->shape, &(struct ring_settings){0});

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ring->header->account.incarnation = cases[i].number;
		assert_int_equal(adopt(ring, &l->shape), cases[i].result);
	}
	close_ring(ring);
}

/* Of each step, and with each slice where it belongs. */
static void test_adopt_slices(void **state)
{
	(void)state;
	for (unsigned i = LAYOUTS - 2; i < LAYOUTS; i++) {
		const struct layout *l = &layouts[i];
		struct ring_memory *ring = open_ring(&l->shape, &(struct ring_settings){0});

		for (uint32_t step = 0; step < l->shape.steps; step++) {
			struct ring_slice *last;

			if (step)
				assert_int_equal(ring_memory_back(ring, &l->shape), 0);
			assert_int_equal(adopt(ring, &l->shape), 0);
			last = &ring->slices[ring->slice_count - 1];
			for (int by = -1; by <= 1; by += 2) {
				ring->slices[0].words += (uint64_t)by;
				assert_int_equal(adopt(ring, &l->shape), -EBADMSG);
				ring->slices[0].words -= (uint64_t)by;
				last->data_offset += (uint64_t)by;
				assert_int_equal(adopt(ring, &l->shape), -EBADMSG);
				last->data_offset -= (uint64_t)by;
			}
		}
		close_ring(ring);
	}
}

/* Of another budget, or of nobody's making. */
static void test_adopt_files(void **state)
{
	struct ring_memory *ring = open_ring(&layouts[LARGE].shape, &(struct ring_settings){0});
	const int seals[] = {F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_SEAL,
			     F_SEAL_GROW | F_SEAL_SEAL, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL};

	(void)state;
	assert_int_equal(adopt(ring, &layouts[LARGE + 1].shape), -ERANGE);
	assert_int_equal(adopt_into(ring, &layouts[LARGE].shape, true), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct ring_memory copy = {.fd = memfd_create("ring", MFD_ALLOW_SEALING)};

		assert_true(copy.fd >= 0);
		copy.header = ring->header;
		assert_int_equal(pwrite(copy.fd, ring->header, ring->size, 0), ring->size);
		assert_int_equal(fcntl(copy.fd, F_ADD_SEALS, seals[i]), 0);
		copy.size = ring->size;
		if (i < 3)
			assert_int_equal(adopt(&copy, &layouts[LARGE].shape), -EBADMSG);
		close(copy.fd);
	}
	close_ring(ring);
}

/* Files that this process may open beside those that it has. */
static void allow_files(int more)
{
	static struct rlimit before;
	struct rlimit limit;
	int next;

	if (more < 0) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		return;
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(next >= 0);
	close(next);
	limit = (struct rlimit){(rlim_t)(next + more), before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Without a file there is no ring; without a second one no agent can take it over. */
static void test_no_files(void **state)
{
	const struct ring_shape *shape = &layouts[LARGE].shape;
	struct ring_memory *ring = new_ring(shape), *other = new_ring(shape);
	struct rlimit size;
	unsigned before;
	int lock, r;

	(void)state;
	for (int more = 0; more < 3; more++) {
		allow_files(more);
		r = ring_memory_open(ring, shape, &(struct ring_settings){0});
		allow_files(-1);
		assert_int_equal(r, more ? 0 : -EMFILE);
		assert_int_equal(ring->fd >= 0, more > 0);
		assert_int_equal(ring->lock >= 0, more > 1);
		assert_int_equal(ring->header != NULL, more > 0);
		if (more)
			assert_int_equal(ring->header->account.lockable, more > 1);
		if (more < 2)
			ring_memory_close(ring);
	}
	signal(SIGXFSZ, SIG_IGN); /* none of its size, either */
	before = open_files();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &size), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, size.rlim_max}), 0);
	r = ring_memory_open(other, shape, &(struct ring_settings){0});
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &size), 0);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(other->fd, -1);
	assert_int_equal(open_files(), before);
	lock = dup(ring->lock);
	assert_true(lock >= 0);
	allow_files(0);
	r = ring_memory_adopt(other, shape, lock);
	allow_files(-1);
	assert_int_equal(r, -EMFILE);
	assert_true(fcntl(lock, F_GETFD) < 0);
	close_ring(other);
	close_ring(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_adopt_header),
		cmocka_unit_test(test_adopt_incarnations),
		cmocka_unit_test(test_adopt_slices),
		cmocka_unit_test(test_adopt_files),
		cmocka_unit_test(test_no_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
