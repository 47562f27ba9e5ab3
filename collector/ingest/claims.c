/*
 * Decides which link may continue a stream (declared in state.h). Two agents may claim the same
 * stream: the second continues what the first left, and the first one's link may still look alive;
 * or one of them lies.
 *
 * A key decides. What an agent recorded under a key, no other agent sends without a key
 * (agent/serve/home.h), so an agent that offers it without one is a stranger. Another key may
 * belong to another board. It may also belong to the same board, whose agent continues recordings
 * made under any of the board's keys. So while a link is open, its streams stay with its key.
 */
#include <string.h>

#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/ingest/state.h"
#include "base/ban.h"

bool claim_has_other_key(const struct intake *s, const struct link *link)
{
	return s->link && s->link->session && link->session &&
	       strcmp(secure_identity(s->link->session), secure_identity(link->session)) != 0;
}

bool claim_is_void(const struct intake *s, const struct link *link, uint32_t incarnation)
{
	uint32_t stored = s->writer ? stream_writer_position(s->writer).incarnation : 0;

	if (s->keyed && !link->session)
		return true;
	if (!s->link || s->link == link || !memcmp(s->link->agent, link->agent, STREAM_ID_SIZE))
		return false;
	if (link->session && !s->link->session) /* a claim without a key does not count */
		return incarnation < stored;
	return incarnation <= stored || incarnation <= s->incarnation;
}
