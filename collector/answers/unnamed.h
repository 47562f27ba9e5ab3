#pragma once
/* Which modules of some recordings have code without names (query_unnamed), taken together:
 * `collector symbols missing`. A module is the same if its build id is, or without one its path. */
#include <stddef.h>
#include <stdint.h>

struct answer;
struct err_text;
struct json;
struct store;
struct symbols;

struct unnamed_code {
	char *module, *why; /* its path; the first reason that was found for it, or NULL */
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

/* Of struct unnamed_code; of struct symbols_note. */
extern const struct answer unnamed_answer, note_answer;

/* Adds the modules of the recording at `path`, or of all streams of the store. Returns 0, or a
 * negative errno with a sentence. */
int unnamed_add(struct unnamed_list *list, const char *path, struct symbols *symbols,
		struct err_text *err);
int unnamed_add_all(struct unnamed_list *list, struct store *store, struct symbols *symbols,
		    struct err_text *err);
/* Those that hide most bytes come first. */
void unnamed_sort(struct unnamed_list *list);
void unnamed_done(struct unnamed_list *list);

/* Writes the notes on modules without symbols as an array. */
void json_notes(struct json *json, const char *key, const struct symbols *symbols);
