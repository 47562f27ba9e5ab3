#pragma once
/* What came with a recording, or was fetched for it, and can be written as files: symbol files of
 * its modules (those in the data folder by build id, which an agent sent or somebody added), and
 * the last reading of its memory maps. No recording has the program's environment. */
#include <stddef.h>
#include <stdint.h>

struct answer;
struct err_text;

enum extract_what { EXTRACT_PROGRAM, EXTRACT_DEBUG, EXTRACT_MAPS, EXTRACT_SMAPS };

struct extract_item {
	char *name;   /* its path below the folder: the same as on the host where it came from */
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
	uint32_t modules; /* how many modules of the recording have a build id */
};

/* Finds the items of the recording at `path`, with the symbol files of the folder `symbols`.
 * `progress` is that of recording_open. Returns 0, or a negative errno with a sentence. */
int extract_items_find(const char *path, const char *symbols,
		       int (*progress)(void *context, uint64_t done, uint64_t of),
		       struct extract_items *ret_items, struct err_text *err);
void extract_items_done(struct extract_items *items);

/* Of a struct extract_item, also as a table; of all in a struct extract_items. */
extern const struct answer extract_item_answer, extract_items_answer;
