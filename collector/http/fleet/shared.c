/* GET /shared: the streams of all collectors that share a data base. */
#include <errno.h>
#include <stdlib.h>

#include "collector/catalogue/store.h"
#include "collector/clickhouse/client.h"
#include "collector/http/fleet/source.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/share/collectors.h"
#include "collector/share/share_number.h"
#include "collector/share/shared_open.h"
#include "collector/share/shared_streams.h"

#include "base/ban.h"

static const char *const states[] = {[STREAM_LIVE] = "live",
				     [STREAM_ENDED] = "ended",
				     [STREAM_INTERRUPTED] = "interrupted",
				     NULL};

/* One element of the answer. */
struct shared_line {
	struct stream_summary summary;
	const char *collector, *address;
	uint64_t away_since_ns;
	bool is_here;
};

#define ANSWER_OF struct shared_line
static const struct answer_field shared_fields[] = {
	ROW_AS("id", summary.id, ANSWER_ID, NULL, "32 hexadecimal digits"),
	ROW("name", summary.name, NULL, "what people call the program"),
	ROW("executable", summary.executable, NULL, "path of the program"),
	ROW("cmdline", summary.command_line, NULL, "arguments, joined by blanks"),
	ROW("architecture", summary.architecture, NULL, "as in uname -m"),
	ROWS_OF_LABELS(summary.labels),
	ROW("final_allocated", summary.in_use_bytes, "bytes",
	    "bytes in use at the end, or as far as sums have been sent"),
	ROW("final_allocated_count", summary.in_use_blocks, "blocks", "blocks in use then"),
	ROW_AS("runtime", summary.last_ns, ANSWER_TIME, "duration", "how far sums have been sent"),
	ROW_AS("timestamp", summary.start_wall_ns, ANSWER_TIME, "since the epoch",
	       "when recording began"),
	ROW("host", summary.host, NULL, ""),
	ROW("pid", summary.pid, NULL, "number of the process; 0: the recording was imported"),
	ROW_AS("state", summary.state, ANSWER_WORD, NULL,
	       "interrupted: no end was recorded, and nobody writes to it", .words = states),
	ROW("events", summary.events, "events", "events that have come so far"),
	ROW("recording_bytes", summary.recording_bytes, "bytes", "bytes on the collector's disk"),
	ROW("is_snapshot", summary.is_snapshot, NULL,
	    "true: a snapshot of a fleet, with what was in use at one moment"),
	ROW("incomplete", summary.incomplete, NULL,
	    "what the recording does not hold, in a sentence", .when = IF_TEXT),
	ROW("collector", collector, NULL, "host of the collector that has the recording"),
	ROW("collector_address", address, NULL, "of its page, where all about the stream is",
	    .when = IF_TEXT),
	ROW("collector_away_since_ns", away_since_ns, "ns since the epoch",
	    "the collector gives no sign since then; 0: it is there"),
	ROW("is_here", is_here, NULL,
	    "true: that is this collector. One that had only the beginning is not meant"),
	{0},
};
#undef ANSWER_OF
static const struct answer shared_answer = {"shared_stream", shared_fields};

struct told_shared {
	struct stream_summary *list;
	uint64_t *owners;
	struct shared_collector *collectors;
	size_t count, collector_count, at;
	uint64_t self; /* our number, 0: none */
};

static void told_shared_done(void *result)
{
	struct told_shared *t = result;

	store_list_free(t->list, t->count);
	shared_collectors_free(t->collectors, t->collector_count);
	free(t->owners);
}

static int shared_ask(struct asking *a)
{
	struct told_shared *t = a->result;
	struct clickhouse *client = NULL;
	int r;

	if (!sources_shared(a->x->sources))
		return 0;
	r = fleet_open_shared(a->x, QUESTION_MS, a->x->begun_ns, &client, &a->x->err);
	if (!r)
		r = shared_streams_owned(client, a->values.select, &t->list, &t->owners, &t->count,
					 &a->x->err);
	if (!r)
		r = shared_collectors(client, &t->collectors, &t->collector_count, &a->x->err);
	clickhouse_close(client);
	t->self = sources_data(a->x->sources) ? share_number_read(sources_data(a->x->sources)) : 0;
	return r == -EINVAL ? asking_fault(a, "select", r) : r;
}

static int shared_next(struct asking *a)
{
	struct told_shared *t = a->result;
	const struct shared_collector *owner;
	struct shared_line line;

	if (t->at >= t->count)
		return 0;
	line = (struct shared_line){.summary = t->list[t->at], .collector = "", .address = ""};
	owner = shared_collector_find(t->collectors, t->collector_count, t->owners[t->at++]);
	if (owner) {
		line.collector = owner->name;
		line.address = owner->address;
		line.is_here = owner->number == t->self;
		line.away_since_ns = shared_collector_away_since(owner);
	}
	return asking_element(a, &shared_answer, &line);
}

const struct route shared_route = {
	.path = "/shared",
	.about = "the recordings of all collectors that share a data base (--store); without one, "
		 "none",
	.flags = ROUTE_ARRAY | ROUTE_TAKES_IT | ROUTE_ASKS_SHARED,
	.parameters = (const struct route_parameter[]){REQUEST_SELECT, {0}},
	.takes_filter = takes_none,
	.answer = &shared_answer,
	ROUTE_ASKS(struct told_shared, shared_ask, told_shared_done),
	.next = shared_next,
};
