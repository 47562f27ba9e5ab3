/* Carries out orders in a stream. See orders.h. */
#include "agent/stream/orders.h"

#include <errno.h>
#include <string.h>

#include "agent/stream/stream.h"
#include "base/words.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define SECOND_NS 1000000000ull

/* The ring and the wire use the same numbers. */
_Static_assert((int)RING_OFF == (int)HEAPCAST__MODE__MODE_OFF &&
		       (int)RING_FULL == (int)HEAPCAST__MODE__MODE_FULL &&
		       (int)RING_SAMPLE == (int)HEAPCAST__MODE__MODE_SAMPLE,
	       "modes");

bool order_is_allowed(enum order_policy policy, bool local, int action)
{
	bool harmless = action == HEAPCAST__ACTION__ACTION_SNAPSHOT ||
			action == HEAPCAST__ACTION__ACTION_MARK;

	return policy == ORDERS_YES || (policy == ORDERS_LOCAL && (local || harmless));
}

bool order_limit_take(struct order_limit *l, uint64_t now_ns)
{
	const uint64_t cost = SECOND_NS / ORDER_LIMIT_EACH;
	uint64_t from = l->full_ns > now_ns ? l->full_ns : now_ns;

	if (from + cost - now_ns > ORDER_LIMIT_MOST * cost)
		return false;
	l->full_ns = from + cost;
	return true;
}

static struct order_result orders_refused(int status, const char *text)
{
	return (struct order_result){.status = status, .text = text};
}

static struct order_result too_many(void)
{
	return orders_refused(HEAPCAST__REPLY_STATUS__REPLY_TOO_MANY,
			      "too many marks at a time: nothing was changed, try again");
}

static struct order_result done(const struct stream *s, uint64_t time_ns, const char *text)
{
	return (struct order_result){.status = HEAPCAST__REPLY_STATUS__REPLY_DONE,
				     .text = text,
				     .streams = 1,
				     .time_ns = time_ns,
				     .mode = s->mode,
				     .sample_interval =
					     s->mode == RING_SAMPLE ? s->sample_interval : 0};
}

static const char *remark(const struct stream *s)
{
	return s->stopped_itself && s->mode != RING_OFF
		       ? "the program has stopped recording by itself (heapcast_stop, or a "
			 "signal), and goes on when it starts by itself"
		       : "";
}

/* Changes the mode and sets a mark of `kind`. Sets no mark if nothing changes. */
static struct order_result change(struct stream *s, const struct order *o, int kind, int mode,
				  uint64_t interval)
{
	uint64_t now = stream_now(s);
	bool same = mode == s->mode && (mode != RING_SAMPLE || interval == s->sample_interval);

	if (same)
		return done(s, now, *remark(s) ? remark(s) : "it was so already");
	if (stream_mark(s, kind, mode == RING_SAMPLE ? interval : 0, now, NULL, 0, o->by) < 0)
		return too_many();
	s->mode = mode;
	if (mode == RING_SAMPLE)
		s->sample_interval = interval;
	if (mode != RING_OFF)
		s->resume_mode = mode;
	stream_obey(s);
	return done(s, now, remark(s));
}

static struct order_result change_mode(struct stream *s, const struct order *o)
{
	uint64_t interval = o->value ? o->value : s->sample_interval;
	int kind = s->mode == RING_OFF ? HEAPCAST__MARK_KIND__MARK_START
				       : HEAPCAST__MARK_KIND__MARK_MODE;

	if (o->mode == RING_OFF)
		return change(s, o, HEAPCAST__MARK_KIND__MARK_STOP, RING_OFF, 0);
	if (o->mode != RING_FULL && o->mode != RING_SAMPLE)
		return orders_refused(HEAPCAST__REPLY_STATUS__REPLY_MALFORMED,
				      "there is no such mode");
	if (o->mode == RING_SAMPLE && (!interval || interval > RING_INTERVAL_MAX))
		return orders_refused(HEAPCAST__REPLY_STATUS__REPLY_MALFORMED,
				      "a sample interval is 1 byte to 4 GiB");
	return change(s, o, kind, o->mode, interval);
}

static struct order_result put_snapshot(struct stream *s, const struct order *o)
{
	uint64_t now = stream_now(s), number = o->value ? o->value : s->snapshots + 1;
	struct order_result result;

	if (stream_mark(s, HEAPCAST__MARK_KIND__MARK_SNAPSHOT, number, now, NULL, 0, o->by) < 0)
		return too_many();
	s->snapshots = number;
	result = done(s, now, "");
	result.snapshot = number;
	return result;
}

static struct order_result orders_put_mark(struct stream *s, const struct order *o)
{
	char text[ORDER_TEXT_MAX + 1];
	size_t length = words_clean(text, sizeof(text), o->text, o->text_length);
	uint64_t now = stream_now(s);

	if (!length)
		return orders_refused(HEAPCAST__REPLY_STATUS__REPLY_MALFORMED, "a mark has a text");
	if (stream_mark(s, HEAPCAST__MARK_KIND__MARK_TEXT, 0, now, (const uint8_t *)text,
			(uint32_t)length, o->by) < 0)
		return too_many();
	return done(s, now, "");
}

static struct order_result carry_out(struct stream *s, const struct order *o)
{
	switch (o->action) {
	case HEAPCAST__ACTION__ACTION_START:
		return change(s, o, HEAPCAST__MARK_KIND__MARK_START,
			      s->mode == RING_OFF ? s->resume_mode : s->mode, s->sample_interval);
	case HEAPCAST__ACTION__ACTION_STOP:
		return change(s, o, HEAPCAST__MARK_KIND__MARK_STOP, RING_OFF, 0);
	case HEAPCAST__ACTION__ACTION_MODE:
		return change_mode(s, o);
	case HEAPCAST__ACTION__ACTION_SNAPSHOT:
		return put_snapshot(s, o);
	case HEAPCAST__ACTION__ACTION_MARK:
		return orders_put_mark(s, o);
	default:
		return orders_refused(
			HEAPCAST__REPLY_STATUS__REPLY_MALFORMED,
			"the agent does not know this order: it may be too old for it");
	}
}

struct order_result order_give(struct stream *s, const struct order *o)
{
	struct order_result result;

	pthread_mutex_lock(&s->lock);
	if (s->state == STREAM_LIVE) {
		result = carry_out(s, o);
		stream_hurry(s);
	} else if (s->state == STREAM_FREE) {
		result = orders_refused(HEAPCAST__REPLY_STATUS__REPLY_NO_STREAM,
					"the agent does not record it any more");
	} else {
		result = orders_refused(HEAPCAST__REPLY_STATUS__REPLY_ENDED,
					"the program has ended");
	}
	pthread_mutex_unlock(&s->lock);
	return result;
}

struct order_result order_give_all(struct stream *const *streams, uint32_t count,
				   const struct order *o)
{
	struct order_result all = orders_refused(HEAPCAST__REPLY_STATUS__REPLY_NO_STREAM,
						 "no such program is recorded now");
	uint32_t took = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct order_result one;

		if (stream_state(streams[i]) != STREAM_LIVE)
			continue;
		one = order_give(streams[i], o);
		if (one.streams || !took)
			all = one;
		took += one.streams;
	}
	all.streams = took;
	return all;
}
