#pragma once
/*
 * What is mapped, as news since the last reading: readings of smaps go in, steps of message Maps
 * come out. Of every region that the collector was told of, the table keeps 16 bytes: its start,
 * and what the rest came to when it was hashed. The message is built in columns of fixed room. When
 * that is used up the reading stops, the step is handed over as a part, and the next one goes on.
 * News that find no room all the same are told by a later reading, for they are found again: the
 * table only says what was told.
 *
 *   table:   | what this reading found, so far | ... | what the one before had, not come to yet |
 *            0                           write ^     ^ read                              capacity
 *
 * A region for which there is no place between `write` and `read` is cut: it counts in the totals,
 * and is not followed.
 *
 * Owner: the observer while it reads; after maps_end has given a step, the stream, until the batch
 * with it is packed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/watch/smaps.h"
#include "proto/columns.h"

#define MAPS_TOTALS	 (1 + SMAPS_FIGURES) /* address space, and the figures */
#define MAPS_NUMBERS_MAX (1u << 20)	     /* names beyond are not told */

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
	MAPS_FIGURE, /* the first of SMAPS_FIGURES */
	MAPS_COLUMNS = MAPS_FIGURE + SMAPS_FIGURES,
};

struct maps_entry {
	uint64_t start;	   /* page */
	uint32_t identity; /* hash of all that names it */
	uint32_t usage;	   /* hash of the figures that were told */
};

struct maps {
	struct maps_entry *entry;
	uint32_t capacity, count;
	uint32_t read, write;
	uint64_t *name; /* hash << 20 | number; 0: free */
	uint32_t name_capacity, names;
	uint32_t next_name;
	uint32_t page_shift;
	uint32_t step_max; /* bytes that a step takes in a message, at most */
	bool unknown;	   /* the collector knows nothing: the next step says `whole` */
	/* The step. */
	bool whole, part;
	struct column column[MAPS_COLUMNS];
	uint64_t last[3]; /* starts in the columns gone, start, used */
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

/* `size` bytes (at least MAPS_SIZE_MIN) at `memory`, aligned to 8, for table, names and columns. A
 * step takes at most `step_max` bytes of a message (at least MAPS_STEP_MIN). */
void maps_init(struct maps *maps, void *memory, size_t size, size_t step_max, uint32_t page_size);
/* Another process, or nobody knows what was told: names and regions begin anew. */
void maps_clear(struct maps *maps);
/* The collector has lost what it was told: regions begin anew, and the names that they need are
 * told again. */
void maps_repeat(struct maps *maps);

void maps_begin(struct maps *maps);
/* Is there room for news of this region? If not: maps_part, and maps_go_on once that is packed. */
bool maps_fits(const struct maps *maps, const struct smaps_region *region);
void maps_part(struct maps *maps, uint64_t time_ns);
void maps_go_on(struct maps *maps);
/* The next region, in the order of their addresses. */
void maps_put(struct maps *maps, const struct smaps_region *region);
/* The reading is complete. True: the step has something to tell. */
bool maps_end(struct maps *maps, uint64_t time_ns, uint64_t took_ns);
/* Makes `ret_message` speak of the step, in place. */
void maps_fill(const struct maps *maps, Heapcast__Maps *ret_message);
