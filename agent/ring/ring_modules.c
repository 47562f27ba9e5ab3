/*
 * Reads the module channel of a ring, in which the program announces what it has mapped and
 * unmapped. The channel is not trusted, like the rest of the ring: the agent copies an announcement
 * to private memory once, and checks the copy. The stream reads a path more than once, and must
 * find the same path each time.
 */
#include "agent/ring/ring_source.h"

#include <errno.h>
#include <string.h>

#include "base/ban.h"

/* Puts the load that is announced in the channel's `length` bytes at `at` into the run. Returns 0
 * or -EBADMSG. */
static int put_load(struct ring_source *s, struct run *run, const struct ring_module *m,
		    const uint8_t *at, uint32_t length)
{
	const uint64_t *words = (const uint64_t *)(const void *)(at + sizeof(*m));
	size_t segments = (size_t)m->segment_count * sizeof(m->segment[0]);
	struct run_module *to = &s->module;

	if (sizeof(*m) + segments + m->path_length > length || m->start >= m->end ||
	    m->path_length > MODULE_PATH_MAX || m->build_id_length > MODULE_BUILD_ID_MAX)
		return -EBADMSG;
	*to = (struct run_module){
		.id = m->id,
		.epoch = m->epoch,
		.time_ns = ring_stream_ns(s, m->stamp),
		.bias = m->bias,
		.start = m->start,
		.end = m->end,
		.path = s->module_path,
		.path_length = m->path_length,
		.build_id = s->module_build_id,
		.build_id_length = m->build_id_length,
		.print = m->print,
	};
	memcpy(s->module_path, at + sizeof(*m) + segments, m->path_length);
	memcpy(s->module_build_id, m->build_id, m->build_id_length);
	for (uint32_t i = 0; i < m->segment_count && i < MODULE_SEGMENTS_MAX; i++)
		to->segment[to->segment_count++] = (struct run_segment){
			.address = __atomic_load_n(words + 4 * i, __ATOMIC_RELAXED),
			.size = __atomic_load_n(words + 4 * i + 1, __ATOMIC_RELAXED),
			.file_offset = __atomic_load_n(words + 4 * i + 2, __ATOMIC_RELAXED),
			.flags = __atomic_load_n(words + 4 * i + 3, __ATOMIC_RELAXED),
		};
	run_put(run, RUN_LOAD, RUN_NO_LANE, to->time_ns)->module = to;
	return 0;
}

static int ring_modules_put(struct ring_source *s, struct run *run, const struct ring_module *m,
			    const uint8_t *at, uint32_t length)
{
	struct run_item *item;

	if (m->kind == RING_MODULE_LOAD)
		return put_load(s, run, m, at, length);
	if (m->kind != RING_MODULE_UNLOAD)
		return -EBADMSG;
	item = run_put(run, RUN_UNLOAD, RUN_NO_LANE, ring_stream_ns(s, m->stamp));
	item->unload.id = m->id;
	item->unload.epoch = m->epoch;
	return 0;
}

/* Handles the announcement at `modules_tail`. Sets *ret_length to its length, or to 0 if the
 * channel is invalid. Returns 0 or -EBADMSG. */
static int next(struct ring_source *s, struct run *run, uint64_t left, uint32_t *ret_length)
{
	uint64_t offset = s->modules_tail & (s->ring->modules_size - 1),
		 in_piece = s->ring->modules_size - offset;
	const uint8_t *at = s->ring->modules + offset;
	struct {
		uint32_t length;
		uint16_t kind, path_length;
	} first;
	struct ring_module m;
	uint32_t length;

	*ret_length = 0;
	memcpy(&first, at, sizeof(first));
	length = first.length;
	if (first.kind == RING_MODULE_PAD) {
		if (in_piece > left)
			return -EBADMSG;
		*ret_length = (uint32_t)in_piece;
		return 0;
	}
	if (length < 8 || length % 8 || length > left || length > in_piece)
		return -EBADMSG;
	*ret_length = length;
	if (length < sizeof(m))
		return -EBADMSG;
	memcpy(&m, at, sizeof(m));
	return ring_modules_put(s, run, &m, at, length);
}

void ring_look_at_modules(struct ring_source *s)
{
	uint64_t head = __atomic_load_n(&s->ring->header->modules_head, __ATOMIC_ACQUIRE);

	if (head < s->modules_tail || head - s->modules_tail > s->ring->modules_size || head % 8) {
		s->records_damaged++;
		s->modules_tail = head &= ~UINT64_C(7);
	}
	s->modules_left = (uint32_t)(head - s->modules_tail);
}

bool ring_read_module(struct ring_source *s, struct run *run)
{
	struct ring_header *h = s->ring->header;
	uint32_t length;

	/* The stream has taken everything that was read before. */
	__atomic_store_n(&h->modules_tail, s->modules_tail, __ATOMIC_RELEASE);
	while (s->modules_left && !run->count) {
		s->records_damaged += next(s, run, s->modules_left, &length) < 0;
		length = length ? length : s->modules_left;
		s->modules_tail += length;
		s->modules_left -= length;
	}
	if (!run->count)
		__atomic_store_n(&h->modules_tail, s->modules_tail, __ATOMIC_RELEASE);
	return run->count;
}
