/* What is due of a stream. See due.h. */
#include "collector/share/due.h"

#include "collector/query/minutes.h"
#include "collector/share/parts.h"
#include "collector/share/stream_row.h"

#include "base/ban.h"

#define DAY_NS 86400000000000u

uint32_t stream_first_minute(const struct stream_summary *s)
{
	return minute_of(s->start_wall_ns);
}

/* The minutes before the one that holds the last data are complete. */
static bool has_new_minute(const struct stream_summary *s, const struct mark *mark)
{
	uint32_t from = mark->sent_to ? mark->sent_to : stream_first_minute(s);

	return minute_of(s->start_wall_ns + s->last_ns) > from;
}

/* ---- what other collectors have ---- */

static struct stream_part part_of(const struct stream_summary *s, const struct mark *mark,
				  uint64_t collector)
{
	return (struct stream_part){.stream = s->id,
				    .collector = collector,
				    .first = mark->first,
				    .next = s->position,
				    .start_wall_ns = s->start_wall_ns,
				    .last_ns = s->last_ns,
				    .events = s->events,
				    .state = s->state,
				    .begins_later = is_later_part(s)};
}

static bool same_position(struct stream_position a, struct stream_position b)
{
	return !position_compare(a, b);
}

/* What was once left out stays out as long as nothing was added: the other one has sent it, even if
 * it has more gaps by now. */
struct stream_position stream_bound(const struct stream_summary *s, const struct mark *mark,
				    const struct marks *marks, uint64_t collector)
{
	const struct stream_part self = part_of(s, mark, collector);
	struct stream_position bound = {0};
	size_t count = 0;
	const struct stream_part *others = marks_others(marks, &s->id, &count);

	if (mark->bound.incarnation && same_position(mark->next, s->position))
		bound = mark->bound;
	for (size_t i = 0; s->state != STREAM_LIVE && i < count; i++)
		if (stream_part_covers(&others[i], &self) &&
		    (!bound.incarnation || position_compare(others[i].first, bound) < 0))
			bound = others[i].first;
	return bound;
}

bool stream_has_others(const struct stream_summary *s, const struct marks *marks)
{
	size_t count;

	marks_others(marks, &s->id, &count);
	return count;
}

bool stream_is_copy(const struct stream_summary *s, const struct mark *mark,
		    const struct marks *marks)
{
	const struct stream_part self = part_of(s, mark, 0);
	size_t count;
	const struct stream_part *others = marks_others(marks, &s->id, &count);

	for (size_t i = 0; !mark->sent_to && i < count; i++)
		if (stream_part_is_copy(&others[i], &self))
			return true;
	return false;
}

/* ---- what is due ---- */

/* Whether what a stream that nobody writes has is not what was sent. */
static bool has_changed(const struct stream_summary *s, const struct mark *mark)
{
	return !mark->done || mark->last_ns != s->last_ns ||
	       mark->recording_bytes != s->recording_bytes ||
	       (mark->next.incarnation && !same_position(mark->next, s->position));
}

bool stream_sums_are_due(const struct stream_summary *s, const struct mark *mark,
			 const struct marks *marks, uint64_t collector)
{
	if (!same_position(stream_bound(s, mark, marks, collector), mark->bound))
		return true;
	if (s->state == STREAM_LIVE)
		return has_new_minute(s, mark);
	return has_changed(s, mark) || (!mark->first.incarnation && stream_has_others(s, marks));
}

bool stream_is_due(const struct stream_summary *s, const struct mark *mark,
		   const struct marks *marks, uint64_t collector, uint32_t kept)
{
	if ((s->start_wall_ns + s->last_ns) / DAY_NS < kept)
		return false;
	return mark->print != stream_row_print(s) || stream_sums_are_due(s, mark, marks, collector);
}

bool stream_is_settled(const struct stream_summary *s, const struct mark *mark,
		       const struct marks *marks, uint64_t collector, uint32_t kept)
{
	if (stream_is_copy(s, mark, marks))
		return true;
	if (s->state != STREAM_LIVE)
		return !stream_is_due(s, mark, marks, collector, kept);
	return mark->asked && mark->sent_to >= mark->arrived_to;
}
