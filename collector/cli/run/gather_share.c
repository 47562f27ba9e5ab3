/* Sends what is stored to the shared data base. See gather_share.h. */
#include "collector/cli/run/gather_share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/command.h"
#include "collector/clickhouse/url.h"
#include "collector/query/minutes.h"
#include "collector/share/collectors.h"
#include "collector/share/shared_open.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

/* Sums are by minute, so looking more often brings little. */
#define PASS_SECONDS 5
#define FAILED_LEAST 2 /* passes, to be told of */
#define AGAIN_NS     3600000000000u
/* When the collector ends, its streams have ended, too, as far as it knows. One more pass sends the
 * rest, if the data base is quick enough. */
#define LAST_SECONDS 10
#define DAY_NS	     86400000000000u

/* HEAPCAST_STORE= means "not set". */
static bool is_wanted(const struct gather_share_options *o)
{
	return o->url && *o->url;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* How long it has been away. */
static uint64_t minutes_away(const struct gather_share *g)
{
	return (cancel_clock_ns() - g->away_ns) / MINUTE_NS;
}

static void tell_away(const struct gather_share *g, const struct share_report *r, const char *why)
{
	char late[48] = "", since[64] = "", size[32];

	if (r->late_ns >= MINUTE_NS)
		snprintf(late, sizeof(late), ", of up to %" PRIu64 " min", r->late_ns / MINUTE_NS);
	if (g->away)
		snprintf(since, sizeof(since), "for %" PRIu64 " min now, ", minutes_away(g));
	if (r->waiting)
		program_printf(stderr,
			       "collector gather: %ssums of %" PRIu64
			       " stream%s%s wait until they can be sent: %s. The recordings keep "
			       "them (%s)\n",
			       since, r->waiting, plural(r->waiting), late, why,
			       format_size(size, (double)r->waiting_bytes));
	else
		program_printf(stderr,
			       "collector gather: %ssums will wait in the recordings until they "
			       "can be sent: %s\n",
			       since, why);
}

static void tell_back(const struct gather_share *g, const struct share_report *r)
{
	if (g->quiet)
		return;
	program_printf(stdout,
		       "all sums are in the shared store again, after %" PRIu64 " min: %" PRIu64
		       " were sent, %" PRIu64 " stream%s up to date\n",
		       minutes_away(g), r->sums, r->streams, r->streams == 1 ? " is" : "s are");
	fflush(stdout);
}

/* What is said once, is said again after an hour, and if the reason is another one. */
static bool is_due(const struct gather_share *g, int error)
{
	uint64_t passed = cancel_clock_ns() - g->told_ns;

	return !g->away || passed >= AGAIN_NS ||
	       (error != g->told && (passed >= MINUTE_NS || share_is_refused(error)));
}

/* Says that the data base is away, and that it is there again. A connection may break when a server
 * is started anew: one failed pass is not told. That we are refused does not pass by itself: it is
 * said at once. */
static void tell_state(struct gather_share *g, int error, const struct share_report *r,
		       const struct err_text *err)
{
	const char *why = error ? err_get(err, error) : r->why.text;

	if (error == -ECANCELED)
		return;
	if (!error && !r->waiting) {
		if (g->away)
			tell_back(g, r);
		g->away = false;
		g->failed = 0;
		return;
	}
	if (!g->failed)
		g->away_ns = cancel_clock_ns();
	error = error ? error : r->error;
	g->failed += error == -ETIMEDOUT || share_is_refused(error) ? FAILED_LEAST : 1;
	if (g->failed < FAILED_LEAST || !is_due(g, error))
		return;
	tell_away(g, r, why);
	g->away = true;
	g->told = error;
	g->told_ns = cancel_clock_ns();
}

/* Says what is the matter with clocks, when it begins. */
static void tell_clocks(struct gather_share *g, const struct share_report *r)
{
	if (*r->undropped.text && !g->undropped)
		program_printf(stderr, "collector gather: %s\n", r->undropped.text);
	g->undropped = *r->undropped.text;
	if (r->unset > g->unset)
		program_printf(stderr,
			       "collector gather: %" PRIu64
			       " stream%s count as recorded in 1970, and are not kept in the "
			       "shared store (--store-keep). The first: %s\n",
			       r->unset, plural(r->unset), r->unset_why.text);
	g->unset = r->unset > g->unset ? r->unset : g->unset;
}

/* Waits for the next pass. Returns false if the collector ends. */
static bool wait_for_pass(struct gather_share *g)
{
	struct timespec until;
	bool goes_on;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PASS_SECONDS;
	pthread_mutex_lock(&g->lock);
	while (!g->stopping && pthread_cond_timedwait(&g->wake, &g->lock, &until) != ETIMEDOUT) {
	}
	goes_on = !g->stopping;
	pthread_mutex_unlock(&g->lock);
	return goes_on;
}

static void share_some(struct gather_share *g)
{
	struct share_report report;
	struct err_text err = {0};
	int r = share_pass(g->share, &report, &err);

	if (*report.damaged.text)
		program_printf(stderr, "collector gather: %s\n", report.damaged.text);
	tell_state(g, r, &report, &err);
	tell_clocks(g, &report);
}

static void *share_thread(void *context)
{
	struct gather_share *g = context;
	unsigned failed;

	do
		share_some(g);
	while (wait_for_pass(g));
	failed = g->failed;
	share_some(g);
	/* A connection that broke is tried once more. */
	if (!failed && g->failed)
		share_some(g);
	return NULL;
}

/* A mistake is mended more easily by who starts the collector than by who reads its log. What may
 * pass by itself is only said: recordings go on. */
static int check_share(struct gather_share *g, struct err_text *err)
{
	const struct share_report nothing = {0};
	struct err_text why = {0};
	int r = share_check(g->share, &why);

	if (share_is_refused(r))
		return err_set(err, -EACCES, "--store: %s", err_get(&why, r));
	if (r < 0) {
		g->failed = FAILED_LEAST;
		g->away_ns = cancel_clock_ns();
		tell_state(g, r, &nothing, &why);
	}
	return 0;
}

static int open_share(struct gather_share *g, const struct gather_share_options *o,
		      struct err_text *err)
{
	cleanup(clickhouse_url_clear) struct clickhouse_url url;
	const struct symbol_choice choice = {0};
	int r = shared_url(o->url, &url, err);

	if (!r)
		r = symbol_sources_open(&g->sources, o->data, &choice, &g->symbols, err);
	if (!r)
		r = share_new(&(struct share_options){.data = o->data,
						      .url = &url,
						      .symbols = g->symbols,
						      .keep_days = (uint32_t)(o->keep_ns / DAY_NS),
						      .address = o->address},
			      &g->share, err);
	return r ? r : check_share(g, err);
}

static void close_share(struct gather_share *g)
{
	share_free(g->share);
	symbols_free(g->symbols);
	symbol_sources_close(&g->sources);
	*g = (struct gather_share){0};
}

/* The clock of the day may be set while a pass is waited for. */
static void init_wake(struct gather_share *g)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&g->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int gather_share_check(const struct command *command, const struct gather_share_options *o)
{
	if (!is_wanted(o) && (o->keep_ns || o->address))
		return command_usage_error(
			command,
			"%s is about the data base that collectors share: it goes with --store",
			o->address ? "--page-address" : "--store-keep");
	if (o->keep_ns % DAY_NS)
		return command_usage_error(command, "--store-keep takes whole days: 30d");
	if (o->address && !collector_address_is_valid(o->address))
		return command_usage_error(command, PAGE_ADDRESS_WRONG);
	return EXIT_DONE;
}

int gather_share_start(struct gather_share *g, const struct gather_share_options *options,
		       struct err_text *err)
{
	int r;

	*g = (struct gather_share){.quiet = options->quiet};
	if (!is_wanted(options))
		return 0;
	r = open_share(g, options, err);
	if (r < 0) {
		close_share(g);
		return r;
	}
	pthread_mutex_init(&g->lock, NULL);
	init_wake(g);
	r = -pthread_create(&g->thread, NULL, share_thread, g);
	g->started = !r;
	if (r < 0)
		close_share(g);
	return r ? err_set(err, r, "can't start a thread") : 0;
}

bool gather_share_waits(struct gather_share *g, const struct stream_id *stream)
{
	return g->started && !share_has_sent(g->share, stream);
}

void gather_share_stop(struct gather_share *g)
{
	struct timespec until;

	if (!g->started)
		return;
	pthread_mutex_lock(&g->lock);
	g->stopping = true;
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LAST_SECONDS;
	if (pthread_timedjoin_np(g->thread, NULL, &until) == ETIMEDOUT) {
		share_stop(g->share);
		pthread_join(g->thread, NULL);
	}
	pthread_cond_destroy(&g->wake);
	pthread_mutex_destroy(&g->lock);
	close_share(g);
}
