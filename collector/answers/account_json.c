/* The account of a recording as JSON. See account.h. */
#include "collector/answers/account.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/recording/completeness.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"

#include "base/ban.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Indexed by the enums in heapcast.proto. */
static const char *const kinds[] = {"unknown",	  "exited",   "signalled",
				    "oom_killed", "detached", NULL};
static const char *const sources[] = {"unknown", "wait", "pidfd", "proc", NULL};
static const char *const counters[] = {"none", "cgroup_2", "cgroup_1", "system", NULL};

static const char *account_json_name_of(const char *const *names, size_t count, uint32_t number)
{
	return names[number < count - 1 ? number : 0];
}

/* ---- members ---- */

/* Numbers that no other line of the account has. */
#define ANSWER_OF struct completeness
static const struct answer_field missing_fields[] = {
	ROW("lost_events", lost_events, "events", "events that never came"),
	ROW("lost_bytes", lost_bytes, "bytes", "bytes of these events, as far as they are known"),
	ROW("unfinished_events", unfinished_events, "events",
	    "of the lost events, the calls that threads were in when they were killed"),
	ROW("culled_events", culled_missed, "events",
	    "events of short-lived blocks whose sums never came"),
	ROW("start_events", start_missed_events, "events", "events before the collector joined"),
	ROW("elsewhere_events", elsewhere_events, "events",
	    "of these and of what the collector missed, the events that another collector has"),
	ROW("namespaces", namespaces, NULL,
	    "namespaces of the loader with a malloc of their own, which was not recorded"),
	ROW("tail_unknown", tail_unknown, NULL,
	    "the recording has no end, and nobody writes it any more"),
	ROW("tail_events", tail_events, "events",
	    "events that the agent held when it last reported"),
	ROW("damaged_places", damaged_places, NULL, ""),
	ROW("damaged_bytes", damaged_bytes, "bytes", "damaged bytes that were skipped"),
	ROW("cut_bytes", cut_bytes, "bytes", "bytes after the last whole frame"),
	ROW("batches", missing_batches, NULL, "batches that never came"),
	ROW("damage_events", missing_events, "events", "events that came, and were lost by damage"),
	ROW("rowless_allocations", rowless_allocations, "blocks",
	    "allocations that were counted, but have no row"),
	ROW("rowless_bytes", rowless_bytes, "bytes", "bytes of these allocations"),
	{0},
};
#undef ANSWER_OF
static const struct answer missing_answer = {"missing", missing_fields};

static const struct answer_field line_fields[] = {
	BY_HAND("name", ANSWER_TEXT, NULL, "name of the member that has the same number"),
	BY_HAND("text", ANSWER_TEXT, NULL,
		"the line's text; two blanks in front: it is a part of an earlier line"),
	BY_HAND("value", ANSWER_U64, NULL, ""),
	{0},
};
static const struct answer line_answer = {"account_line", line_fields};

#define ANSWER_OF struct thread_info
static const struct answer_field thread_fields[] = {
	ROW("number", number, NULL,
	    "threads are numbered from 1, in the order in which they were seen",
	    SHOWN(1, "THREAD", -8, .form = COLUMN_PLAIN)),
	ROW("tid", tid, "tid", ""),
	ROW("name", name, NULL, "name of the thread; empty: unknown",
	    SHOWN(2, "NAME", -16, .form = COLUMN_CUT)),
	ROW("produced", produced, "events", "produced by the thread", SHOWN(3, "PRODUCED", 14)),
	ROW("delivered", delivered, "events", "delivered by the agent"),
	ROW("lost", lost, "events", "", SHOWN(5, "LOST", 12)),
	ROW("stored", stored, "events", "in the recording", SHOWN(4, "STORED", 14)),
	ROW("culled", culled, "events", "events of short-lived blocks, which are only counted"),
	{0},
};
#undef ANSWER_OF
const struct answer account_thread_answer = {"account_thread", thread_fields};

#define ANSWER_OF struct account_gap
static const struct answer_field gap_fields[] = {
	ROW("thread", gap.thread, NULL, "number of the thread; 0: unknown",
	    SHOWN(1, "GAP IN", -8, .form = COLUMN_PLAIN | COLUMN_DASH)),
	ROW("from", gap.from, NULL, "number of the first missing event of the thread"),
	ROW("to", gap.to, NULL, "number of the first event that is there again"),
	ROW("events", gap.events, "events", "events that are missing", SHOWN(2, "EVENTS", 11)),
	ROW("allocations", gap.allocations, "events", "allocations among them",
	    SHOWN(3, "ALLOCATIONS", 11)),
	ROW("frees", gap.frees, "events", "frees among them", SHOWN(4, "FREES", 11)),
	ROW("bytes", gap.bytes, "bytes", "bytes of these allocations", SHOWN(5, "BYTES", 11)),
	ROW("from_ns", gap.from_ns, "ns", "when the gap began, since the start",
	    SHOWN(6, "FROM", 10)),
	ROW("to_ns", gap.to_ns, "ns", "when the gap ended, since the start"),
	ROW("lasted_ns", lasted_ns, "ns", "", .when = COLUMN_ONLY, SHOWN(7, "FOR", 10)),
	ROW_AS("reason", gap.reason, ANSWER_WORD, NULL, "why the events are missing",
	       .words = account_reasons, SHOWN(8, "REASON", 0, .gap = 1)),
	{0},
};
#undef ANSWER_OF
const struct answer account_gap_answer = {"gap", gap_fields};

#define ANSWER_OF struct part_info
static const struct answer_field part_fields[] = {
	ROW_AS("host", host, ANSWER_CHARS, NULL, "the collector, as the agent calls it",
	       SHOWN(1, "AT", -32)),
	ROW_AS("collector", collector, ANSWER_ID, NULL, "its id: 32 hexadecimal digits"),
	ROW("incarnation", incarnation, NULL, "which agent's batches: 1 is the first"),
	ROW("from", from, NULL, "its first batch",
	    SHOWN(2, "FROM BATCH", 12, .form = COLUMN_PLAIN)),
	ROW("upto", upto, NULL, "its last batch", SHOWN(3, "TO", 12, .form = COLUMN_PLAIN)),
	ROW("events", events, "events", "events in these", SHOWN(4, "EVENTS", 14)),
	ROW("lacking", lacking, NULL, "false: all of them are here, too"),
	{0},
};
#undef ANSWER_OF
const struct answer account_part_answer = {"account_part", part_fields};

#define ANSWER_OF struct unrecorded_info
static const struct answer_field unrecorded_fields[] = {
	ROW_AS("name", name, ANSWER_CHARS, NULL, "name of the process",
	       SHOWN(1, "NOT RECORDED", -16)),
	ROW("pid", pid, NULL, "", SHOWN(2, "PID", 8, .form = COLUMN_PLAIN)),
	ROW("counted", counted, NULL,
	    "false: nobody counted its events, and the numbers below are unknown"),
	ROW("events", events, "events", "", SHOWN(3, "EVENTS", 14, KNOWN(counted))),
	ROW("allocations", allocations, "events", "", SHOWN(4, "ALLOCATIONS", 14, KNOWN(counted))),
	ROW("frees", frees, "events", ""),
	ROW("bytes", bytes, "bytes", "bytes that it allocated",
	    SHOWN(5, "BYTES", 12, KNOWN(counted))),
	{0},
};
#undef ANSWER_OF
const struct answer account_unrecorded_answer = {"unrecorded_child", unrecorded_fields};

#define ANSWER_OF struct mark_info
static const struct answer_field state_fields[] = {
	BY_HAND("state", ANSWER_TEXT, NULL,
		"the kind of change: thinned, waited, suspended, exec, delivery, started, stopped, "
		"mode, snapshot or text"),
	ROW("thread", thread, NULL, "number of the thread; 0: it was the agent"),
	ROW("time_ns", time_ns, "ns", "when it happened, since the start"),
	BY_HAND("what", ANSWER_TEXT, NULL, "the change in words"),
	ROW("value", value, NULL, "a sampling interval, a time or a number, depending on state"),
	ROW("text", text, NULL, "a text that somebody gave", .when = IF_TEXT),
	ROW("by", by, NULL, "who ordered the change", .when = IF_SET),
	{0},
};
#undef ANSWER_OF
static const struct answer state_answer = {"recording_state", state_fields};

#define ANSWER_OF struct process_info
static const struct answer_field end_fields[] = {
	BY_HAND("how", ANSWER_TEXT, NULL, "how the program ended, in words"),
	BY_HAND("kind", ANSWER_WORD, NULL, "how it ended; detached: the program goes on",
		.words = kinds),
	ROW("status", end_status, NULL, "the exit status, or the number of the signal"),
	ROW("core_dumped", core_dumped, NULL, ""),
	BY_HAND("source", ANSWER_WORD, NULL, "from what the agent knows it", .words = sources),
	BY_HAND("oom_counter", ANSWER_WORD, NULL, "the counter of out-of-memory kills that rose",
		.words = counters),
	{0},
};
#undef ANSWER_OF
static const struct answer end_answer = {"program_end", end_fields};

#define LINE(info, member, text, unit, always, about) BY_HAND(#member, ANSWER_U64, unit, about),
#define LISTED(name, answer, text)                                                                 \
	BY_HAND(name, ANSWER_OBJECT, NULL, text, .of = &(answer), .shape = ANSWER_LIST)
static const struct answer_field account_fields[] = {
	BY_HAND("id", ANSWER_TEXT, NULL, "32 hexadecimal digits"),
	BY_HAND("parent", ANSWER_TEXT, NULL, "id of the recording that it was forked from",
		.when = SOMETIMES),
	BY_HAND("parent_event", ANSWER_U64, NULL,
		"number of the parent's event at which it was forked", .when = SOMETIMES),
	BY_HAND("adds_up", ANSWER_BOOL, NULL, "all that was produced is stored or accounted for"),
	BY_HAND("reason", ANSWER_TEXT, NULL, "why the account does not add up; null: it does",
		.may_be_null = true),
	BY_HAND("complete", ANSWER_BOOL, NULL, "nothing that was to be recorded is missing"),
	BY_HAND("missing", ANSWER_OBJECT, NULL, "what is missing", .of = &missing_answer),
	BY_HAND("ran_before_ns", ANSWER_U64, "ns",
		"how long the program had run before recording began; 0: recorded from its start"),
	ACCOUNT_LINES(LINE) LISTED("lines", line_answer,
				   "the numbers above, as `collector ledger` prints them"),
	LISTED("threads", account_thread_answer, ""),
	LISTED("gaps", account_gap_answer, "places where events of a thread are missing"),
	LISTED("parts", account_part_answer,
	       "parts of the stream that other collectors have, because the agent has moved"),
	LISTED("unrecorded_children", account_unrecorded_answer,
	       "processes that are in no recording"),
	LISTED("states", state_answer, "changes in how the program was recorded"),
	BY_HAND("end", ANSWER_OBJECT, NULL, "end of the program; null: it was not seen",
		.of = &end_answer, .may_be_null = true),
	{0},
};
const struct answer account_answer = {"ledger", account_fields};

/* ---- writing ---- */

static void json_threads(struct json *json, const struct recording *r)
{
	json_array(json, "threads");
	for (uint32_t i = 1; i <= recording_threads(r); i++)
		if (recording_thread(r, i))
			json_object_of(json, NULL, &account_thread_answer, recording_thread(r, i),
				       NULL);
	json_end(json, ']');
}

struct account_gap account_gap(const struct recording *r, uint32_t index)
{
	struct account_gap g = {.gap = *recording_gap(r, index)};

	if (g.gap.to_ns > g.gap.from_ns)
		g.lasted_ns = g.gap.to_ns - g.gap.from_ns;
	if (g.gap.reason >= account_reason_count)
		g.gap.reason = 0;
	return g;
}

static void json_gaps(struct json *json, const struct recording *r)
{
	json_array(json, "gaps");
	for (uint32_t i = 0; i < recording_gaps(r); i++) {
		const struct account_gap g = account_gap(r, i);

		json_object_of(json, NULL, &account_gap_answer, &g, NULL);
	}
	json_end(json, ']');
}

static void json_parts(struct json *json, const struct recording *r)
{
	json_array(json, "parts");
	for (uint32_t i = 0; i < recording_parts(r); i++)
		json_object_of(json, NULL, &account_part_answer, recording_part(r, i), NULL);
	json_end(json, ']');
}

static void json_unrecorded(struct json *json, const struct recording *r)
{
	json_array(json, "unrecorded_children");
	for (uint32_t i = 0; i < recording_unrecorded_count(r); i++)
		json_object_of(json, NULL, &account_unrecorded_answer, recording_unrecorded(r, i),
			       NULL);
	json_end(json, ']');
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
		account_describe(what, sizeof(what), m);
		json_object(json, NULL);
		json_string(json, "state", state);
		json_string(json, "what", what);
		json_members(json, &state_answer, m, NULL);
		json_end(json, '}');
	}
	json_end(json, ']');
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
	json_string(json, "kind", account_json_name_of(kinds, COUNT(kinds), p->end_kind));
	json_members(json, &end_answer, p, NULL);
	json_string(json, "source", account_json_name_of(sources, COUNT(sources), p->end_source));
	json_string(json, "oom_counter",
		    account_json_name_of(counters, COUNT(counters), p->oom_counter));
	json_end(json, '}');
}

/* Writes the numbers that `collector ledger` prints, in the same order and with the same texts. */
static void json_account_lines(struct json *json, const struct recording *r)
{
	json_array(json, "lines");
	for (size_t i = 0; i < account_line_count; i++) {
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
	json_object_of(json, "missing", &missing_answer, c, NULL);
	json_u64(json, "ran_before_ns", c->ran_before_ns);
	for (size_t i = 0; i < account_line_count; i++)
		json_u64(json, account_lines[i].key, account_number(r, &account_lines[i]));
	json_account_lines(json, r);
	json_threads(json, r);
	json_gaps(json, r);
	json_parts(json, r);
	json_unrecorded(json, r);
	json_states(json, r);
	json_program_end(json, r);
}
