#pragma once
/*
 * The modules of a process: which ELF file an address belonged to, at which time.
 *
 *	file    number -> path, build id, segments		told to the collector, once
 *	place   addresses, epochs -> number where a file lies, or has lain lately
 *
 * A file that is unloaded and loaded again, there or elsewhere, by this program or one that takes
 * its place (exec), keeps its number: a program may do that as often as it likes. The source
 * announces with an epoch, which counts the changes after which an address may mean another thing;
 * an event says which epoch its stack was walked in, so that a file that was closed and another one
 * loaded in its place are told apart. Of places that are no more only the last are known: events
 * are not that late.
 *
 * Files are kept for the whole stream, for collectors that join late. When the table is full,
 * addresses of later ones are shown without a module, and counted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/capture.h"
#include "agent/core/budget.h"

#define MODULE_PATH_MAX	    1023
#define MODULE_BUILD_ID_MAX 32
#define MODULE_SEGMENTS_MAX 8
#define MODULES_PAST	    256 /* more than a module channel holds at once */

#define MODULE_THERE UINT64_MAX /* in place of the time of its end */

struct module {
	uint64_t bias, start, end; /* of its first place */
	uint64_t loaded_ns;
	uint64_t ended_ns; /* the last time; or MODULE_THERE */
	uint64_t told_ns;  /* what batches have told of that */
	uint32_t print;	   /* as in struct capture_module */
	uint16_t path_length;
	uint8_t build_id_length;
	uint8_t segment_count;
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	const uint8_t *path;
	const struct capture_segment *segment;
};

struct module_place {
	uint64_t start, end, bias;
	uint32_t id; /* the source's */
	uint32_t number;
	uint32_t epoch_first; /* epochs in which it is there: first to last */
	uint32_t epoch_last;
};

struct modules {
	struct module *entry; /* number - 1 */
	uint32_t count, capacity;
	struct module_place *live;
	uint32_t live_count;	   /* at most as many as files: each has one, or none */
	struct module_place *past; /* the last that are no more */
	uint32_t past_count;	   /* the next goes to past_count % MODULES_PAST */
	uint32_t recent;	   /* index of the live one that was found last */
	uint32_t sent;		   /* so many were defined in closed batches */
	uint32_t unloads;	   /* modules of whose end, or return, no batch has told yet */
	uint32_t turned_away;
	struct arena text;
};

/* Takes what it needs of `arena`. 0 or -ENOMEM. */
int modules_init(struct modules *modules, struct arena *arena, uint32_t capacity);
/* From here on it has that capacity; at most that of modules_init, and never less than before. */
void modules_limit(struct modules *modules, uint32_t capacity);
void modules_clear(struct modules *modules);
/* Is there no room for this one? */
bool modules_full(const struct modules *modules, const struct capture_module *module);
/* Is this file in the table, and nowhere in memory? Then adding it takes no room. */
bool modules_knows(const struct modules *modules, const struct capture_module *module);
/* 0; -ENOSPC: full, counted; -EBADMSG: it makes no sense. */
int modules_add(struct modules *modules, const struct capture_module *module);
/* True if there was such a module, or may have been: some were turned away. */
bool modules_remove(struct modules *modules, uint32_t id, uint32_t epoch, uint64_t time_ns);
/* The image was replaced (exec): nothing is anywhere any more, and ids and epochs begin anew. */
void modules_remove_all(struct modules *modules, uint64_t time_ns);
/* Where `pc` was in this epoch; NULL: in no module. Until the next change. */
const struct module_place *modules_find(struct modules *modules, uint64_t pc, uint32_t epoch);
/* A batch tells what is to be told of this one's end. */
void modules_told(struct modules *modules, struct module *module);
