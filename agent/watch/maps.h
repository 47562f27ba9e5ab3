#pragma once
/*
 * Encodes the mapped regions as differences: readings of smaps go in, steps of message Maps come
 * out. For every region that the collector knows, the table keeps 16 bytes: its start, and hashes
 * of its other properties. The message is built in columns of fixed size. When they are full, the
 * reading pauses, the step is handed over as a part, and the next step continues. A later reading
 * reports the news for which a part has no room. It finds them again, because the table contains
 * only what was reported.
 *
 *   table:   | found by this reading so far | ... | found by the last reading, not reached yet |
 *            0                        write ^     ^ read                                capacity
 *
 * If no entry is left between `write` and `read`, a new region is cut: the totals include it, but
 * the table does not track it.
 *
 * The observer owns this while it reads. After maps_end has returned a step, the stream owns it
 * until the batch with that step is packed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/proc/maps.h"
#include "proto/columns.h"

#define MAPS_TOTALS	 (1 + PROC_FIGURES) /* address space, and the figures */
#define MAPS_NUMBERS_MAX (1u << 20)	    /* names beyond this number are not reported */
#define MAPS_NAME_MAX	 1023		    /* longer names are truncated */

enum maps_column {
	MAPS_NAMES,
	MAPS_GONE,
	MAPS_START,
	MAPS_SIZE,
	MAPS_FLAGS,
	MAPS_OFFSET,
	MAPS_DEVICE,
	MAPS_INODE,
	MAPS_NAME,
	MAPS_USED,
	MAPS_FIGURE, /* the first of PROC_FIGURES */
	MAPS_COLUMNS = MAPS_FIGURE + PROC_FIGURES,
};

struct maps_entry {
	uint64_t start;	   /* page number */
	uint32_t identity; /* hash of everything that identifies the region */
	uint32_t usage;	   /* hash of the figures that were reported */
};

struct maps {
	struct maps_entry *entry;
	uint32_t capacity, count;
	uint32_t read, write;
	uint64_t *name; /* hash << 20 | number; 0: free */
	uint32_t name_capacity, names;
	uint32_t next_name;
	uint32_t page_shift;
	uint32_t step_max; /* largest number of bytes of a step in a message */
	/* The collector knows no region and no name, so the next step has `whole` set. */
	bool unknown;
	/* The step. */
	bool whole, part;
	struct column column[MAPS_COLUMNS];
	uint64_t last[3]; /* last starts in the columns gone, start and used */
	uint64_t last_start;
	uint64_t total[MAPS_TOTALS];
	uint8_t totals[MAPS_TOTALS * VARINT_MAX];
	size_t totals_length;
	uint32_t first_name;
	uint32_t regions, cut, postponed;
	uint64_t time_ns, took_ns;
};

#define MAPS_SIZE_MIN (16u << 10)
#define MAPS_STEP_MIN (6u << 10)

/* Divides `size` bytes (at least MAPS_SIZE_MIN) at `memory`, aligned to 8, into table, names and
 * columns. A step takes at most `step_max` bytes of a message (at least MAPS_STEP_MIN). */
void maps_init(struct maps *maps, void *memory, size_t size, size_t step_max, uint32_t page_size);
/* Forgets all names and regions, for another process. Also call this if it is unknown what was
 * reported. */
void maps_clear(struct maps *maps);
/* Makes the next reading report all regions again, and the names that they use, under new numbers.
 * Call this when the collector has lost what was reported. */
void maps_repeat(struct maps *maps);

/* Begins a reading. */
void maps_begin(struct maps *maps);
/* Returns true if the columns have room for news of this region. If not, call maps_part, and
 * maps_go_on once that step is packed. */
bool maps_fits(const struct maps *maps, const struct proc_mapping *region);
void maps_part(struct maps *maps, uint64_t time_ns);
void maps_go_on(struct maps *maps);
/* Adds the next region. Regions must come in the order of their addresses. */
void maps_put(struct maps *maps, const struct proc_mapping *region);
/* Completes the reading. Returns true if the step has something to report. */
bool maps_end(struct maps *maps, uint64_t time_ns, uint64_t took_ns);
/* Fills `ret_message`, which refers to the memory of `maps`. */
void maps_fill(const struct maps *maps, Heapcast__Maps *ret_message);
