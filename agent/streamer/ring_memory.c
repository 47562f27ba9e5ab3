/* Making rings. See ring_memory.h. */
#include "agent/streamer/ring_memory.h"

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

#include "agent/streamer/ring_words.h"
#include "base/ban.h"

#define CROWD_MAX	   484
#define CROWD_NINTHS(size) ((size) >= RING_LARGE ? 5 : 3)

/* Sizes of slices, their shares (in twelfths) of what the crowd leaves, and the most of them; what a share is too small for
 * goes to the next smaller. */
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

#define CLASS_COUNT   (sizeof(classes) / sizeof(classes[0]))
#define CROWD	      (CLASS_COUNT - 1)
#define SLICE_COST(i) (classes[i].bytes + sizeof(struct ring_slice) + 64)
#define MODULES_SMALL (16u << 10)
#define MODULES_LARGE (64u << 10)
#define RING_LARGE    (1u << 20)
#define SET_SHARE     24 /* of the ring is for the set of sampled blocks: 64 KiB of 1.5 MiB */
#define SET_LEAST     (4u << 10)
#define SET_MOST      (1u << 20)

static_assert(96 + 96 + 128 + 220 + CROWD_MAX == RING_SLICES_MAX, "as many as there may be");

struct layout {
	uint32_t count[CLASS_COUNT];
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

static uint32_t fitting(size_t room, unsigned i)
{
	size_t count = room / SLICE_COST(i);

	return count < classes[i].most ? (uint32_t)count : classes[i].most;
}

/* A power of two. */
static size_t set_size(size_t ring)
{
	size_t size = SET_LEAST;

	while (size < SET_MOST && 2 * size <= ring / SET_SHARE)
		size *= 2;
	return size;
}

static struct layout layout_of(size_t size)
{
	struct layout l = {.modules_size = size >= RING_LARGE ? MODULES_LARGE : MODULES_SMALL,
			   .set_size = set_size(size)};
	size_t room = size - RING_HEADER_SIZE - l.modules_size, left = 0;

	l.slices = l.count[CROWD] = fitting(room / 9 * CROWD_NINTHS(size), CROWD);
	room -= l.set_size + l.count[CROWD] * SLICE_COST(CROWD);
	for (unsigned i = 0; i < CROWD; i++) {
		left += room / 12 * classes[i].twelfths;
		l.count[i] = fitting(left, i);
		left -= l.count[i] * SLICE_COST(i);
		l.slices += l.count[i];
	}
	l.modules_offset = round_up(RING_HEADER_SIZE + l.slices * sizeof(struct ring_slice), 64);
	l.set_offset = round_up(l.modules_offset + l.modules_size, 64);
	l.data_offset = l.set_offset + l.set_size;
	l.size = l.data_offset;
	for (unsigned i = 0; i < CLASS_COUNT; i++)
		l.size += l.count[i] * classes[i].bytes;
	l.size = round_up(l.size, 4096);
	return l;
}

uint32_t ring_slice_count(size_t size)
{
	return layout_of(size).slices;
}

/* Small slices come first. */
uint64_t ring_slice_words(size_t size, uint32_t index)
{
	struct layout l = layout_of(size);
	unsigned i = CROWD;

	for (; i && index >= l.count[i]; i--)
		index -= l.count[i];
	return classes[i].bytes / 8;
}

size_t ring_memory_struct_size(size_t size)
{
	return sizeof(struct ring_memory) + ring_slice_count(size) * sizeof(struct ring_extent);
}

static void fill_header(struct ring_memory *ring, const struct layout *l,
			const struct ring_settings *s)
{
	struct ring_header *h = ring->header;
	const bool swapped = s->swapped;

	ring_put32(swapped, &h->magic, RING_MAGIC);
	ring_put32(swapped, &h->version, RING_VERSION);
	ring_put64(swapped, &h->size, l->size);
	ring_put64(swapped, &h->slices_offset, RING_HEADER_SIZE);
	ring_put32(swapped, &h->slice_count, l->slices);
	ring_put64(swapped, &h->modules_offset, l->modules_offset);
	ring_put64(swapped, &h->modules_size, l->modules_size);
	ring_put64(swapped, &h->set_offset, l->set_offset);
	ring_put64(swapped, &h->set_lines, l->set_size / sizeof(struct ring_set_line));
	ring_put32(swapped, &h->counter, s->counter);
	ring_put32(swapped, &h->unflagged, s->emulated != 0);
	ring_put64(swapped, &h->data_offset, l->data_offset);
	memcpy(h->stream, s->stream, sizeof(h->stream));
	memcpy(h->home.mark, s->mark, sizeof(h->home.mark));
	ring_put32(swapped, &h->control, 1);
	ring_put32(swapped, &h->mode, s->mode);
	ring_put32(swapped, &h->policy, s->policy);
	ring_put32(swapped, &h->block_max_ms, s->block_max_ms);
	ring_put64(swapped, &h->sample_interval, s->sample_interval);
	ring_put32(swapped, &h->frees_have_stacks, s->frees_have_stacks);
	ring_put32(swapped, &h->depth_limit, s->depth_limit);
	ring_put32(swapped, &h->verify, s->verify);
	ring_put32(swapped, &h->heartbeat, 1);
	ring_put32(swapped, &h->account.incarnation, 1);
}

static void fill_slices(struct ring_memory *ring, const struct layout *l)
{
	uint64_t offset = l->data_offset;
	uint32_t n = 0;

	for (unsigned i = CLASS_COUNT; i-- > 0;) {
		for (uint32_t k = 0; k < l->count[i]; k++, n++) {
			ring->extent[n] = (struct ring_extent){.offset = offset,
							       .words = classes[i].bytes / 8};
			ring_put64(ring->swapped, &ring->slices[n].data_offset, offset);
			ring_put64(ring->swapped, &ring->slices[n].words, classes[i].bytes / 8);
			offset += classes[i].bytes;
		}
	}
}

static void take_mapping(struct ring_memory *ring, const struct layout *l, void *memory)
{
	ring->size = l->size;
	ring->header = memory;
	ring->slices = (struct ring_slice *)((uint8_t *)memory + RING_HEADER_SIZE);
	ring->modules = (uint8_t *)memory + l->modules_offset;
	ring->slice_count = l->slices;
	ring->modules_size = l->modules_size;
}

/* Another description of the same file. */
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

/* The lock goes with its description: what programs get, they keep by their mapping. */
static void lock(struct ring_memory *ring)
{
	ring->lock = open_again(ring->fd);
	if (ring->lock >= 0 && !ring_memory_lock(ring->lock))
		ring->header->account.lockable = 1;
}

int ring_memory_prepare(struct ring_memory *ring, size_t size)
{
	struct layout l = layout_of(size);
	void *memory;
	int r;

	*ring = (struct ring_memory){.fd = -1, .lock = -1};
	ring->fd = memfd_create(RING_MEMORY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ring->fd < 0)
		return -errno;
	if (ftruncate(ring->fd, (off_t)l.size) < 0 ||
	    fallocate(ring->fd, 0, 0, (off_t)l.size) < 0 ||
	    fcntl(ring->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto failed;
	memory = mmap(NULL, l.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, 0);
	if (memory == MAP_FAILED)
		goto failed;
	take_mapping(ring, &l, memory);
	return 0;
failed:
	r = -errno;
	close(ring->fd);
	ring->fd = -1;
	return r;
}

int ring_memory_open(struct ring_memory *ring, size_t size, const struct ring_settings *settings)
{
	struct layout l = layout_of(size);
	int r = ring->header ? 0 : ring_memory_prepare(ring, size);

	if (r < 0)
		return r;
	ring->swapped = settings->swapped;
	fill_header(ring, &l, settings);
	fill_slices(ring, &l);
	lock(ring);
	return 0;
}

/* 0; -EBADMSG: this is not what we make; -ERANGE: it is, but for another budget. */
static int check_file(int fd, const struct layout *l)
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
	const bool swapped = ring->swapped;
	uint32_t incarnation = ring_get32(swapped, &h->account.incarnation);

	return ring_get32(swapped, &h->magic) == RING_MAGIC &&
	       ring_get32(swapped, &h->version) == RING_VERSION &&
	       ring_get64(swapped, &h->size) == l->size &&
	       ring_get64(swapped, &h->slices_offset) == RING_HEADER_SIZE &&
	       ring_get32(swapped, &h->slice_count) == l->slices &&
	       ring_get64(swapped, &h->modules_offset) == l->modules_offset &&
	       ring_get64(swapped, &h->modules_size) == l->modules_size &&
	       ring_get64(swapped, &h->set_offset) == l->set_offset &&
	       ring_get64(swapped, &h->set_lines) == l->set_size / sizeof(struct ring_set_line) &&
	       ring_get64(swapped, &h->data_offset) == l->data_offset && h->account.lockable == 1 &&
	       incarnation > 0 && incarnation < RING_INCARNATION_MAX;
}

/* Places and sizes are ours; what the header says of them is only compared. */
static bool slices_fit(struct ring_memory *ring, const struct layout *l)
{
	uint64_t offset = l->data_offset;
	uint32_t n = 0;

	for (unsigned i = CLASS_COUNT; i-- > 0;) {
		for (uint32_t k = 0; k < l->count[i]; k++, n++) {
			ring->extent[n] = (struct ring_extent){.offset = offset,
							       .words = classes[i].bytes / 8};
			if (ring_get64(ring->swapped, &ring->slices[n].data_offset) != offset ||
			    ring_get64(ring->swapped, &ring->slices[n].words) !=
				    classes[i].bytes / 8)
				return false;
			offset += classes[i].bytes;
		}
	}
	return true;
}

int ring_memory_adopt(struct ring_memory *ring, size_t size, int lock_fd)
{
	struct layout l = layout_of(size);
	void *memory;
	int r = check_file(lock_fd, &l), fd = r ? r : open_again(lock_fd);

	if (ring->header) /* prepared */
		ring_memory_close(ring);
	*ring = (struct ring_memory){.fd = fd, .lock = lock_fd};
	memory = fd < 0 ? MAP_FAILED
			: mmap(NULL, l.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			       0);
	if (memory == MAP_FAILED) {
		r = fd < 0 ? fd : -errno;
		ring_memory_close(ring);
		return r;
	}
	take_mapping(ring, &l, memory);
	ring->swapped = ring_get32(true, &ring->header->magic) == RING_MAGIC;
	if (!header_fits(ring, &l) || !slices_fit(ring, &l)) {
		ring_memory_close(ring);
		return -EBADMSG;
	}
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
