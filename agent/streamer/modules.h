#pragma once
/*
 * The modules of a process: which ELF file an address belonged to, at which time. The source announces them with an epoch,
 * which counts the changes after which an address may mean another thing; an event says which epoch its stack was walked
 * in, so that a file that was closed and another one loaded in its place are told apart.
 *
 * Entries are kept for the whole stream, for collectors that join late. When the table is full, addresses of later modules
 * are shown without a module, and counted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/capture.h"
#include "agent/streamer/budget.h"

#define MODULE_PATH_MAX	    1023
#define MODULE_BUILD_ID_MAX 32
#define MODULE_SEGMENTS_MAX 8

struct module {
	uint64_t bias, start, end;
	uint64_t loaded_ns, unloaded_ns;
	uint32_t id;	      /* the source's */
	uint32_t epoch_first; /* epochs in which it is there: first to last */
	uint32_t epoch_last;
	uint16_t path_length;
	uint8_t build_id_length;
	uint8_t segment_count;
	bool gone;
	bool unload_sent;
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	const uint8_t *path;
	const struct capture_segment *segment;
};

struct modules {
	struct module *entry; /* number - 1 */
	uint32_t count, capacity;
	uint32_t sent;	  /* so many were defined in closed batches */
	uint32_t unloads; /* that no batch has told yet */
	uint32_t turned_away;
	uint32_t recent; /* index of the last one found */
	struct arena text;
};

/* Takes what it needs of `arena`. 0 or -ENOMEM. */
int modules_init(struct modules *modules, struct arena *arena, uint32_t capacity);
/* From here on it has that capacity; at most that of modules_init, and never less than before. */
void modules_limit(struct modules *modules, uint32_t capacity);
void modules_clear(struct modules *modules);
/* Is there no room for this one? */
bool modules_full(const struct modules *modules, const struct capture_module *module);
/* 0; -ENOSPC: full, counted; -EBADMSG: it makes no sense. */
int modules_add(struct modules *modules, const struct capture_module *module);
/* One that is gone is there again, the same file at the same place: it has its number again. (What has been told of its end
 * stays told.) False: there is none. */
bool modules_again(struct modules *modules, const struct capture_module *module);
/* True if there was such a module, or may have been: some were turned away. */
bool modules_remove(struct modules *modules, uint32_t id, uint32_t epoch, uint64_t time_ns);
/* The image was replaced (exec): all are gone, and ids begin anew. */
void modules_remove_all(struct modules *modules, uint64_t time_ns);
/* The number of the module that held `pc` in this epoch; 0: none. */
uint32_t modules_find(struct modules *modules, uint64_t pc, uint32_t epoch);
static inline const struct module *modules_get(const struct modules *m, uint32_t number)
{
	return &m->entry[number - 1];
}
