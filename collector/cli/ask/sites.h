#pragma once
/* Tables of call sites, as text and as JSON: what report, top and leaks show. */
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

struct json;
struct question;

struct site_table {
	size_t count;	  /* rows shown at most */
	unsigned frames;  /* of the backtrace under each row: 0 shows none; UINT_MAX all */
	const char *noun; /* "call site", "backtrace" */
	const struct groups *backtraces; /* the same question by backtrace: shows who calls the
					    heavy sites; NULL: no */
};

/* Rows of `groups`, two or more lines each, and a line for what is left out. */
void sites_print(const struct question *q, const struct groups *groups,
		 const struct site_table *table);
/* Frames of a backtrace further out than its call site, a line each, at most `frames`. */
void backtrace_print(const struct question *q, uint32_t node, unsigned frames);
/* The same from the innermost on, as an array. */
void backtrace_json(struct json *json, const char *key, const struct question *q, uint32_t node);
/* "mem1.c:128, libsqlite3.so.0" */
void place_text(const char *file, uint32_t line, const char *module, char *out, size_t size);
void sites_json(struct json *json, const char *key, const struct question *q,
		const struct groups *groups, const struct site_table *table);
/* "1.5 MiB", and "+- 20 KiB" behind it if it is an estimate. */
const char *usage_bytes(char *out, size_t size, const struct usage *usage);
/* "12 samples"; empty if it is none. */
const char *usage_samples(char *out, size_t size, const struct usage *usage);
