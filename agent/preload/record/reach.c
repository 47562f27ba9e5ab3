/* Controls which part of the ring may be touched; see reach.h. */
#include "agent/preload/record/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/preload/record/slice.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

static const struct ring_slice *slices_of(const struct ring_header *ring)
{
	return (const struct ring_slice *)((uintptr_t)ring + (uintptr_t)ring->slices_offset);
}

/* Makes a part of the ring accessible, rounded to whole pages. */
static int open_part(struct ring_header *ring, uint64_t from, uint64_t to)
{
	uint64_t page = (uint64_t)getpagesize();

	from &= -page;
	return sys_open((uint8_t *)ring + from, (size_t)(((to + page - 1) & -page) - from));
}

/* Returns the end of these slices' data, or 0 if one of them does not lie in the ring. */
static uint64_t data_end(const struct ring_header *ring, uint32_t from, uint32_t count)
{
	const struct ring_slice *slices = slices_of(ring);
	uint64_t end = ring->data_offset;

	for (uint32_t i = from; i < count; i++) {
		uint64_t words = slices[i].words, offset = slices[i].data_offset;

		if (words < RING_MIN_WORDS || (words & (words - 1)) || words > ring->size / 8 ||
		    offset % 64 || offset > ring->size || words * 8 > ring->size - offset)
			return 0;
		if (offset + words * 8 > end)
			end = offset + words * 8;
	}
	return end;
}

/* Makes the slices [from, count) accessible. Returns 0 or a negative errno. */
static int open_slices(struct ring_header *ring, uint32_t from, uint32_t count)
{
	uint64_t end = ring->slices_offset + count * sizeof(struct ring_slice);
	int r = end > ring->modules_offset ? -EPROTO : open_part(ring, 0, end);

	if (r)
		return r;
	end = data_end(ring, from, count);
	return end ? open_part(ring, ring->modules_offset, end) : -EPROTO;
}

/* Checks the header. The agent is trusted, but it may be of another version, or faulty. */
static bool reach_is_sound(const struct ring_header *ring, uint64_t size)
{
	return ring->magic == RING_MAGIC && ring->version == RING_VERSION && ring->size == size &&
	       !(ring->slices_offset % 8) && ring->slices_offset <= ring->modules_offset &&
	       ring->slice_count <= size / sizeof(struct ring_slice) &&
	       !(ring->modules_offset % 8) && (ring->modules_size >= 4096 || !ring->slices_most) &&
	       !(ring->modules_size & (ring->modules_size - 1)) && ring->modules_offset <= size &&
	       ring->modules_size <= size - ring->modules_offset &&
	       ring->data_offset >= ring->modules_offset && ring->data_offset <= size;
}

/* Makes the ring accessible, first the page that tells the sizes of all other parts. */
static int open_ring(struct ring_header *ring, uint64_t size)
{
	uint32_t count;
	int r = open_part(ring, 0, RING_HEADER_SIZE);

	if (r)
		return r;
	if (!reach_is_sound(ring, size))
		return -EPROTO;
	count = __atomic_load_n(&ring->slice_count, __ATOMIC_ACQUIRE);
	r = open_slices(ring, 0, count);
	if (!r)
		__atomic_store_n(&shim.slices, count, __ATOMIC_RELEASE);
	return r;
}

int reach_map(int memory, uint64_t size, struct ring_header **ret_ring)
{
	const long wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	struct ring_header *ring;
	int r;

	if (size < RING_HEADER_SIZE || size > SIZE_MAX / 2 ||
	    sys_call(SYS_lseek, memory, 0, SEEK_END) != (long)size ||
	    (sys_call(SYS_fcntl, memory, F_GET_SEALS) & wanted) != wanted)
		return -EPROTO;
	ring = sys_space((size_t)size, MAP_SHARED, memory);
	if (!ring)
		return -ENOMEM;
	r = open_ring(ring, size);
	if (r) {
		sys_call(SYS_munmap, ring, size);
		return r;
	}
	*ret_ring = ring;
	return 0;
}

/* Two threads may do this work at the same time, which is harmless. */
bool reach_more(struct ring_header *ring)
{
	uint32_t known = reach_slices();
	uint32_t count = __atomic_load_n(&ring->slice_count, __ATOMIC_ACQUIRE);

	if (count <= known || open_slices(ring, known, count))
		return false;
	while (known < count && !__atomic_compare_exchange_n(&shim.slices, &known, count, false,
							     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	return true;
}

void reach_want(struct ring_header *ring)
{
	if (ring->slices_most <= __atomic_load_n(&ring->slice_count, __ATOMIC_RELAXED))
		return;
	__atomic_fetch_add(&ring->wants, 1, __ATOMIC_RELEASE);
	slice_doorbell();
}

bool reach_may_grow(const struct ring_header *ring)
{
	return ring->slices_most > __atomic_load_n(&ring->slice_count, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&ring->refused, __ATOMIC_ACQUIRE) !=
		       __atomic_load_n(&ring->wants, __ATOMIC_RELAXED);
}
