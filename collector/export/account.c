/* The account of a recording. See account.h. */
#include "collector/export/account.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "collector/export/export.h"
#include "collector/store/completeness.h"
#include "collector/store/store.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const reasons[] = {
	"unknown",	  "ring full",	    "no slice",	   "spool full", "thread died in a record",
	"agent was gone", "damaged record", "joined late", "thinned",	 "no result"};

#define LEDGER(member)	offsetof(struct ledger_info, member), false
#define PAIRING(member) offsetof(struct pairing_info, member), true

const struct account_line account_lines[] = {
	{"produced", "produced by the program", LEDGER(produced), true},
	{"delivered", "  delivered by the agent", LEDGER(delivered), true},
	{"culled", "  culled (short-lived, counted)", LEDGER(culled), true},
	{"not_sampled", "  passed over by sampling", LEDGER(not_sampled), true},
	{"lost", "  lost", LEDGER(lost), true},
	{"pending", "  pending at the agent", LEDGER(pending), true},
	{"stored", "stored here", LEDGER(stored), true},
	{"stored_allocations", "  allocations", LEDGER(stored_allocations), true},
	{"stored_reallocations", "  reallocations", LEDGER(stored_reallocations), true},
	{"stored_frees", "  frees", LEDGER(stored_frees), true},
	{"stored_apart", "  mappings, pools, settings", LEDGER(stored_apart), false},
	{"before_join", "before the collector joined", LEDGER(before_join), true},
	{"before_recording", "before the recording began", LEDGER(before_recording), false},
	{"not_begun", "the program has not begun to record", LEDGER(not_begun), false},
	{"unrecorded", "children not recorded", LEDGER(unrecorded), false},
	{"unrecorded_events", "  events of them, counted", LEDGER(unrecorded_events), false},
	{"unrecorded_bytes", "  bytes allocated in these", LEDGER(unrecorded_bytes), false},
	{"unrecorded_uncounted", "  children that nobody counted", LEDGER(unrecorded_uncounted),
	 false},
	{"culled_missed", "culled, and not among the sums here", LEDGER(culled_missed), false},
	{"missed", "missed (too slow, or away too long)", LEDGER(missed), false},
	{"lost_allocations", "lost allocations", LEDGER(lost_allocations), false},
	{"lost_frees", "lost frees", LEDGER(lost_frees), false},
	{"lost_bytes", "lost bytes", LEDGER(lost_bytes), false},
	{"samples_refused", "samples without room (set full)", LEDGER(samples_refused), false},
	{"stacks_cut", "stacks cut (table full)", LEDGER(stacks_cut), false},
	{"stacks_unknown", "stacks cut (loader busy)", LEDGER(stacks_unknown), false},
	{"missing_batches", "missing batches", LEDGER(missing_batches), false},
	{"duplicate_batches", "batches that came twice", LEDGER(duplicate_batches), false},
	{"cut_bytes", "bytes after the last whole frame", LEDGER(cut_bytes), false},
	{"skipped_bytes", "damaged bytes passed over", LEDGER(skipped_bytes), false},
	{"damaged_places", "damaged places", LEDGER(damaged_places), false},
	{"marks_left_out", "marks beyond the first million", LEDGER(marks_left_out), false},
	{"orphan_frees", "frees of unrecorded blocks", PAIRING(orphan_frees), false},
	{"inherited_frees", "frees of the parent's blocks", PAIRING(inherited_frees), false},
	{"inferred", "ends inferred (address came again)", PAIRING(inferred), false},
	{"repaired", "orders of time overruled", PAIRING(repaired), false},
	{"censored", "blocks of unknown fate (gaps)", PAIRING(censored), false},
	{"failed", "allocations that failed", PAIRING(failed), false},
	{"bad_references", "events without a definition", PAIRING(bad_references), false},
};
const size_t account_line_count = COUNT(account_lines);

/* Names in JSON, and what people read; by the enums of heapcast.proto. */
static const char *const kinds[] = {"unknown", "exited", "signalled", "oom_killed", "detached"};
static const char *const sources[] = {"unknown", "wait", "pidfd", "proc"};
static const char *const source_texts[] = {"", " (told to its parent, the agent)",
					   " (told by the kernel)", " (read in /proc)"};
static const char *const counters[] = {"none", "cgroup_2", "cgroup_1", "system"};

static const struct state {
	uint32_t kind;
	const char *key;
} states[] = {
	{HEAPCAST__MARK_KIND__MARK_POLICY, "thinned"},
	{HEAPCAST__MARK_KIND__MARK_WAITED, "waited"},
	{HEAPCAST__MARK_KIND__MARK_SUSPENDED, "suspended"},
	{HEAPCAST__MARK_KIND__MARK_EXEC, "exec"},
	{HEAPCAST__MARK_KIND__MARK_DELIVERY, "delivery"},
	{HEAPCAST__MARK_KIND__MARK_START, "started"},
	{HEAPCAST__MARK_KIND__MARK_STOP, "stopped"},
	{HEAPCAST__MARK_KIND__MARK_MODE, "mode"},
	{HEAPCAST__MARK_KIND__MARK_SNAPSHOT, "snapshot"},
	{HEAPCAST__MARK_KIND__MARK_TEXT, "text"},
};

static const char *name_of(const char *const *names, size_t count, uint32_t number)
{
	return names[number < count ? number : 0];
}

uint64_t account_number(const struct recording *r, const struct account_line *line)
{
	const char *of = line->of_pairing ? (const char *)recording_pairing(r)
					  : (const char *)recording_ledger(r);

	return *(const uint64_t *)(const void *)(of + line->offset);
}

const char *account_reason(uint32_t reason)
{
	return reasons[reason < COUNT(reasons) ? reason : 0];
}

static const char *oom_words(uint32_t counter)
{
	switch (counter) {
	case HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_1:
	case HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_2:
		return ": its cgroup's count of such kills rose";
	case HEAPCAST__OOM_COUNTER__OOM_COUNTER_SYSTEM:
		return ", it seems: the system's count of such kills rose";
	default:
		return "";
	}
}

const char *account_end(char *out, size_t size, const struct process_info *p)
{
	if (!p->ended) {
		snprintf(out, size,
			 "its end has not been seen: these numbers go as far as it was received");
		return out;
	}
	switch (p->end_kind) {
	case HEAPCAST__END_KIND__END_EXITED:
		snprintf(out, size, "exited with status %u", p->end_status);
		break;
	case HEAPCAST__END_KIND__END_SIGNALLED:
		snprintf(out, size, "killed by signal %u (%s)%s", p->end_status,
			 strsignal((int)p->end_status), p->core_dumped ? ", core dumped" : "");
		break;
	case HEAPCAST__END_KIND__END_OOM_KILLED:
		snprintf(out, size, "killed by the kernel for lack of memory%s",
			 oom_words(p->oom_counter));
		break;
	case HEAPCAST__END_KIND__END_DETACHED:
		snprintf(out, size, "goes on, unrecorded");
		break;
	default:
		snprintf(out, size, "gone; nobody could say how");
	}
	return out;
}

const char *account_end_source(const struct process_info *p)
{
	return name_of(source_texts, COUNT(source_texts), p->end_source);
}

const char *account_state(const struct mark_info *mark)
{
	/* Of its own the program may have put thousands. */
	if (mark->kind == HEAPCAST__MARK_KIND__MARK_TEXT && mark->thread)
		return NULL;
	for (size_t i = 0; i < COUNT(states); i++)
		if (states[i].kind == mark->kind)
			return states[i].key;
	return NULL;
}

/* What recording is from here on. The program itself does not say which mode. */
static void describe_mode(char *out, size_t size, const struct mark_info *m, const char *what)
{
	char text[32];

	if (m->value)
		snprintf(out, size, "%s: one allocation in %s", what,
			 format_size(text, (double)m->value));
	else
		snprintf(out, size, "%s%s", what, m->thread ? "" : ": every event");
}

void account_describe(char *out, size_t size, const struct mark_info *m)
{
	char text[32];

	switch (m->kind) {
	case HEAPCAST__MARK_KIND__MARK_POLICY:
		if (m->value)
			snprintf(out, size, "sampled every %s for lack of room in the ring",
				 format_size(text, (double)m->value));
		else
			snprintf(out, size, "not sampled for lack of room any more");
		break;
	case HEAPCAST__MARK_KIND__MARK_WAITED:
		snprintf(out, size, "has waited for room in the ring for %s",
			 format_duration(text, m->value));
		break;
	case HEAPCAST__MARK_KIND__MARK_SUSPENDED:
		snprintf(out, size, "the machine slept for %s", format_duration(text, m->value));
		break;
	case HEAPCAST__MARK_KIND__MARK_DELIVERY:
		snprintf(out, size, "the flight recorder was sent (%.20s): all of the last %s",
			 m->text, format_duration(text, m->value));
		break;
	case HEAPCAST__MARK_KIND__MARK_START:
		describe_mode(out, size, m, "recording went on");
		break;
	case HEAPCAST__MARK_KIND__MARK_MODE:
		describe_mode(out, size, m, "recording changed");
		break;
	case HEAPCAST__MARK_KIND__MARK_STOP:
		snprintf(out, size, "recording of new blocks was stopped");
		break;
	case HEAPCAST__MARK_KIND__MARK_SNAPSHOT:
		snprintf(out, size, "snapshot %" PRIu64, m->value);
		break;
	case HEAPCAST__MARK_KIND__MARK_TEXT:
		snprintf(out, size, "\"%s\"", m->text);
		break;
	default:
		snprintf(out, size, "the program replaced itself (exec)");
	}
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
		json_string(json, "reason", account_reason(g->reason));
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

static void json_program_end(struct json *json, const struct recording *r)
{
	const struct process_info *p = recording_process(r);
	char how[ACCOUNT_END];

	if (!p->ended) {
		json_string(json, "end", NULL);
		return;
	}
	json_object(json, "end");
	json_string(json, "how", account_end(how, sizeof(how), p));
	json_string(json, "kind", name_of(kinds, COUNT(kinds), p->end_kind));
	json_u64(json, "status", p->end_status);
	json_bool(json, "core_dumped", p->core_dumped);
	json_string(json, "source", name_of(sources, COUNT(sources), p->end_source));
	json_string(json, "oom_counter", name_of(counters, COUNT(counters), p->oom_counter));
	json_end(json, '}');
}

static void json_states(struct json *json, const struct recording *r)
{
	char what[ACCOUNT_WHAT];

	json_array(json, "states");
	for (uint32_t i = 0; i < recording_marks(r); i++) {
		const struct mark_info *m = recording_mark(r, i);
		const char *state = account_state(m);

		if (!state)
			continue;
		json_object(json, NULL);
		json_string(json, "state", state);
		json_u64(json, "thread", m->thread);
		json_u64(json, "time_ns", m->time_ns);
		account_describe(what, sizeof(what), m);
		json_string(json, "what", what);
		json_u64(json, "value", m->value);
		if (m->text[0])
			json_string(json, "text", m->text);
		if (m->by)
			json_string(json, "by", m->by);
		json_end(json, '}');
	}
	json_end(json, ']');
}

/* What `collector ledger` prints of the numbers: in its order, and in its words. */
static void json_account_lines(struct json *json, const struct recording *r)
{
	json_array(json, "lines");
	for (size_t i = 0; i < COUNT(account_lines); i++) {
		uint64_t value = account_number(r, &account_lines[i]);

		if (!value && !account_lines[i].always)
			continue;
		json_object(json, NULL);
		json_string(json, "name", account_lines[i].key);
		json_string(json, "text", account_lines[i].text);
		json_u64(json, "value", value);
		json_end(json, '}');
	}
	json_end(json, ']');
}

void json_account(struct json *json, const struct recording *r, const struct completeness *c,
		  const char *reason)
{
	char id[STREAM_ID_TEXT];

	json_string(json, "id", stream_id_format(id, recording_id(r)));
	if (recording_process(r)->forked) {
		json_string(json, "parent", stream_id_format(id, &recording_process(r)->parent));
		json_u64(json, "parent_event", recording_process(r)->parent_event);
	}
	json_bool(json, "adds_up", c->adds_up);
	json_string(json, "reason", c->adds_up ? NULL : reason);
	json_bool(json, "complete", c->complete);
	json_missing(json, c);
	json_u64(json, "ran_before_ns", c->ran_before_ns);
	for (size_t i = 0; i < COUNT(account_lines); i++)
		json_u64(json, account_lines[i].key, account_number(r, &account_lines[i]));
	json_account_lines(json, r);
	json_threads(json, r);
	json_gaps(json, r);
	json_unrecorded(json, r);
	json_states(json, r);
	json_program_end(json, r);
}
