#pragma once
/* The result of an analysis with what stands around it: what was analysed, by which rules, what to
 * ask next. For all renderers. */
#include <stdbool.h>
#include <stddef.h>

#include "collector/analyze/analysis.h"

struct answer;
struct buf;
struct json;

struct analysis_report {
	const struct analysis_result *result;
	const char *title;	/* the file's name, or the command line that was recorded */
	const char *about;	/* a line more; NULL: none */
	const char *source;	/* FILE or STREAM as the user named it */
	const char *options;	/* what follow-ups repeat: "--value leaked"; NULL: nothing */
	const char *note;	/* what was left out; NULL: nothing */
	const char *incomplete; /* what the recording does not hold; "" or NULL: nothing */
	const char *rules;
	bool counts;   /* values are numbers of blocks, not bytes */
	bool recorded; /* a recording, which other commands take, too */
};

/* A command to type next, with what it is for. Both of `*ret_...` of REPORT_NEXT bytes. False:
 * there are no more. */
#define REPORT_NEXT 8192 /* room for a path */
bool report_next(const struct analysis_report *report, unsigned index,
		 char ret_command[REPORT_NEXT], char ret_why[REPORT_NEXT]);
/* A word as the shell takes it: as it is, or in quotes. `size` of 8 or more; what does not fit is
 * cut off. */
void report_quote(char *out, size_t size, const char *text);
/* The first line: "1.5 GiB (1,610,612,736 bytes) in 1,234 stack traces". `out` of REPORT_NEXT
 * bytes; returns it. */
char *report_total(const struct analysis_report *report, char out[REPORT_NEXT]);

/* Members of a JSON object that is open. */
void report_json(const struct analysis_report *report, struct json *json);
extern const struct answer analysis_answer;
/* A page of HTML to read and to print, with nothing from outside. Appends. */
void report_page(const struct analysis_report *report, struct buf *out);
