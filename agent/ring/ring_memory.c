/* Creates rings. See ring_memory.h. */
#include "agent/ring/ring_memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ban.h"

#define CROWD_MAX	   484
#define CROWD_NINTHS(size) ((size) >= RING_LARGE ? 5 : 3)

/* Sizes of slices, their shares (in twelfths) of what the crowd leaves, and their largest numbers.
 * If a share is too small for a slice, the next smaller size gets it. */
static const struct {
	size_t bytes;
	unsigned twelfths;
	uint32_t most;
} classes[] = {
	{.bytes = 512 << 10, .twelfths = 7, .most = 96},
	{.bytes = 128 << 10, .twelfths = 2, .most = 96},
	{.bytes = 32 << 10, .twelfths = 2, .most = 128},
	{.bytes = RING_FIRST_WORDS * 8, .twelfths = 1, .most = 220},
	{.bytes = RING_MIN_WORDS * 8, .most = CROWD_MAX},
};

#define CLASS_COUNT    (sizeof(classes) / sizeof(classes[0]))
#define CROWD	       (CLASS_COUNT - 1)
#define SLICE_COST(i)  (classes[i].bytes + sizeof(struct ring_slice) + 64)
#define MODULES_SPARSE (8u << 10)
#define MODULES_SMALL  (16u << 10)
#define MODULES_LARGE  (64u << 10)
#define RING_LARGE     (1u << 20)
/* The set of sampled blocks gets one part in SET_SHARE of the ring: 64 KiB of 1.5 MiB. */
#define SET_SHARE 24
#define SET_LEAST (4u << 10)
#define SET_MOST  (1u << 20)
/* Largest page size: parts that are not backed yet start on a page of their own. */
#define PAGE_MOST 65536

static_assert(96 + 96 + 128 + 220 + CROWD_MAX == RING_SLICES_MAX, "as many as there may be");

struct layout {
	struct layout_step {
		uint32_t count[CLASS_COUNT];
		uint32_t slices; /* slices of this step, and of all steps up to this one */
		uint32_t slices_end;
		size_t data_end;
	} step[RING_STEPS_MAX];
	uint32_t steps;
	uint32_t slices;
	size_t modules_size;
	size_t modules_offset;
	size_t set_size;
	size_t set_offset;
	size_t data_offset;
	size_t size;
};

static size_t round_up(size_t value, size_t to)
{
	return (value + to - 1) & ~(to - 1);
}

static uint32_t ring_memory_least(size_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

/* Returns the size of the set of sampled blocks, in bytes: a power of two. */
static size_t set_size(size_t ring)
{
	size_t size = SET_LEAST;

	while (size < SET_MOST && 2 * size <= ring / SET_SHARE)
		size *= 2;
	return size;
}

/* Divides the room of a step among the sizes. `used` counts the slices of each size in earlier
 * steps. */
static void divide_step(struct layout_step *step, size_t room, size_t size, size_t set,
			uint32_t used[CLASS_COUNT])
{
	size_t left = 0;

	for (unsigned k = 0; k < CLASS_COUNT; k++) {
		unsigned i = k ? k - 1 : CROWD; /* the crowd goes first */

		if (i == CROWD)
			left = room / 9 * CROWD_NINTHS(size);
		else
			left += room / 12 * classes[i].twelfths;
		step->count[i] = ring_memory_least(left / SLICE_COST(i), classes[i].most - used[i]);
		used[i] += step->count[i];
		step->slices += step->count[i];
		left -= step->count[i] * SLICE_COST(i);
		if (i == CROWD) {
			room -= set + step->count[i] * SLICE_COST(i);
			left = 0;
		}
	}
}

static size_t step_data(const struct layout_step *step)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < CLASS_COUNT; i++)
		bytes += step->count[i] * classes[i].bytes;
	return bytes;
}

/* The first step of a sparse ring is small, so the module channel and the set, which can't grow,
 * are small, too. The program waits while the channel is full, and counts samples that the full set
 * refuses. */
static struct layout layout_of(const struct ring_shape *shape)
{
	const bool sparse = shape->steps > 1;
	size_t first = shape->size[0];
	struct layout l = {.modules_size = sparse		 ? MODULES_SPARSE
					   : first >= RING_LARGE ? MODULES_LARGE
								 : MODULES_SMALL,
			   .set_size = sparse ? SET_LEAST : set_size(first),
			   .steps = shape->steps};
	uint32_t used[CLASS_COUNT] = {0};

	for (uint32_t k = 0; k < l.steps; k++) {
		size_t room = k ? shape->size[k] - shape->size[k - 1]
				: first - RING_HEADER_SIZE - l.modules_size;

		divide_step(&l.step[k], room, shape->size[k], k ? 0 : l.set_size, used);
		l.slices += l.step[k].slices;
		l.step[k].slices_end = l.slices;
	}
	l.modules_offset = round_up(RING_HEADER_SIZE + l.slices * sizeof(struct ring_slice),
				    sparse ? PAGE_MOST : 64);
	l.set_offset = round_up(l.modules_offset + l.modules_size, 64);
	l.size = l.data_offset = l.set_offset + l.set_size;
	for (uint32_t k = 0; k < l.steps; k++)
		l.size = l.step[k].data_end = l.size + step_data(&l.step[k]);
	l.size = round_up(l.size, 4096);
	return l;
}

uint32_t ring_slice_count(const struct ring_shape *shape, uint32_t steps)
{
	return layout_of(shape).step[steps - 1].slices_end;
}

/* Within a step, small slices come first. */
static uint64_t class_bytes(const struct layout *l, uint32_t index)
{
	const struct layout_step *step = l->step;
	unsigned i = CROWD;

	for (; index >= step->slices; step++)
		index -= step->slices;
	for (; i && index >= step->count[i]; i--)
		index -= step->count[i];
	return classes[i].bytes;
}

uint64_t ring_slice_words(const struct ring_shape *shape, uint32_t index)
{
	struct layout l = layout_of(shape);

	return class_bytes(&l, index) / 8;
}

/* Returns the end of the slices' structs after `steps` steps. */
static size_t structs_end(const struct layout *l, uint32_t steps)
{
	return l->steps == 1 ? l->modules_offset
			     : RING_HEADER_SIZE +
				       l->step[steps - 1].slices_end * sizeof(struct ring_slice);
}

size_t ring_backed(const struct ring_shape *shape, uint32_t steps)
{
	struct layout l = layout_of(shape);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return round_up(structs_end(&l, steps), page) +
	       round_up(l.step[steps - 1].data_end - l.modules_offset, page);
}

size_t ring_memory_struct_size(const struct ring_shape *shape)
{
	return sizeof(struct ring_memory) + layout_of(shape).slices * sizeof(struct ring_extent);
}

static void fill_header(struct ring_memory *ring, const struct layout *l,
			const struct ring_settings *s)
{
	struct ring_header *h = ring->header;

	h->magic = RING_MAGIC;
	h->version = RING_VERSION;
	h->size = l->size;
	h->slices_offset = RING_HEADER_SIZE;
	h->slices_most = l->slices;
	h->modules_offset = l->modules_offset;
	h->modules_size = l->modules_size;
	h->set_offset = l->set_offset;
	h->set_lines = l->set_size / sizeof(struct ring_set_line);
	h->counter = s->counter;
	h->unflagged = s->emulated != 0;
	h->data_offset = l->data_offset;
	memcpy(h->stream, s->stream, sizeof(h->stream));
	memcpy(h->home.mark, s->mark, sizeof(h->home.mark));
	h->control = 1;
	h->mode = s->mode;
	h->policy = s->policy;
	h->block_max_ms = s->block_max_ms;
	h->sample_interval = s->sample_interval;
	h->frees_have_stacks = s->frees_have_stacks;
	h->depth_limit = s->depth_limit;
	h->verify = s->verify;
	h->heartbeat = 1;
	h->account.incarnation = 1;
}

/* Computes where the slices of the next step are. offer_slices announces them to the program when
 * everything else is in place. */
static void place_slices(struct ring_memory *ring, const struct layout *l)
{
	const struct layout_step *step = &l->step[ring->steps];
	uint64_t offset = ring->steps ? l->step[ring->steps - 1].data_end : l->data_offset;

	for (uint32_t n = ring->slice_count; n < step->slices_end; n++) {
		ring->extent[n] =
			(struct ring_extent){.offset = offset, .words = class_bytes(l, n) / 8};
		offset += class_bytes(l, n);
	}
	ring->slice_count = step->slices_end;
	ring->steps++;
}

static void offer_slices(struct ring_memory *ring, uint32_t from)
{
	for (uint32_t n = from; n < ring->slice_count; n++) {
		__atomic_store_n(&ring->slices[n].data_offset, ring->extent[n].offset,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&ring->slices[n].words, ring->extent[n].words, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&ring->header->slice_count, ring->slice_count, __ATOMIC_RELEASE);
}

static void take_mapping(struct ring_memory *ring, const struct layout *l, void *memory)
{
	ring->size = l->size;
	ring->header = memory;
	ring->slices = (struct ring_slice *)((uint8_t *)memory + RING_HEADER_SIZE);
	ring->modules = (uint8_t *)memory + l->modules_offset;
	ring->slice_count = ring->steps = 0;
	ring->modules_size = l->modules_size;
}

/* Returns another open file description of the same file. */
static int open_again(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int ring_memory_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

/* The lock belongs to its own open file description. Programs get another one, and keep only their
 * mapping of that. */
static void lock(struct ring_memory *ring)
{
	ring->lock = open_again(ring->fd);
	if (ring->lock >= 0 && !ring_memory_lock(ring->lock))
		ring->header->account.lockable = 1;
}

/* Allocates the pages from `from` to `to`, charged to the agent. Returns 0 or a negative errno. */
static int back(const struct ring_memory *ring, size_t from, size_t to)
{
	from &= ~(size_t)4095;
	return to > from && fallocate(ring->fd, 0, (off_t)from, (off_t)(to - from)) < 0 ? -errno
											: 0;
}

/* Allocates the pages of the steps after `from`, up to `steps`. Pages that exist already stay
 * unchanged. */
static int back_steps(const struct ring_memory *ring, const struct layout *l, uint32_t from,
		      uint32_t steps)
{
	int r = back(ring, from ? structs_end(l, from) : 0, structs_end(l, steps));

	return r ? r
		 : back(ring, from ? l->step[from - 1].data_end : l->modules_offset,
			steps == l->steps ? l->size : l->step[steps - 1].data_end);
}

static void *map_whole(const struct ring_memory *ring, const struct layout *l)
{
	return mmap(NULL, l->size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | (l->steps == 1 ? MAP_POPULATE : 0), ring->fd, 0);
}

int ring_memory_prepare(struct ring_memory *ring, const struct ring_shape *shape)
{
	struct layout l = layout_of(shape);
	void *memory;
	int r;

	*ring = (struct ring_memory){.fd = -1, .lock = -1};
	ring->fd = memfd_create(RING_MEMORY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ring->fd < 0)
		return -errno;
	if (ftruncate(ring->fd, (off_t)l.size) < 0 || back_steps(ring, &l, 0, 1) < 0 ||
	    fcntl(ring->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto failed;
	memory = map_whole(ring, &l);
	if (memory == MAP_FAILED)
		goto failed;
	take_mapping(ring, &l, memory);
	ring->backed = ring_backed(shape, 1);
	return 0;
failed:
	r = -errno;
	close(ring->fd);
	ring->fd = -1;
	return r;
}

int ring_memory_open(struct ring_memory *ring, const struct ring_shape *shape,
		     const struct ring_settings *settings)
{
	struct layout l = layout_of(shape);
	int r = ring->header ? 0 : ring_memory_prepare(ring, shape);

	if (r < 0)
		return r;
	fill_header(ring, &l, settings);
	place_slices(ring, &l);
	offer_slices(ring, 0);
	lock(ring);
	return 0;
}

int ring_memory_back(struct ring_memory *ring, const struct ring_shape *shape)
{
	struct layout l = layout_of(shape);
	uint32_t before = ring->slice_count;
	int r = back_steps(ring, &l, ring->steps, ring->steps + 1);

	if (r < 0)
		return r;
	place_slices(ring, &l);
	ring->backed = ring_backed(shape, ring->steps);
	offer_slices(ring, before);
	return 0;
}

/* Returns 0, -EBADMSG if an agent did not make this file, or -ERANGE if its size is for another
 * budget. */
static int ring_memory_check_file(int fd, const struct layout *l)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & wanted) != wanted || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EBADMSG;
	return st.st_size == (off_t)l->size ? 0 : -ERANGE;
}

static bool header_fits(const struct ring_memory *ring, const struct layout *l)
{
	const struct ring_header *h = ring->header;
	uint32_t incarnation = __atomic_load_n(&h->account.incarnation, __ATOMIC_RELAXED);

	return h->magic == RING_MAGIC && h->version == RING_VERSION && h->size == l->size &&
	       h->slices_offset == RING_HEADER_SIZE && h->slices_most == l->slices &&
	       h->modules_offset == l->modules_offset && h->modules_size == l->modules_size &&
	       h->set_offset == l->set_offset &&
	       h->set_lines == l->set_size / sizeof(struct ring_set_line) &&
	       h->data_offset == l->data_offset && h->account.lockable == 1 && incarnation > 0 &&
	       incarnation < RING_INCARNATION_MAX;
}

/* Positions and sizes are computed; the header is only compared with them. Returns the number of
 * steps that the header claims, or 0 if it is invalid. */
static uint32_t steps_told(const struct ring_memory *ring, const struct layout *l)
{
	uint32_t count = __atomic_load_n(&ring->header->slice_count, __ATOMIC_RELAXED);

	for (uint32_t k = 0; k < l->steps; k++)
		if (l->step[k].slices_end == count)
			return k + 1;
	return 0;
}

static bool slices_fit(struct ring_memory *ring, const struct layout *l, uint32_t steps)
{
	while (ring->steps < steps)
		place_slices(ring, l);
	for (uint32_t n = 0; n < ring->slice_count; n++)
		if (__atomic_load_n(&ring->slices[n].data_offset, __ATOMIC_RELAXED) !=
			    ring->extent[n].offset ||
		    __atomic_load_n(&ring->slices[n].words, __ATOMIC_RELAXED) !=
			    ring->extent[n].words)
			return false;
	return true;
}

int ring_memory_adopt(struct ring_memory *ring, const struct ring_shape *shape, int lock_fd)
{
	struct layout l = layout_of(shape);
	uint32_t steps;
	void *memory;
	int r = ring_memory_check_file(lock_fd, &l), fd = r ? r : open_again(lock_fd);

	if (ring->header) /* a prepared ring is not needed */
		ring_memory_close(ring);
	*ring = (struct ring_memory){.fd = fd, .lock = lock_fd};
	memory = fd < 0 ? MAP_FAILED : map_whole(ring, &l);
	if (memory == MAP_FAILED) {
		r = fd < 0 ? fd : -errno;
		ring_memory_close(ring);
		return r;
	}
	take_mapping(ring, &l, memory);
	steps = header_fits(ring, &l) ? steps_told(ring, &l) : 0;
	if (!steps || back_steps(ring, &l, 0, steps) < 0 || !slices_fit(ring, &l, steps)) {
		ring_memory_close(ring);
		return -EBADMSG;
	}
	ring->backed = ring_backed(shape, steps);
	return 0;
}

void ring_memory_close(struct ring_memory *ring)
{
	if (ring->header)
		munmap(ring->header, ring->size);
	if (ring->fd >= 0)
		close(ring->fd);
	if (ring->lock >= 0)
		close(ring->lock);
	*ring = (struct ring_memory){.fd = -1, .lock = -1};
}
