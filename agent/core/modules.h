#pragma once
/*
 * The modules of a process: which ELF file an address belonged to, and when.
 *
 *	file    number -> path, build id, segments	sent to the collector once
 *	place   addresses, epochs -> number		where a file is or recently was mapped
 *
 * A file that is unloaded and loaded again keeps its number, even at another address and even if
 * the program's successor (exec) loads it. So reloading files does not fill the table.
 *
 * The source announces each module with an epoch. The epoch counts the changes after which an
 * address may belong to another file. An event carries the epoch of its stack walk, so a closed
 * file and another file loaded in its place are told apart. The table keeps only the last
 * MODULES_PAST places that no longer exist: no event is later than that.
 *
 * The table keeps files for the whole stream, for collectors that join late. When the table is
 * full, further files are only counted, and their addresses are shown without a module.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/capture.h"
#include "agent/core/arena.h"

#define MODULE_PATH_MAX	    1023
#define MODULE_BUILD_ID_MAX 32
#define MODULE_SEGMENTS_MAX 8
/* More than two rounds read. A module channel holds 64 KiB, which is some 210 loads with their
 * unloads. Events that come between the looks of a round at the slices and at the channel are read
 * in the next round, which reads the channel first. */
#define MODULES_PAST 512

#define MODULE_THERE UINT64_MAX /* replaces the end time while the module is loaded */

struct module {
	uint64_t bias, start, end; /* of its first place */
	uint64_t loaded_ns;
	uint64_t ended_ns; /* time of the last unload, or MODULE_THERE */
	uint64_t told_ns;  /* the value of `ended_ns` that batches have reported */
	uint32_t print;	   /* as in struct run_module */
	uint16_t path_length;
	uint8_t build_id_length;
	uint8_t segment_count;
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	const uint8_t *path;
	const struct run_segment *segment;
};

struct module_place {
	uint64_t start, end, bias;
	uint32_t id; /* the source's number */
	uint32_t number;
	/* The place exists from `epoch_first` to `epoch_last`, both included. */
	uint32_t epoch_first;
	uint32_t epoch_last;
};

struct modules {
	struct module *entry; /* indexed by number - 1 */
	uint32_t count, capacity;
	struct module_place *live;
	uint32_t live_count;	   /* at most one for each file */
	struct module_place *past; /* the last places that no longer exist */
	uint32_t past_count;	   /* the next one goes to past_count % MODULES_PAST */
	uint32_t recent;	   /* index of the live place that was found last */
	uint32_t sent;		   /* number of modules that closed batches have defined */
	uint32_t unloads;	   /* modules whose `ended_ns` no batch has reported yet */
	uint32_t turned_away;
	struct arena text;
};

/* Takes the memory from `arena`. Returns 0 or -ENOMEM. */
int modules_init(struct modules *modules, struct arena *arena, uint32_t capacity);
/* Sets the capacity: at most that of modules_init, and never less than before. */
void modules_limit(struct modules *modules, uint32_t capacity);
void modules_clear(struct modules *modules);
/* Returns true if the table has no room for this file. */
bool modules_full(const struct modules *modules, const struct run_module *module);
/* Returns true if the table has this file and the file is not loaded now. Adding it then takes no
 * room. */
bool modules_knows(const struct modules *modules, const struct run_module *module);
/* Returns 0, -ENOSPC if the table is full (the module is counted), or -EBADMSG if the data is
 * invalid. */
int modules_add(struct modules *modules, const struct run_module *module);
/* Returns true if the module was loaded, or may have been: the table turned some away. */
bool modules_remove(struct modules *modules, uint32_t id, uint32_t epoch, uint64_t time_ns);
/* Removes all modules, because an exec has replaced the image. Ids and epochs start again. */
void modules_remove_all(struct modules *modules, uint64_t time_ns);
/* Returns the place that held `pc` in this epoch, or NULL if no module did. The pointer is valid
 * until the next change. */
const struct module_place *modules_find(struct modules *modules, uint64_t pc, uint32_t epoch);
/* Records that a batch now reports the module's `ended_ns`. */
void modules_told(struct modules *modules, struct module *module);
