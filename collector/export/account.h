#pragma once
/*
 * The account of a recording: what was produced, stored and lost, why, and how the program ended. `collector ledger`, its --json, the REST
 * API and the page tell the same lines in the same words.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct completeness;
struct json;
struct mark_info;
struct process_info;
struct recording;

/* A number of the account. */
struct account_line {
	const char *key, *text; /* in JSON; for people: what is part of the line before begins with two blanks */
	size_t offset;
	bool of_pairing; /* in struct pairing_info, else in struct ledger_info */
	bool always;	 /* else it is shown only where it is not 0 */
};

extern const struct account_line account_lines[];
extern const size_t account_line_count;

uint64_t account_number(const struct recording *recording, const struct account_line *line);
/* Why events are missing, by the number of a gap. */
const char *account_reason(uint32_t reason);

#define ACCOUNT_END 128
/* How the program ended, in words: `out`, of ACCOUNT_END bytes. */
const char *account_end(char *out, size_t size, const struct process_info *process);
/* And who says so: " (told by the kernel)", or "". */
const char *account_end_source(const struct process_info *process);
/* The name of the state that recording is in from the mark on (thinned, stopped...). NULL: the mark is none of these. */
const char *account_state(const struct mark_info *mark);
#define ACCOUNT_WHAT 1200
/* The same in words: `out`, of ACCOUNT_WHAT bytes. */
void account_describe(char *out, size_t size, const struct mark_info *mark);

/* All of it, as members of an object that is open. `reason`: why it does not add up. */
void json_account(struct json *json, const struct recording *recording, const struct completeness *c, const char *reason);
