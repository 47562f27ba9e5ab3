/* Prints summaries. See summary.h. */
#include "agent/cli/summary.h"

#include <stdio.h>
#include <string.h>

#include "base/cli/program.h"
#include "base/parse.h"
#include "base/words.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

static void print_end(const struct session_report *r)
{
	if (r->end.kind == HEAPCAST__END_KIND__END_OOM_KILLED)
		program_printf(
			stderr,
			"heapcast: %s was ended by the kernel for lack of memory (OOM killer)\n",
			target_name(r->target));
	if (r->end.kind == HEAPCAST__END_KIND__END_SIGNALLED)
		program_printf(stderr, "heapcast: %s was ended by signal %u (%s)%s\n",
			       target_name(r->target), r->end.status, strsignal((int)r->end.status),
			       r->end.core_dumped ? ", core dumped" : "");
}

/* Prints how much is in no file, and why. */
static void print_unsaved(const struct session_report *r)
{
	uint64_t unsaved = r->ledger.delivered > r->saved ? r->ledger.delivered - r->saved : 0;
	char lost[FORMAT_COUNTED], saved[FORMAT_COUNTED];

	format_counted(lost, unsaved, "event");
	format_counted(saved, r->saved, "event");
	if (r->file_error)
		program_printf(
			stderr,
			"heapcast: can't write to %s:\n          %s; it has the first %s.\n"
			"          Totals, peak and temporary allocations are of that part only\n",
			r->path, strerror(-r->file_error), saved);
	else if (r->given_up)
		program_printf(stderr,
			       "heapcast: no collector came and no file could be written:\n"
			       "          what was left of the recording is lost, %s\n",
			       lost);
	else if (r->lingered)
		program_printf(stderr, "heapcast: no collector %s; what was left is in %s\n",
			       *r->lacking ? "took the rest" : "came", r->path);
}

/* Prints which collectors have taken the recording, and which have not. Without a key, any host on
 * the network may have been a collector. */
static void print_collectors(const struct session_report *r)
{
	bool kept = *r->path && r->rest_for_away;
	const char *rest =
		!kept	      ? "it was away at the end"
		: r->rest_cut ? "of the rest there was room for the end only (--spool keeps more): "
				"it is in\n          "
			      : "the rest is in ";

	if (*r->taken_by)
		program_printf(stderr, "heapcast: taken by %s\n", r->taken_by);
	if (*r->lacking)
		program_printf(stderr, "heapcast: only a part was taken by %s;\n          %s%s\n",
			       r->lacking, rest, kept ? r->path : "");
}

void summary_print_next(const struct session_report *r)
{
	if (*r->path && (r->rest || r->rest_for_away) && !r->file_error)
		program_printf(stderr, "next, where %s runs: collector import '%s'\n",
			       r->rest_for_away ? "that collector" : "the collector", r->path);
	else if (*r->path && (!r->file_error || r->saved))
		program_printf(stderr, "next: collector report '%s'\n", r->path);
	else if (!r->given_up)
		program_printf(stderr, "next, where the collector runs: collector report last\n");
}

void summary_print(const struct session_report *r, bool flight)
{
	uint64_t told = r->ledger.delivered + r->ledger.culled, events_of = r->ledger.delivered,
		 lost_of = r->ledger.lost;
	const char *program = target_name(r->target);
	char events[FORMAT_COUNTED], lost[32], size[32], name[64];

	if (r->file_error) { /* the events in the file and the lost ones are all events */
		events_of += lost_of;
		lost_of = events_of > r->saved ? events_of - r->saved : 0;
	}
	words_clean(name, sizeof(name), program, strlen(program));
	print_end(r);
	program_printf(stderr,
		       "heapcast: %s, pid %d: %s, %s lost,\n          %s (%.2f bytes an event)\n",
		       name, (int)r->target->pid, format_counted(events, events_of, "event"),
		       format_count(lost, lost_of), format_size(size, (double)r->bytes),
		       told ? (double)r->bytes / (double)told : 0.0);
	if (r->ledger.culled)
		program_printf(stderr,
			       "heapcast: %s more events, of blocks that %s, are kept as sums\n",
			       format_count(events, r->ledger.culled),
			       flight ? "ended before the window" : "were short-lived");
	if (r->ledger.not_sampled)
		program_printf(stderr,
			       "heapcast: %s more events were not sampled: numbers are estimates\n",
			       format_count(events, r->ledger.not_sampled));
	if (r->stacks_cut)
		program_printf(
			stderr,
			"heapcast: %s stacks were cut for lack of room: raise --memory-limit\n",
			format_count(events, r->stacks_cut));
	if (r->unread)
		program_printf(
			stderr,
			"heapcast: %s records made no sense: the program wrote over the ring\n",
			format_count(events, r->unread));
	if (r->modules_lost)
		program_printf(
			stderr,
			"heapcast: %s libraries had no room: frames in them have no names; raise\n"
			"          --memory-limit\n",
			format_count(events, r->modules_lost));
	if (r->no_place)
		program_printf(stderr,
			       "heapcast: %s events of threads without a place in the ring: raise "
			       "--memory-limit\n",
			       format_count(events, r->no_place));
	print_unsaved(r);
	print_collectors(r);
}
