/*
 * An agent's replies at a collector that has given it two orders (collector/ingest/replies.c): the
 * input is a Link, as it stands in a batch. Each order ends once at most, by its own number, with a
 * status that there is and one line of text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "collector/ingest/state.h"
#include "tests/fuzz/fuzz.h"

static unsigned ended[2];

static void on_event(void *context, const struct ingest_event *e)
{
	const struct ingest_reply *r = e->reply;
	uint32_t code;

	(void)context;
	must(e->kind == INGEST_REPLY && (r->id == 7 || r->id == 8));
	must(!ended[r->id - 7]++);
	must(r->status <= HEAPCAST__REPLY_STATUS__REPLY_MALFORMED ||
	     r->status == INGEST_REPLY_NONE);
	must(r->mode <= HEAPCAST__MODE__MODE_SAMPLE && r->sample_interval <= INTERVAL_MAX);
	for (size_t left = strlen(r->text), n, at = 0; left; left -= n, at += n)
		must((n = utf8_next(r->text + at, left, &code)) != 0 && code >= 0x20);
}

static void give(struct ingest *ingest, struct link *link, uint64_t id)
{
	struct given *g = calloc(1, sizeof(*g));

	must(g != NULL);
	*g = (struct given){.next = ingest->given, .ingest = ingest, .link = link, .id = id};
	ingest->given = g;
	ingest->given_count++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ingest ingest;
	static struct link link, other;
	Heapcast__Link *m = heapcast__link__unpack(NULL, size, data);

	if (!m)
		return 0;
	ingest = (struct ingest){.event = on_event};
	link.ingest = other.ingest = &ingest;
	ended[0] = ended[1] = 0;
	give(&ingest, &link, 7);
	give(&ingest, &link, 8);
	for (size_t i = 0; i < m->n_reply; i++)
		replies_take(&other, m->reply[i]);
	must(ingest.given_count == 2); /* another agent answers for nobody */
	for (size_t i = 0; i < m->n_reply; i++)
		replies_take(&link, m->reply[i]);
	replies_link_gone(&link);
	must(!ingest.given && !ingest.given_count && ended[0] == 1 && ended[1] == 1);
	heapcast__link__free_unpacked(m, NULL);
	return 0;
}
