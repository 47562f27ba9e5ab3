#pragma once
/* Lists the modules whose code has no names (query_unnamed), over one or more recordings, for
 * `collector symbols missing`. Two recordings have the same module if its build id is the same, or
 * without a build id its path. */
#include <stddef.h>
#include <stdint.h>

struct answer;
struct err_text;
struct json;
struct store;
struct symbols;

struct unnamed_code {
	char *module, *why; /* path; the first reason found for missing names, or NULL */
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint64_t streams, places, unnamed, allocations, bytes;
};

struct unnamed_list {
	struct unnamed_code *list;
	size_t count;
	/* Called while recordings are read; may be NULL. */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
};

/* Describe a struct unnamed_code and a struct symbols_note. */
extern const struct answer unnamed_answer, note_answer;

/* Add the modules of the recording at `path`, or of all streams of the store. Return 0, or a
 * negative errno with an error text. */
int unnamed_add(struct unnamed_list *list, const char *path, struct symbols *symbols,
		struct err_text *err);
int unnamed_add_all(struct unnamed_list *list, struct store *store, struct symbols *symbols,
		    struct err_text *err);
/* Sorts by bytes without names, most first. */
void unnamed_sort(struct unnamed_list *list);
void unnamed_done(struct unnamed_list *list);

/* Writes the notes on modules without symbols as an array. */
void json_notes(struct json *json, const char *key, const struct symbols *symbols);
