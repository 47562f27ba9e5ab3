/* collector ledger: the account of a recording, and what it does not hold. Nothing is lost in silence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/commands.h"
#include "collector/cli/incomplete.h"
#include "collector/cli/ledger_end.h"
#include "collector/export/export.h"
#include "collector/store/completeness.h"
#include "collector/store/store.h"
#include "base/ban.h"

#define THREADS_SHOWN 20
#define GAPS_SHOWN    20
#define UNRECORDED_SHOWN 20

static const char *const reasons[] = {
	"unknown",	  "ring full",	    "no slice",	   "spool full", "thread died in a record",
	"agent was gone", "damaged record", "joined late", "thinned", "no result"};

/* Lines of the account: name in JSON, name for people, place. */
static const struct line {
	const char *key, *text;
	size_t offset;
	bool always; /* else only where it is not 0 */
} lines[] = {
	{"produced", "produced by the program", offsetof(struct ledger_info, produced), true},
	{"delivered", "  delivered by the agent", offsetof(struct ledger_info, delivered), true},
	{"culled", "  culled (short-lived, counted)", offsetof(struct ledger_info, culled), true},
	{"not_sampled", "  passed over by sampling", offsetof(struct ledger_info, not_sampled),
	 true},
	{"lost", "  lost", offsetof(struct ledger_info, lost), true},
	{"pending", "  pending at the agent", offsetof(struct ledger_info, pending), true},
	{"stored", "stored here", offsetof(struct ledger_info, stored), true},
	{"stored_allocations", "  allocations", offsetof(struct ledger_info, stored_allocations),
	 true},
	{"stored_reallocations", "  reallocations",
	 offsetof(struct ledger_info, stored_reallocations), true},
	{"stored_frees", "  frees", offsetof(struct ledger_info, stored_frees), true},
	{"stored_apart", "  mappings, pools, settings", offsetof(struct ledger_info, stored_apart),
	 false},
	{"before_join", "before the collector joined", offsetof(struct ledger_info, before_join),
	 true},
	{"before_recording", "before the recording began",
	 offsetof(struct ledger_info, before_recording), false},
	{"not_begun", "the program has not begun to record",
	 offsetof(struct ledger_info, not_begun), false},
	{"unrecorded", "children not recorded", offsetof(struct ledger_info, unrecorded), false},
	{"unrecorded_events", "  events of them, counted",
	 offsetof(struct ledger_info, unrecorded_events), false},
	{"unrecorded_bytes", "  bytes allocated in these",
	 offsetof(struct ledger_info, unrecorded_bytes), false},
	{"unrecorded_uncounted", "  children that nobody counted",
	 offsetof(struct ledger_info, unrecorded_uncounted), false},
	{"culled_missed", "culled, and not among the sums here",
	 offsetof(struct ledger_info, culled_missed), false},
	{"missed", "missed (too slow, or away too long)", offsetof(struct ledger_info, missed),
	 false},
	{"lost_allocations", "lost allocations", offsetof(struct ledger_info, lost_allocations),
	 false},
	{"lost_frees", "lost frees", offsetof(struct ledger_info, lost_frees), false},
	{"lost_bytes", "lost bytes", offsetof(struct ledger_info, lost_bytes), false},
	{"samples_refused", "samples without room (set full)",
	 offsetof(struct ledger_info, samples_refused), false},
	{"stacks_cut", "stacks cut (table full)", offsetof(struct ledger_info, stacks_cut), false},
	{"stacks_unknown", "stacks cut (loader busy)",
	 offsetof(struct ledger_info, stacks_unknown), false},
	{"missing_batches", "missing batches", offsetof(struct ledger_info, missing_batches),
	 false},
	{"duplicate_batches", "batches that came twice",
	 offsetof(struct ledger_info, duplicate_batches), false},
	{"cut_bytes", "bytes after the last whole frame", offsetof(struct ledger_info, cut_bytes),
	 false},
	{"skipped_bytes", "damaged bytes passed over", offsetof(struct ledger_info, skipped_bytes),
	 false},
	{"damaged_places", "damaged places", offsetof(struct ledger_info, damaged_places), false},
	{"marks_left_out", "marks beyond the first million",
	 offsetof(struct ledger_info, marks_left_out), false},
};

static const struct line pairing_lines[] = {
	{"orphan_frees", "frees of unrecorded blocks", offsetof(struct pairing_info, orphan_frees),
	 false},
	{"inherited_frees", "frees of the parent's blocks",
	 offsetof(struct pairing_info, inherited_frees), false},
	{"inferred", "ends inferred (address came again)", offsetof(struct pairing_info, inferred),
	 false},
	{"repaired", "orders of time overruled", offsetof(struct pairing_info, repaired), false},
	{"censored", "blocks of unknown fate (gaps)", offsetof(struct pairing_info, censored),
	 false},
	{"failed", "allocations that failed", offsetof(struct pairing_info, failed), false},
	{"bad_references", "events without a definition",
	 offsetof(struct pairing_info, bad_references), false},
};

static uint64_t number_at(const void *of, const struct line *line)
{
	return *(const uint64_t *)(const void *)((const char *)of + line->offset);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void print_lines(const void *of, const struct line *from, size_t count)
{
	char number[32];

	for (size_t i = 0; i < count; i++)
		if (from[i].always || number_at(of, &from[i]))
			printf("%-36s %20s\n", from[i].text,
			       format_count(number, number_at(of, &from[i])));
}

static void print_threads(const struct recording *r)
{
	uint32_t count = recording_threads(r), shown = 0;

	printf("\n%-8s %-16s %14s %14s %12s\n", "THREAD", "NAME", "PRODUCED", "STORED", "LOST");
	for (uint32_t i = 1; i <= count && shown < THREADS_SHOWN; i++) {
		const struct thread_info *t = recording_thread(r, i);
		char a[32], b[32], c[32];

		if (!t)
			continue;
		printf("%-8u %-16.16s %14s %14s %12s\n", i, t->name, format_count(a, t->produced),
		       format_count(b, t->stored), format_count(c, t->lost));
		shown++;
	}
	if (count > shown)
		printf("... and %u more (--json has all)\n", count - shown);
}

static const char *reason_text(uint32_t reason)
{
	return reasons[reason < COUNT(reasons) ? reason : 0];
}

static void print_gaps(const struct recording *r)
{
	uint32_t count = recording_gaps(r);

	if (!count)
		return;
	printf("\n%-8s %11s %11s %11s %11s %10s %10s  %s\n", "GAP IN", "EVENTS", "ALLOCATIONS",
	       "FREES", "BYTES", "FROM", "FOR", "REASON");
	for (uint32_t i = 0; i < count && i < GAPS_SHOWN; i++) {
		const struct gap_info *g = recording_gap(r, i);
		uint64_t ns = g->to_ns > g->from_ns ? g->to_ns - g->from_ns : 0;
		char a[32], b[32], c[32], d[32], from[32], lasted[32], thread[16];

		snprintf(thread, sizeof(thread), "%u", g->thread);
		printf("%-8s %11s %11s %11s %11s %10s %10s  %s\n", g->thread ? thread : "-",
		       format_count(a, g->events), format_count(b, g->allocations),
		       format_count(c, g->frees), format_size(d, (double)g->bytes),
		       format_duration(from, g->from_ns), format_duration(lasted, ns),
		       reason_text(g->reason));
	}
	if (count > GAPS_SHOWN)
		printf("... and %u more (--json has all)\n", count - GAPS_SHOWN);
}

static void print_unrecorded(const struct recording *r)
{
	uint32_t count = recording_unrecorded_count(r);

	if (!count)
		return;
	printf("\n%-16s %8s %14s %14s %12s\n", "NOT RECORDED", "PID", "EVENTS", "ALLOCATIONS",
	       "BYTES");
	for (uint32_t i = 0; i < count && i < UNRECORDED_SHOWN; i++) {
		const struct unrecorded_info *u = recording_unrecorded(r, i);
		char a[32], b[32], c[32];

		printf("%-16s %8u %14s %14s %12s\n", u->name, u->pid,
		       u->counted ? format_count(a, u->events) : "-",
		       u->counted ? format_count(b, u->allocations) : "-",
		       u->counted ? format_size(c, (double)u->bytes) : "-");
	}
	if (count > UNRECORDED_SHOWN)
		printf("... and %u more (--json has all)\n", count - UNRECORDED_SHOWN);
}

/* The program's file, and what people call it where that is something else. */
static void print_program(const struct recording *r)
{
	const struct process_info *p = recording_process(r);
	const char *file = p->executable ? p->executable : "", *slash = strrchr(file, '/');
	char id[STREAM_ID_TEXT];

	printf("%s  ", stream_id_format(id, recording_id(r)));
	if (p->name && strcmp(p->name, slash ? slash + 1 : file) != 0)
		printf("%.40s, of ", p->name);
	printf("%.40s\n\n", file);
}

static void print_parent(const struct process_info *p)
{
	char id[STREAM_ID_TEXT], number[32];

	if (!p->forked)
		return;
	printf("forked by %s, after %s events of it\n\n", stream_id_format(id, &p->parent),
	       format_count(number, p->parent_event));
}

static void print_text(const struct recording *r, const struct completeness *c,
		       const struct err_text *reason)
{
	incomplete_print(NULL, c);
	print_program(r);
	print_parent(recording_process(r));
	print_lines(recording_ledger(r), lines, COUNT(lines));
	print_lines(recording_pairing(r), pairing_lines, COUNT(pairing_lines));
	print_threads(r);
	print_gaps(r);
	print_unrecorded(r);
	ledger_states_print(r);
	ledger_end_print(r);
	if (c->adds_up)
		printf("\nThe account adds up%s.\n",
		       c->complete ? ", and is complete" : ", but is NOT complete");
	else
		printf("\nThe account DOES NOT add up: %s.\n", reason->text);
}

static void json_lines(struct json *json, const void *of, const struct line *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		json_u64(json, from[i].key, number_at(of, &from[i]));
}

static void json_threads(struct json *json, const struct recording *r)
{
	json_array(json, "threads");
	for (uint32_t i = 1; i <= recording_threads(r); i++) {
		const struct thread_info *t = recording_thread(r, i);

		if (!t)
			continue;
		json_object(json, NULL);
		json_u64(json, "number", i);
		json_u64(json, "tid", t->tid);
		json_string(json, "name", t->name);
		json_u64(json, "produced", t->produced);
		json_u64(json, "delivered", t->delivered);
		json_u64(json, "lost", t->lost);
		json_u64(json, "stored", t->stored);
		json_u64(json, "culled", t->culled);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void json_gaps(struct json *json, const struct recording *r)
{
	json_array(json, "gaps");
	for (uint32_t i = 0; i < recording_gaps(r); i++) {
		const struct gap_info *g = recording_gap(r, i);

		json_object(json, NULL);
		json_u64(json, "thread", g->thread);
		json_u64(json, "from", g->from);
		json_u64(json, "to", g->to);
		json_u64(json, "events", g->events);
		json_u64(json, "allocations", g->allocations);
		json_u64(json, "frees", g->frees);
		json_u64(json, "bytes", g->bytes);
		json_u64(json, "from_ns", g->from_ns);
		json_u64(json, "to_ns", g->to_ns);
		json_string(json, "reason", reason_text(g->reason));
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void json_unrecorded(struct json *json, const struct recording *r)
{
	json_array(json, "unrecorded_children");
	for (uint32_t i = 0; i < recording_unrecorded_count(r); i++) {
		const struct unrecorded_info *u = recording_unrecorded(r, i);

		json_object(json, NULL);
		json_string(json, "name", u->name);
		json_u64(json, "pid", u->pid);
		json_bool(json, "counted", u->counted);
		json_u64(json, "events", u->events);
		json_u64(json, "allocations", u->allocations);
		json_u64(json, "frees", u->frees);
		json_u64(json, "bytes", u->bytes);
		json_end(json, '}');
	}
	json_end(json, ']');
}

/* Numbers that are in no other line of the account. */
static void json_missing(struct json *json, const struct completeness *c)
{
	json_object(json, "missing");
	json_u64(json, "lost_events", c->lost_events);
	json_u64(json, "lost_bytes", c->lost_bytes);
	json_u64(json, "unfinished_events", c->unfinished_events);
	json_u64(json, "culled_events", c->culled_missed);
	json_u64(json, "start_events", c->start_missed_events);
	json_u64(json, "namespaces", c->namespaces);
	json_bool(json, "tail_unknown", c->tail_unknown);
	json_u64(json, "tail_events", c->tail_events);
	json_u64(json, "damaged_places", c->damaged_places);
	json_u64(json, "damaged_bytes", c->damaged_bytes);
	json_u64(json, "cut_bytes", c->cut_bytes);
	json_u64(json, "batches", c->missing_batches);
	json_u64(json, "damage_events", c->missing_events);
	json_u64(json, "rowless_allocations", c->rowless_allocations);
	json_u64(json, "rowless_bytes", c->rowless_bytes);
	json_end(json, '}');
}

static void print_json(const struct recording *r, const struct completeness *c,
		       const struct err_text *reason)
{
	struct buf out = {0};
	struct json json;
	char id[STREAM_ID_TEXT];

	json_init(&json, &out);
	json_object(&json, NULL);
	incomplete_json(&json, "incomplete", c);
	json_string(&json, "id", stream_id_format(id, recording_id(r)));
	if (recording_process(r)->forked) {
		json_string(&json, "parent", stream_id_format(id, &recording_process(r)->parent));
		json_u64(&json, "parent_event", recording_process(r)->parent_event);
	}
	json_bool(&json, "adds_up", c->adds_up);
	json_string(&json, "reason", c->adds_up ? NULL : reason->text);
	json_bool(&json, "complete", c->complete);
	json_missing(&json, c);
	json_u64(&json, "ran_before_ns", c->ran_before_ns);
	json_lines(&json, recording_ledger(r), lines, COUNT(lines));
	json_lines(&json, recording_pairing(r), pairing_lines, COUNT(pairing_lines));
	json_threads(&json, r);
	json_gaps(&json, r);
	json_unrecorded(&json, r);
	ledger_states_json(&json, "states", r);
	ledger_end_json(&json, "end", r);
	json_end(&json, '}');
	buf_byte(&out, '\n');
	fwrite(out.data, 1, out.length, stdout);
	buf_done(&out);
}

static int ledger_run(struct command_call *call)
{
	const struct common_options *options = call->options;
	cleanup(cleanup_free) char *path = NULL;
	struct err_text err = {0}, reason = {0};
	struct completeness completeness;
	struct recording *recording;
	char doing[] = "reading";
	const char *stream = call->argument_count ? call->arguments[0] : "last";
	int r = command_find_stream(options->data, stream, &path, &err);

	if (!r)
		r = recording_open(path, command_progress, doing, &recording, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	command_note_opening(call->command, recording);
	recording_completeness(recording, &completeness);
	recording_adds_up(recording, &reason);
	if (options->json)
		print_json(recording, &completeness, &reason);
	else
		print_text(recording, &completeness, &reason);
	recording_close(recording);
	return completeness.adds_up && completeness.complete ? EXIT_DONE : EXIT_NO;
}

static const struct option_group groups[] = {{NULL, common_table}, {0}};

const struct command command_ledger = {
	.name = "ledger",
	.summary = "the account of a stream: what was produced, stored, lost",
	.usage = "[OPTION...] [STREAM]",
	.about =
		"Every thread of a recorded program numbers its events. The account adds up if\n"
		"  produced = delivered + culled + not sampled + lost + pending\n"
		"  delivered = stored + before the collector joined + missed\n"
		"It is complete if nothing was lost, start and end are known, and nothing of it\n"
		"is damaged or cut off. Unless both hold, the exit status is 1.\n"
		"\n"
		"STREAM is an id, a unique beginning of one, 'last' (the default), or the path of\n"
		"a recording.\n",
	.examples = "  collector ledger last\n  collector ledger --json heapcast_sqlite3.heapcast "
		    "| jq .lost\n",
	.groups = groups,
	.options_size = sizeof(struct common_options),
	.arguments_max = 1,
	.run = ledger_run,
};
