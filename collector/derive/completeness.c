/*
 * Checks the account of a recording (struct ledger_info in info.h) and finds what it lacks.
 * completeness.h describes the result.
 */
#include "collector/recording/completeness.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/saturated.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/derive/recording_parts.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

typedef unsigned long long ull;

/* ---- the account ---- */

static bool no(struct err_text *reason, const char *what, uint64_t left, const char *other,
	       uint64_t right)
{
	err_set(reason, 0, "%s is %llu, but %s is %llu", what, (ull)left, other, (ull)right);
	return false;
}

static bool threads_add_up(const struct recording *r, struct err_text *reason)
{
	for (uint32_t i = 1; i <= recording_threads(r); i++) {
		const struct thread_info *t = recording_thread(r, i);
		char what[64];

		if (!t || r->ledger.before_join || r->ledger.missed || t->delivered == t->stored)
			continue;
		snprintf(what, sizeof(what), "of thread %u, delivered", i);
		return no(reason, what, t->delivered, "stored", t->stored);
	}
	return true;
}

bool recording_adds_up(const struct recording *r, struct err_text *reason)
{
	const struct ledger_info *l = &r->ledger;
	uint64_t accounted = l->delivered + l->culled + l->not_sampled + l->lost + l->pending;

	if (l->produced != accounted)
		return no(reason, "produced", l->produced,
			  "delivered + short-lived + not sampled + lost + pending", accounted);
	if (l->delivered != l->stored + l->before_join + l->missed)
		return no(reason, "delivered", l->delivered, "stored + before join + missed",
			  l->stored + l->before_join + l->missed);
	if (l->culled != l->culled_stored + l->culled_missed)
		return no(reason, "short-lived", l->culled, "in the sums that came, or went before",
			  l->culled_stored + l->culled_missed);
	return threads_add_up(r, reason);
}

/* ---- what is missing ---- */

#define BEGINNING "Incomplete: "

static void completeness_say(struct completeness *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void completeness_say(struct completeness *c, const char *format, ...)
{
	size_t used = strlen(c->line);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(c->line + used, sizeof(c->line) - used, format, arguments);
	va_end(arguments);
}

/* Begins the text about one more loss. */
static void miss(struct completeness *c)
{
	completeness_say(c, "%s", c->complete ? BEGINNING : "; ");
	c->complete = false;
}

/*
 * Returns the bytes of events that were delivered while this collector was away. Their gaps have no
 * thread.
 */
static uint64_t missed_bytes(const struct recording *r)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; r->ledger.missed && i < recording_gaps(r); i++) {
		const struct gap_info *g = recording_gap(r, i);

		if (!g->thread && g->reason == HEAPCAST__REASON__REASON_SPOOL_FULL)
			add_most(&bytes, g->bytes);
	}
	return bytes;
}

/* A thread has at most one unfinished call. */
static uint64_t unfinished_events(const struct recording *r)
{
	uint64_t count = 0;

	for (uint32_t i = 0; r->ledger.lost && i < recording_gaps(r); i++) {
		const struct gap_info *g = recording_gap(r, i);

		count += g->thread && g->events == 1 &&
			 g->reason == HEAPCAST__REASON__REASON_WRITER_DIED;
	}
	return count < r->ledger.lost ? count : r->ledger.lost;
}

static void find_losses(const struct recording *r, struct completeness *c)
{
	const struct ledger_info *l = &r->ledger;
	char lost[32], of[32], bytes[32], share[32] = "less than 0.1";

	c->unfinished_events = unfinished_events(r);
	c->lost_events = l->lost + ledger_missed_for_good(l) - c->unfinished_events;
	c->produced_events = l->produced;
	c->lost_bytes = l->lost_bytes + missed_bytes(r);
	if (!c->lost_events)
		return;
	miss(c);
	if (c->lost_events >= c->produced_events / 1000)
		snprintf(share, sizeof(share), "%.1f",
			 100.0 * (double)c->lost_events /
				 (double)(c->produced_events ? c->produced_events : 1));
	completeness_say(c, "%s %% of the events were lost (%s of %s", share,
			 format_count(lost, c->lost_events), format_count(of, c->produced_events));
	if (c->lost_bytes)
		completeness_say(c, ", with allocations of %s",
				 format_size(bytes, (double)c->lost_bytes));
	completeness_say(c, ")");
}

static void find_culled(const struct recording *r, struct completeness *c)
{
	char count[32];

	c->culled_missed = r->ledger.culled_missed;
	if (!c->culled_missed)
		return;
	miss(c);
	completeness_say(c, "%s events of short-lived blocks are in no sum here",
			 format_count(count, c->culled_missed));
}

static void completeness_find_start(const struct recording *r, struct completeness *c)
{
	const struct ledger_info *l = &r->ledger;
	char count[32];

	c->start_missed_events = l->before_join;
	if (l->before_join <= l->elsewhere)
		return;
	miss(c);
	completeness_say(c, "%s%s events were before the collector joined",
			 l->elsewhere ? "" : "the first ",
			 format_count(count, l->before_join - l->elsewhere));
}

#define HOSTS_SAID 3

/* Finds events that another collector has. */
static void find_elsewhere(const struct recording *r, struct completeness *c)
{
	const struct ledger_info *l = &r->ledger;
	unsigned said = 0;
	char count[32];

	c->elsewhere_events = l->elsewhere;
	if (!c->elsewhere_events)
		return;
	miss(c);
	completeness_say(c, "%s%s events are at ",
			 l->elsewhere == l->before_join ? "the first " : "",
			 format_count(count, l->elsewhere));
	for (uint32_t i = 0; i < r->definitions.part_count && said < HOSTS_SAID; i++)
		if (r->definitions.parts[i].lacking)
			completeness_say(c, "%s%s", said++ ? ", then " : "",
					 r->definitions.parts[i].host);
}

/* Finds events before the agent answered. */
static void find_silence(const struct recording *r, struct completeness *c)
{
	char count[32];

	c->before_recording_events = r->ledger.before_recording;
	c->not_begun = r->ledger.not_begun && recording_process(r)->ended;
	if (!c->before_recording_events && !c->not_begun)
		return;
	miss(c);
	if (c->not_begun)
		completeness_say(c, "the program never had an agent that answered");
	else
		completeness_say(c, "the first %s events were before the agent answered",
				 format_count(count, c->before_recording_events));
}

static void find_unrecorded(const struct recording *r, struct completeness *c)
{
	const struct ledger_info *l = &r->ledger;
	char count[32], bytes[32];

	c->unrecorded = l->unrecorded;
	if (!c->unrecorded)
		return;
	miss(c);
	completeness_say(c, "%llu child%s not recorded (%s events, %s", (ull)l->unrecorded,
			 l->unrecorded == 1 ? " was" : "ren were",
			 format_count(count, l->unrecorded_events),
			 format_size(bytes, (double)l->unrecorded_bytes));
	if (l->unrecorded_uncounted)
		completeness_say(c, "; %llu of them nobody counted", (ull)l->unrecorded_uncounted);
	completeness_say(c, ")");
}

#define BREAKS_OFF "it breaks off at %s without an end, and what followed is not known"

bool completeness_broken_off(const char *line, uint64_t end_ns, char out[COMPLETENESS_LINE])
{
	char at[32], said[128];
	bool more = line && !strncmp(line, BEGINNING, strlen(BEGINNING));

	if (line && strstr(line, "it breaks off at "))
		return false;
	snprintf(said, sizeof(said), BREAKS_OFF, format_duration(at, end_ns));
	snprintf(out, COMPLETENESS_LINE, BEGINNING "%s%s%s%s", said, more ? "; " : ".",
		 line && *line && !more ? " " : "",
		 line ? line + (more ? strlen(BEGINNING) : 0) : "");
	return true;
}

static void find_tail(const struct recording *r, struct completeness *c)
{
	char at[32], count[32];

	c->tail_unknown = !recording_process(r)->ended && !recording_is_growing(r);
	c->tail_events = c->tail_unknown ? r->ledger.pending : 0;
	if (!c->tail_unknown)
		return;
	miss(c);
	completeness_say(c, BREAKS_OFF, format_duration(at, recording_end_ns(r)));
	if (c->tail_events)
		completeness_say(c, " (%s events at least)", format_count(count, c->tail_events));
}

/* Returns how many events were lost with batches, according to the account's delivered events. */
static uint64_t missing_events(const struct ledger_info *l)
{
	uint64_t here = l->stored + l->before_join + l->missed;

	return l->delivered > here ? l->delivered - here : 0;
}

static void find_damage(const struct recording *r, struct completeness *c)
{
	const struct ledger_info *l = &r->ledger;
	char bytes[32], events[32];

	c->damaged_bytes = l->skipped_bytes;
	c->damaged_places = l->damaged_places;
	c->missing_batches = l->missing_batches;
	c->cut_bytes = recording_is_growing(r) ? 0 : l->cut_bytes;
	c->missing_events = missing_events(l);
	if (c->damaged_places) {
		miss(c);
		completeness_say(
			c,
			"%s bytes of the recording are damaged, in %llu place%s, the first at %llu",
			format_count(bytes, c->damaged_bytes), (ull)c->damaged_places,
			c->damaged_places == 1 ? "" : "s", (ull)l->first_damage);
	}
	if (c->missing_batches) {
		miss(c);
		completeness_say(c, "%llu batch%s missing", (ull)c->missing_batches,
				 c->missing_batches == 1 ? " is" : "es are");
	}
	if (c->missing_events && (c->damaged_places || c->missing_batches))
		completeness_say(c, " (with %s events)", format_count(events, c->missing_events));
	if (c->cut_bytes) {
		miss(c);
		completeness_say(c, "the file is cut off: its last %s bytes are left out",
				 format_count(bytes, c->cut_bytes));
	}
}

static void find_namespaces(const struct recording *r, struct completeness *c)
{
	char count[32];

	c->namespaces = r->ledger.namespaces;
	if (!c->namespaces)
		return;
	miss(c);
	completeness_say(
		c, "what was allocated in %s namespace%s of the loader (dlmopen) was not recorded",
		format_count(count, c->namespaces), c->namespaces == 1 ? "" : "s");
}

static void find_rowless(const struct recording *r, struct completeness *c)
{
	const struct pairing_info *p = &r->pairing.info;
	char count[32], bytes[32], at[32];

	c->rowless_allocations = p->rowless;
	c->rowless_bytes = p->rowless_bytes;
	if (!c->rowless_allocations)
		return;
	miss(c);
	completeness_say(c,
			 "the last %s allocations (%s), from %s on, are counted here alone: more "
			 "than there are "
			 "numbers for",
			 format_count(count, p->rowless),
			 format_size(bytes, (double)p->rowless_bytes),
			 format_duration(at, p->rowless_from_ns));
}

/* In the order of the text. If none of these functions finds a loss, the recording is complete. */
static void (*const missing[])(const struct recording *r, struct completeness *c) = {
	find_losses,	find_culled,  completeness_find_start,
	find_elsewhere, find_silence, find_unrecorded,
	find_tail,	find_damage,  find_namespaces,
	find_rowless,
};

/* Finds whether the collector joined a running program, on request. */
static void find_watched(const struct recording *r, struct completeness *c)
{
	char ran[32];

	c->ran_before_ns = recording_process(r)->ran_before_ns;
	if (c->ran_before_ns)
		completeness_say(c,
				 "%sWatched since it had run for %s: what it had allocated before "
				 "is not in the "
				 "numbers.",
				 c->complete ? "" : " ", format_duration(ran, c->ran_before_ns));
}

void recording_completeness(const struct recording *r, struct completeness *ret)
{
	*ret = (struct completeness){.complete = true, .adds_up = recording_adds_up(r, NULL)};
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		missing[i](r, ret);
	if (!ret->complete)
		completeness_say(ret, ".");
	find_watched(r, ret);
}
