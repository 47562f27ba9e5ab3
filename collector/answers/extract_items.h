#pragma once
/* Finds the files that can be written out of a recording. These are the symbol files of its
 * modules, and the last reading of its memory maps. Symbol files are those in the data folder under
 * the build id: an agent sent them, they were fetched, or somebody added them. No recording has the
 * program's environment. */
#include <stddef.h>
#include <stdint.h>

struct answer;
struct err_text;

enum extract_what { EXTRACT_PROGRAM, EXTRACT_DEBUG, EXTRACT_MAPS, EXTRACT_SMAPS };

struct extract_item {
	char *name;   /* path below the output folder: the same as on the original host */
	char *source; /* path of the file here; NULL: an item of maps, whose text is in `text` */
	char *text;
	size_t size;
	enum extract_what what;
	uint8_t build_id[64];
	uint32_t build_id_length;
};

struct extract_items {
	struct extract_item *list; /* sorted by name */
	uint32_t count, capacity;
	uint32_t modules; /* number of modules of the recording that have a build id */
};

/* Finds the items of the recording at `path`, with the symbol files of the folder `symbols`.
 * `progress` is that of recording_open. Returns 0, or a negative errno with an error text. */
int extract_items_find(const char *path, const char *symbols,
		       int (*progress)(void *context, uint64_t done, uint64_t of),
		       struct extract_items *ret_items, struct err_text *err);
void extract_items_done(struct extract_items *items);

/* Describe a struct extract_item (also as a table) and a struct extract_items. */
extern const struct answer extract_item_answer, extract_items_answer;
