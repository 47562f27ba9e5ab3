#pragma once
/*
 * The account of a recording: what was produced, stored and lost, why, and how the program ended.
 * `collector ledger`, its --json, the REST API and the page show the same lines with the same
 * texts.
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

/* Every number of the account: its struct, its member, its text for people, its unit, and whether
 * it is shown when it is 0. A text that begins with two blanks is part of the line above it. */
#define ACCOUNT_LINES(LINE)                                                                        \
	LINE(ledger_info, produced, "produced by the program", "events", true)                     \
	LINE(ledger_info, delivered, "  delivered by the agent", "events", true)                   \
	LINE(ledger_info, culled, "  short-lived (kept as sums)", NULL, true)                      \
	LINE(ledger_info, not_sampled, "  not sampled", "events", true)                            \
	LINE(ledger_info, lost, "  lost", "events", true)                                          \
	LINE(ledger_info, pending, "  pending at the agent", "events", true)                       \
	LINE(ledger_info, stored, "stored here", "events", true)                                   \
	LINE(ledger_info, stored_allocations, "  allocations", NULL, true)                         \
	LINE(ledger_info, stored_reallocations, "  reallocations", NULL, true)                     \
	LINE(ledger_info, stored_frees, "  frees", NULL, true)                                     \
	LINE(ledger_info, stored_apart, "  mappings, pools, settings", "events", false)            \
	LINE(ledger_info, before_join, "before the collector joined", "events", true)              \
	LINE(ledger_info, before_recording, "before the recording began", "events", false)         \
	LINE(ledger_info, not_begun, "the program has not begun to record", "events", false)       \
	LINE(ledger_info, unrecorded, "children not recorded", NULL, false)                        \
	LINE(ledger_info, unrecorded_events, "  events of them, counted", "events", false)         \
	LINE(ledger_info, unrecorded_bytes, "  bytes allocated in these", "bytes", false)          \
	LINE(ledger_info, unrecorded_uncounted, "  children that nobody counted", NULL, false)     \
	LINE(ledger_info, culled_missed, "short-lived, and not in the sums here", NULL, false)     \
	LINE(ledger_info, missed, "missed (too slow, or away too long)", "events", false)          \
	LINE(ledger_info, lost_allocations, "lost allocations", NULL, false)                       \
	LINE(ledger_info, lost_frees, "lost frees", NULL, false)                                   \
	LINE(ledger_info, lost_bytes, "lost bytes", "bytes", false)                                \
	LINE(ledger_info, samples_refused, "samples without room (set full)", NULL, false)         \
	LINE(ledger_info, stacks_cut, "stacks cut (table full)", NULL, false)                      \
	LINE(ledger_info, stacks_unknown, "stacks cut (loader busy)", NULL, false)                 \
	LINE(ledger_info, missing_batches, "missing batches", NULL, false)                         \
	LINE(ledger_info, duplicate_batches, "batches that came twice", NULL, false)               \
	LINE(ledger_info, cut_bytes, "bytes after the last whole frame", "bytes", false)           \
	LINE(ledger_info, skipped_bytes, "damaged bytes skipped", "bytes", false)                  \
	LINE(ledger_info, damaged_places, "damaged places", NULL, false)                           \
	LINE(ledger_info, marks_left_out, "marks beyond the first million", NULL, false)           \
	LINE(pairing_info, orphan_frees, "frees of unrecorded blocks", NULL, false)                \
	LINE(pairing_info, inherited_frees, "frees of the parent's blocks", NULL, false)           \
	LINE(pairing_info, inferred, "ends inferred (address came again)", NULL, false)            \
	LINE(pairing_info, repaired, "orders of time overruled", NULL, false)                      \
	LINE(pairing_info, censored, "blocks of unknown fate (gaps)", NULL, false)                 \
	LINE(pairing_info, failed, "allocations that failed", NULL, false)                         \
	LINE(pairing_info, bad_references, "events without a definition", NULL, false)

/* A number of the account. */
struct account_line {
	const char *key, *text; /* key: in JSON; text: for people */
	size_t offset;
	bool of_pairing; /* in struct pairing_info, else in struct ledger_info */
	bool always;	 /* shown even if it is 0 */
};

extern const struct account_line account_lines[];
extern const size_t account_line_count;

uint64_t account_number(const struct recording *recording, const struct account_line *line);
/* Reasons for missing events, indexed by a gap's reason number; the list ends with NULL. */
extern const char *const account_reasons[];
extern const size_t account_reason_count; /* without the end */

#define ACCOUNT_END 128
/* Describes how the program ended. `out` holds ACCOUNT_END bytes. */
const char *account_end(char *out, size_t size, const struct process_info *process);
/* Names the source of that information: " (told by the kernel)", or "". */
const char *account_end_source(const struct process_info *process);
/* The state of the recording from this mark on (thinned, stopped...). NULL: the mark does not
 * change the state. */
const char *account_state(const struct mark_info *mark);
#define ACCOUNT_WHAT 1200
/* Describes a mark in words. `out` holds ACCOUNT_WHAT bytes. */
void account_describe(char *out, size_t size, const struct mark_info *mark);

/* Writes the whole account as members of an object that the caller has opened (account_json.c).
 * `reason` says why the account does not add up. */
void json_account(struct json *json, const struct recording *recording,
		  const struct completeness *c, const char *reason);
extern const struct answer account_answer;
/* Parts of it, also as tables: a struct thread_info, a struct account_gap and a struct
 * unrecorded_info of the recording. */
extern const struct answer account_thread_answer, account_gap_answer, account_unrecorded_answer;
struct account_gap {
	struct gap_info gap;
	uint64_t lasted_ns;
};
struct account_gap account_gap(const struct recording *recording, uint32_t index);
