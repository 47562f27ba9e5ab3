#pragma once
/* The result of an analysis with its context: what was analysed, by which rules, and which commands
 * to run next. All renderers use it. */
#include <stdbool.h>
#include <stddef.h>

#include "collector/analyze/analysis.h"

struct answer;
struct buf;
struct json;

struct analysis_report {
	const struct analysis_result *result;
	const char *title;	/* the file's name, or the recorded command line */
	const char *counted;	/* the first line: which numbers these are; NULL: none */
	const char *about;	/* an additional line; NULL: none */
	const char *source;	/* FILE or STREAM as the user named it */
	const char *options;	/* options for follow-up commands: "--value leaked"; NULL: none */
	const char *note;	/* what was left out; NULL: nothing */
	const char *incomplete; /* what the recording does not hold; "" or NULL: nothing */
	const char *rules;
	bool counts; /* values are numbers of blocks, not bytes */
	/* The source is a recording, so other commands accept it, too. */
	bool recorded;
};

/* Formats the next command number `index`, and its purpose. Both outputs hold REPORT_NEXT bytes.
 * Returns false if there are no more. */
#define REPORT_NEXT 8192 /* room for a path */
bool report_next(const struct analysis_report *report, unsigned index,
		 char ret_command[REPORT_NEXT], char ret_why[REPORT_NEXT]);
/* Quotes a word for the shell where necessary. `size` is at least 8; the result is truncated to
 * it. */
void report_quote(char *out, size_t size, const char *text);
/* Formats the first line: "1.5 GiB (1,610,612,736 bytes) in 1,234 stack traces". `out` holds
 * REPORT_NEXT bytes, and is returned. */
char *report_total(const struct analysis_report *report, char out[REPORT_NEXT]);

/* Writes the report as members of a JSON object that the caller has opened. */
void report_json(const struct analysis_report *report, struct json *json);
extern const struct answer analysis_answer;
/* Appends a self-contained HTML page for reading and printing. */
void report_page(const struct analysis_report *report, struct buf *out);
