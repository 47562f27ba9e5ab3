/*
 * The module channel of a ring: the program announces what it has mapped and unmapped, for the
 * stream's module table. The channel is not trusted, like the rest of the ring: each announcement
 * is copied to private memory, then checked, then used.
 */
#include "agent/ring/ring_source.h"

#include <errno.h>
#include <string.h>

#include "base/ban.h"

/* Handles one announcement, which is in private memory. */
static int module_record(struct ring_source *s, struct stream *stream, const struct ring_module *m)
{
	size_t segments = (size_t)m->segment_count * sizeof(m->segment[0]);
	struct capture_module module = {
		.id = m->id,
		.epoch = m->epoch,
		.time_ns = ring_stream_ns(s, m->stamp),
		.bias = m->bias,
		.start = m->start,
		.end = m->end,
		.path = (const uint8_t *)m->segment + segments,
		.path_length = m->path_length,
		.build_id = m->build_id,
		.build_id_length = m->build_id_length,
		.print = m->print,
	};

	if (m->kind == RING_MODULE_UNLOAD) {
		int r = capture_module_unload(stream, m->id, m->epoch, module.time_ns);

		/* An earlier agent may have got the announcement of the load. */
		return r == -EBADMSG && s->incarnation > 1 ? 0 : r;
	}
	if (m->kind != RING_MODULE_LOAD || sizeof(*m) + segments + m->path_length > m->length)
		return -EBADMSG;
	for (; module.segment_count < m->segment_count && module.segment_count < 8;
	     module.segment_count++)
		module.segment[module.segment_count] = (struct capture_segment){
			.address = m->segment[module.segment_count].address,
			.size = m->segment[module.segment_count].size,
			.file_offset = m->segment[module.segment_count].file_offset,
			.flags = m->segment[module.segment_count].flags,
		};
	return capture_module_load(stream, &module);
}

/* Converts the announcement to the agent's byte order. Segments beyond its end are not converted;
 * module_record rejects the announcement later. */
static void turn(struct ring_module *m, uint32_t length)
{
	uint64_t *segment = (uint64_t *)m->segment;
	size_t most = (length - sizeof(*m)) / sizeof(*segment),
	       words = m->segment_count * sizeof(m->segment[0]) / sizeof(*segment);

	m->kind = __builtin_bswap16(m->kind);
	m->path_length = __builtin_bswap16(m->path_length);
	m->id = __builtin_bswap32(m->id);
	m->epoch = __builtin_bswap32(m->epoch);
	m->print = __builtin_bswap32(m->print);
	m->stamp = __builtin_bswap64(m->stamp);
	m->bias = __builtin_bswap64(m->bias);
	m->start = __builtin_bswap64(m->start);
	m->end = __builtin_bswap64(m->end);
	for (size_t i = 0; i < words && i < most; i++)
		segment[i] = __builtin_bswap64(segment[i]);
}

/* Handles the announcement at `tail`. Sets *ret_length to its length, or to 0 if the channel is
 * invalid. Returns 0, -EAGAIN or -EBADMSG. */
static int module_next(struct ring_source *s, struct stream *stream, uint64_t left,
		       uint32_t *ret_length)
{
	uint64_t at = s->modules_tail & (s->ring->modules_size - 1),
		 in_piece = s->ring->modules_size - at;
	struct ring_module *m = (struct ring_module *)s->scratch;
	struct {
		uint32_t length;
		uint16_t kind, path_length;
	} head;
	uint32_t length;

	*ret_length = 0;
	memcpy(&head, s->ring->modules + at, sizeof(head));
	length = ring_turn32(s->ring->swapped, head.length);
	if (head.kind == RING_MODULE_PAD) {
		*ret_length = (uint32_t)in_piece;
		return in_piece <= left ? 0 : -EBADMSG;
	}
	if (length < 8 || length % 8 || length > left || length > in_piece)
		return -EBADMSG;
	*ret_length = length;
	if (length < sizeof(*m) || length > RING_EVENT_WORDS * sizeof(*s->scratch))
		return -EBADMSG;
	memcpy(m, s->ring->modules + at, length);
	if (s->ring->swapped)
		turn(m, length);
	m->length = length;
	return module_record(s, stream, m);
}

int ring_read_modules(struct ring_source *s, struct stream *stream)
{
	struct ring_header *h = s->ring->header;
	uint64_t head = ring_acquire64(s->ring->swapped, &h->modules_head);
	uint32_t length;
	int r;

	if (head < s->modules_tail || head - s->modules_tail > s->ring->modules_size || head % 8) {
		s->records_damaged++;
		s->modules_tail = head &= ~UINT64_C(7);
	}
	while (s->modules_tail < head) {
		r = module_next(s, stream, head - s->modules_tail, &length);
		if (r == -EAGAIN)
			return r;
		s->records_damaged += r < 0;
		s->modules_tail = length ? s->modules_tail + length : head;
		ring_release64(s->ring->swapped, &h->modules_tail, s->modules_tail);
	}
	return 0;
}
