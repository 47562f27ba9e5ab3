/* Puts marks into a stream: those of the program, those from outside, and the agent's own. See
 * stream.h. */
#include <errno.h>
#include <string.h>

#include "agent/stream/stream.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

/* Appends a text and returns its offset. */
static uint32_t stream_marks_put_text(struct batch *b, const void *text, uint32_t length)
{
	uint32_t offset = b->text_length;

	if (length)
		memcpy(b->text + offset, text, length);
	b->text_length += length;
	return offset;
}

/* `by_length` includes the NUL of `by`; 0: no author. */
static bool stream_marks_put_mark(struct stream *s, struct batch_mark mark, const uint8_t *text,
				  uint32_t text_length, const char *by, uint32_t by_length)
{
	struct batch *b = &s->batch;

	if (b->marks == BATCH_MARKS_MAX || text_length + by_length > BATCH_TEXT - b->text_length ||
	    !batch_take(b, 64 + text_length + by_length))
		return false;
	mark.text_length = text_length;
	mark.text_offset = stream_marks_put_text(b, text, text_length);
	mark.by_offset = by_length ? stream_marks_put_text(b, by, by_length) + 1 : 0;
	b->mark[b->marks++] = mark;
	cull_mark(&s->cull, mark.kind);
	if (mark.kind == HEAPCAST__MARK_KIND__MARK_SNAPSHOT)
		flight_trigger(&s->flight, FLIGHT_ORDER, stream_now(s));
	return true;
}

bool stream_take_mark(struct stream *s, const struct run_item *item)
{
	struct thread *thread = item->lane == RUN_NO_LANE ? NULL : s->lane_thread[item->lane];
	bool placed = thread && !stream_holds(s); /* held events are sent later, in another order */
	struct batch_mark mark = {.time_ns = item->time_ns,
				  .kind = item->mark.kind,
				  .thread = thread ? thread->number : 0,
				  .place = placed ? s->batch.events.count + 1 : 0,
				  .value = item->mark.value};

	if (!stream_marks_put_mark(s, mark, item->mark.text, item->mark.text_length, NULL, 0))
		return false;
	if (!thread)
		return true;
	s->marked_ns = item->time_ns;
	s->marked_by = thread->number;
	if (mark.kind == HEAPCAST__MARK_KIND__MARK_STOP)
		s->stopped_itself = true;
	if (mark.kind == HEAPCAST__MARK_KIND__MARK_START)
		s->stopped_itself = false;
	return true;
}

bool stream_put_mark(struct stream *s, int kind, uint64_t value, uint64_t time_ns, const char *text)
{
	struct batch_mark mark = {.time_ns = time_ns, .kind = kind, .value = value};

	return stream_marks_put_mark(s, mark, (const uint8_t *)text,
				     text ? (uint32_t)strlen(text) : 0, NULL, 0);
}

int stream_mark(struct stream *s, int kind, uint64_t value, uint64_t time_ns, const uint8_t *text,
		uint32_t text_length, const char *by)
{
	struct batch_mark mark = {.time_ns = time_ns, .kind = kind, .value = value};

	if (!stream_marks_put_mark(s, mark, text, text_length, by, (uint32_t)strlen(by) + 1))
		return -EAGAIN;
	s->order_ns = time_ns;
	return 0;
}
