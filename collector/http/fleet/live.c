/*
 * /data/ID/live: server-sent events (the HTML standard, "Server-sent events"). Sends an event
 * `totals` at most once a second while the recording grows, and an event `end` when nobody writes
 * it any more. In between, comment lines let both sides notice when the other is gone. A watcher
 * waits in the workers' queue. It holds no thread and no part of the recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/columns/row_block.h"
#include "collector/answers/frames.h"
#include "collector/answers/json.h"
#include "collector/answers/results.h"
#include "collector/http/routes/values.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"

#include "base/ban.h"

#define INTERVAL_MS 1000
#define QUIET_MS    15000

struct live {
	struct sources *sources;
	char id[STREAM_ID_TEXT];
	struct report told;
	uint64_t due_ms, said_ms;
	bool begun, over, ended; /* over: the stream has ended, or nobody writes it any more */
};

static uint64_t live_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void live_free(void *work)
{
	struct live *live = work;

	sources_unwatch(live->sources);
	free(live);
}

static int live_begin(struct exchange *x, struct live **ret_live)
{
	struct live *live;

	if (!sources_watch(x->sources))
		return err_set(&x->err, -EBUSY,
			       "%u watch already: close one, or ask /report now and then",
			       WATCHERS_MAX);
	live = calloc(1, sizeof(*live));
	if (!live) {
		sources_unwatch(x->sources);
		return err_set(&x->err, -ENOMEM, "out of memory");
	}
	live->sources = x->sources;
	if (strlen(x->id) < sizeof(live->id))
		memcpy(live->id, x->id, strlen(x->id));
	x->work = live;
	x->work_free = live_free;
	*ret_live = live;
	return 0;
}

struct told_totals {
	uint64_t duration_ns;
	struct report report;
	uint64_t events, lost, rss;
	bool has_rss;
};

#define ANSWER_OF struct told_totals
static const struct answer_field live_fields[] = {
	ROW_AS("timestamp", duration_ns, ANSWER_TIMES, "since the epoch",
	       "the moment up to which the recording goes"),
	ROWS_OF(report_answer, report),
	ROW("events", events, "events", "events that are stored"),
	ROW("lost", lost, "events", "events that were lost"),
	ROW("rss", rss, "bytes", "resident memory, when it was last read", WHEN(has_rss)),
	{0},
};
#undef ANSWER_OF
static const struct answer live_answer = {"live_totals", live_fields};

static void write_totals(struct exchange *x, struct source *source, const struct report *report)
{
	const struct figures_info *figures = recording_figures(source->recording);
	const struct ledger_info *ledger = recording_ledger(source->recording);
	const struct answer_context context = frames_context(source->view, &x->err);
	const struct told_totals told = {.duration_ns = report->duration_ns,
					 .report = *report,
					 .events = ledger->stored,
					 .lost = ledger->lost,
					 .rss = figures->rss,
					 .has_rss = figures->time_ns != NO_TIME};
	struct json json;

	buf_string(&x->out, "event: totals\ndata: ");
	json_answer(&json, x);
	json_members(&json, &live_answer, &told, &context);
	json_end(&json, '}');
	buf_string(&x->out, "\n\n");
}

static bool is_news(const struct live *live, const struct report *report)
{
	return !live->begun || live->told.duration_ns != report->duration_ns ||
	       live->told.allocations != report->allocations || live->told.frees != report->frees;
}

static int live_look(struct exchange *x, struct live *live, struct source *source, uint64_t now)
{
	struct completeness completeness;
	struct report report;
	int r = source_totals(source, &x->cancelled, &report, &x->err);

	if (r < 0)
		return r;
	recording_completeness(source->recording, &completeness);
	snprintf(x->incomplete, sizeof(x->incomplete), "%s", completeness.line);
	if (is_news(live, &report)) {
		write_totals(x, source, &report);
		live->told = report;
		live->said_ms = now;
	}
	live->begun = true;
	live->ended = recording_process(source->recording)->ended;
	live->over = live->ended || !recording_is_growing(source->recording);
	return 0;
}

static int look_again(struct exchange *x, struct live *live, uint64_t now)
{
	struct source *source;
	int r = sources_take(x->sources, live->id, &source, NULL, &x->err);

	if (r == -ENOENT || r == -EEXIST)
		snprintf(x->parameter, sizeof(x->parameter), "id");
	if (r < 0)
		return r;
	/* Stores the full id, so that "last" keeps meaning the same recording. */
	memcpy(live->id, source->id, sizeof(live->id));
	source_lock(source);
	r = live_look(x, live, source, now);
	source_unlock(source);
	sources_release(x->sources, source);
	return r;
}

static int live_step(struct exchange *x)
{
	struct live *live = x->work;
	uint64_t now = live_now_ms();
	int r = live ? 0 : live_begin(x, &live);

	if (r < 0)
		return r;
	if (now < live->due_ms) {
		x->again_ms = live->due_ms - now;
		return -EAGAIN;
	}
	r = look_again(x, live, now);
	if (r < 0)
		return r;
	live->due_ms = now + INTERVAL_MS;
	if (live->over)
		buf_printf(&x->out, "event: end\ndata: {\"state\":\"%s\"}\n\n",
			   live->ended ? "ended" : "interrupted");
	else if (!x->out.length && now - live->said_ms >= QUIET_MS) {
		buf_string(&x->out, ": nothing new\n\n");
		live->said_ms = now;
	}
	if (buf_error(&x->out))
		return buf_error(&x->out);
	if (live->over)
		return 0;
	if (x->out.length)
		return 1;
	x->again_ms = INTERVAL_MS;
	return -EAGAIN;
}

const struct route live_route = {
	.path = "live",
	.about = "totals, sent again and again while the recording grows",
	.content_type = "text/event-stream",
	.flags = ROUTE_OF_RECORDING | ROUTE_TAKES_IT,
	.answer = &live_answer,
	.step = live_step,
};
