/* Which collector has which part of a stream. See parts.h. */
#include "collector/share/parts.h"

#include <errno.h>

#include "collector/clickhouse/row_binary.h"
#include "collector/query/minutes.h"

#include "base/ban.h"

int stream_part_get(struct reader *r, struct stream_part *ret)
{
	struct stream_part p = {0};
	uint8_t state;

	row_get_id(r, p.stream.bytes);
	p.collector = row_get_u64(r);
	p.version = row_get_u64(r);
	p.next.incarnation = row_get_u32(r);
	p.next.next = row_get_u64(r);
	p.first.incarnation = row_get_u32(r);
	p.first.next = row_get_u64(r);
	p.start_wall_ns = row_get_u64(r);
	p.last_ns = row_get_u64(r);
	p.events = row_get_u64(r);
	state = row_get_u8(r);
	p.sent_to = row_get_u32(r);
	p.done = row_get_u8(r);
	p.begins_later = row_get_u8(r);
	if (state > STREAM_INTERRUPTED || reader_error(r))
		return -EBADMSG;
	p.state = state;
	*ret = p;
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int position_compare(struct stream_position a, struct stream_position b)
{
	int r = compare(a.incarnation, b.incarnation);

	return r ? r : compare(a.next, b.next);
}

static uint64_t end_ns(const struct stream_part *p)
{
	return p->start_wall_ns + p->last_ns;
}

/* Who has the end knows it; who is interrupted may have been left. */
static int rank(enum stream_state state)
{
	return state == STREAM_ENDED ? 2 : state == STREAM_LIVE ? 1 : 0;
}

bool stream_part_is_later(const struct stream_part *a, const struct stream_part *b)
{
	int r = 0;

	if (a->next.incarnation && b->next.incarnation)
		r = position_compare(a->next, b->next);
	if (!r)
		r = compare(end_ns(a), end_ns(b));
	if (!r)
		r = rank(a->state) - rank(b->state);
	return r >= 0;
}

/* Whether the sums that it has sent reach as far as this time. */
static bool has_sent(const struct stream_part *p, uint64_t wall_ns)
{
	return (p->done && p->state != STREAM_LIVE) || minute_start_ns(p->sent_to) >= wall_ns;
}

bool stream_part_covers(const struct stream_part *other, const struct stream_part *part)
{
	int r = position_compare(other->next, part->next);

	if (!other->first.incarnation || !part->next.incarnation ||
	    position_compare(other->first, part->next) >= 0 || !has_sent(other, end_ns(part)))
		return false;
	if (!r && !part->first.incarnation) /* whether it has more is not known yet */
		return false;
	if (!r)
		r = position_compare(part->first, other->first);
	return r ? r > 0 : other->collector > part->collector;
}

bool stream_part_is_copy(const struct stream_part *other, const struct stream_part *part)
{
	if (other->begins_later || part->begins_later)
		return false;
	return !other->next.incarnation ||
	       (position_compare(other->next, part->next) >= 0 && other->events >= part->events);
}
