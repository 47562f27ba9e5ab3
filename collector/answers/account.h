#pragma once
/*
 * The account of a recording: how many events were produced, stored and lost, for which reasons,
 * and how the program ended. `collector ledger`, its --json, the REST API and the page show the
 * same lines with the same texts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/info.h"

struct answer;
struct completeness;
struct json;
struct mark_info;
struct process_info;
struct recording;

/* Lists every number of the account: its struct, its member, its text for people, its unit, whether
 * it is shown when it is 0, and its description in JSON schemas. A text that begins with two blanks
 * is part of the line above it. */
#define ACCOUNT_LINES(LINE)                                                                        \
	LINE(ledger_info, produced, "produced by the program", "events", true,                     \
	     "events that the program produced")                                                   \
	LINE(ledger_info, delivered, "  delivered by the agent", "events", true,                   \
	     "events that the agent delivered")                                                    \
	LINE(ledger_info, culled, "  short-lived (kept as sums)", NULL, true,                      \
	     "events of short-lived blocks, which are kept as sums")                               \
	LINE(ledger_info, not_sampled, "  not sampled", "events", true,                            \
	     "events that sampling left out")                                                      \
	LINE(ledger_info, lost, "  lost", "events", true, "events that were lost")                 \
	LINE(ledger_info, pending, "  pending at the agent", "events", true,                       \
	     "events that are on their way: the agent still holds them")                           \
	LINE(ledger_info, stored, "stored here", "events", true,                                   \
	     "events that are stored in this recording")                                           \
	LINE(ledger_info, stored_allocations, "  allocations", NULL, true, "stored allocations")   \
	LINE(ledger_info, stored_reallocations, "  reallocations", NULL, true,                     \
	     "stored reallocations")                                                               \
	LINE(ledger_info, stored_frees, "  frees", NULL, true, "stored frees")                     \
	LINE(ledger_info, stored_apart, "  mappings, pools, settings", "events", false,            \
	     "stored events that are no blocks of the heap: mappings, pools, settings")            \
	LINE(ledger_info, before_join, "before the collector joined", "events", true,              \
	     "events before the collector joined")                                                 \
	LINE(ledger_info, before_recording, "before the recording began", "events", false,         \
	     "events before the program had an agent")                                             \
	LINE(ledger_info, not_begun, "the program has not begun to record", NULL, false,           \
	     "1: the program has not begun to record, else 0")                                     \
	LINE(ledger_info, unrecorded, "children not recorded", NULL, false,                        \
	     "processes that descend from this one and are in no recording")                       \
	LINE(ledger_info, unrecorded_events, "  events of them, counted", "events", false,         \
	     "events of these processes, as far as they were counted")                             \
	LINE(ledger_info, unrecorded_bytes, "  bytes allocated in these", "bytes", false,          \
	     "bytes that these processes allocated, as far as they were counted")                  \
	LINE(ledger_info, unrecorded_uncounted, "  children that nobody counted", NULL, false,     \
	     "those of these processes whose events nobody counted")                               \
	LINE(ledger_info, culled_missed, "short-lived, and not in the sums here", NULL, false,     \
	     "events of short-lived blocks whose sums are not in this recording")                  \
	LINE(ledger_info, missed, "missed (too slow, or away too long)", "events", false,          \
	     "events that the agent delivered and the collector missed, because it was too slow "  \
	     "or away too long")                                                                   \
	LINE(ledger_info, elsewhere, "of what is not here, elsewhere", "events", false,            \
	     "events before the collector joined, or missed by it, that another collector has")    \
	LINE(ledger_info, lost_allocations, "lost allocations", NULL, false,                       \
	     "allocations among the lost events")                                                  \
	LINE(ledger_info, lost_frees, "lost frees", NULL, false, "frees among the lost events")    \
	LINE(ledger_info, lost_bytes, "lost bytes", "bytes", false,                                \
	     "bytes of the lost allocations")                                                      \
	LINE(ledger_info, samples_refused, "samples without room (set full)", NULL, false,         \
	     "samples without room in the full set of the program; not_sampled includes them")     \
	LINE(ledger_info, stacks_cut, "stacks cut (table full)", NULL, false,                      \
	     "stacks that were cut, because the agent's table was full")                           \
	LINE(ledger_info, stacks_unknown, "stacks cut (loader busy)", NULL, false,                 \
	     "stacks that were cut, because the program's loader was busy")                        \
	LINE(ledger_info, missing_batches, "missing batches", NULL, false,                         \
	     "batches that are missing")                                                           \
	LINE(ledger_info, duplicate_batches, "batches that came twice", NULL, false,               \
	     "batches that came twice; the second one was skipped")                                \
	LINE(ledger_info, cut_bytes, "bytes after the last whole frame", "bytes", false,           \
	     "bytes after the last whole frame")                                                   \
	LINE(ledger_info, skipped_bytes, "damaged bytes skipped", "bytes", false,                  \
	     "damaged bytes that were skipped")                                                    \
	LINE(ledger_info, damaged_places, "damaged places", NULL, false,                           \
	     "places that are damaged")                                                            \
	LINE(ledger_info, marks_left_out, "marks beyond the first million", NULL, false,           \
	     "marks beyond the first million, which are left out")                                 \
	LINE(pairing_info, orphan_frees, "frees of unrecorded blocks", NULL, false,                \
	     "frees of blocks whose allocation was not recorded")                                  \
	LINE(pairing_info, inherited_frees, "frees of the parent's blocks", NULL, false,           \
	     "frees of blocks that the parent had allocated")                                      \
	LINE(pairing_info, inferred, "ends inferred (address came again)", NULL, false,            \
	     "blocks whose end was inferred, because their address was allocated again")           \
	LINE(pairing_info, repaired, "orders of time overruled", NULL, false,                      \
	     "events whose order by the clock was overruled")                                      \
	LINE(pairing_info, censored, "blocks of unknown fate (gaps)", NULL, false,                 \
	     "blocks whose fate is unknown, because of gaps")                                      \
	LINE(pairing_info, failed, "allocations that failed", NULL, false,                         \
	     "allocations that failed")                                                            \
	LINE(pairing_info, bad_references, "events without a definition", NULL, false,             \
	     "events with a thread or stack that nothing defined; they have no stack")

/* A number of the account. */
struct account_line {
	const char *key, *text; /* key: in JSON; text: shown to people */
	size_t offset;
	bool of_pairing; /* the member is in struct pairing_info, else in struct ledger_info */
	bool always;	 /* shown even if it is 0 */
};

extern const struct account_line account_lines[];
extern const size_t account_line_count;

uint64_t account_number(const struct recording *recording, const struct account_line *line);
/* Reasons for missing events, indexed by the reason number of a gap. The list ends with NULL. */
extern const char *const account_reasons[];
extern const size_t account_reason_count; /* without the final NULL */

#define ACCOUNT_END 128
/* Describes how the program ended, and returns `out`, which holds ACCOUNT_END bytes. */
const char *account_end(char *out, size_t size, const struct process_info *process);
/* Says who reported how the program ended: " (told by the kernel)", or "" if that is not known. */
const char *account_end_source(const struct process_info *process);
/* Returns the state of the recording from this mark on ("thinned", "stopped"), or NULL if the mark
 * does not change the state. */
const char *account_state(const struct mark_info *mark);
#define ACCOUNT_WHAT 1200
/* Describes a mark in words. `out` holds ACCOUNT_WHAT bytes. */
void account_describe(char *out, size_t size, const struct mark_info *mark);

/* Writes the whole account as members of an object that the caller has opened (account_json.c).
 * `reason` is the explanation if the account does not add up. */
void json_account(struct json *json, const struct recording *recording,
		  const struct completeness *c, const char *reason);
extern const struct answer account_answer;
/* Parts of the account, which commands also print as tables. They describe a struct thread_info, a
 * struct account_gap, a struct part_info and a struct unrecorded_info. */
extern const struct answer account_thread_answer, account_gap_answer, account_part_answer,
	account_unrecorded_answer;
struct account_gap {
	struct gap_info gap;
	uint64_t lasted_ns;
};
struct account_gap account_gap(const struct recording *recording, uint32_t index);
