/* Finds single rows by their numbers. See query.h. */
#include "collector/columns/row_block.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

#include "base/ban.h"

struct row_cache {
	const struct recording *recording;
	unsigned columns;
	uint64_t clock;
	struct slot {
		struct row_reader *reader; /* NULL: not used yet */
		const struct row_block *block;
		uint32_t index;
		uint64_t used;
	} slots[ROW_CACHE_BLOCKS];
};

int row_cache_new(const struct recording *recording, unsigned columns, struct row_cache **ret_cache)
{
	struct row_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->recording = recording;
	cache->columns = columns;
	*ret_cache = cache;
	return 0;
}

void row_cache_free(struct row_cache *cache)
{
	if (!cache)
		return;
	for (unsigned s = 0; s < ROW_CACHE_BLOCKS; s++)
		row_reader_free(cache->slots[s].reader);
	free(cache);
}

/* Returns the slot with this block, else the least recently used one. */
static struct slot *slot_of(struct row_cache *cache, uint32_t index)
{
	struct slot *oldest = &cache->slots[0];

	for (unsigned s = 0; s < ROW_CACHE_BLOCKS; s++) {
		struct slot *slot = &cache->slots[s];

		if (slot->block && slot->index == index)
			return slot;
		if (slot->used < oldest->used)
			oldest = slot;
	}
	return oldest;
}

static const struct row_block *row_cache_fill(struct row_cache *cache, struct slot *slot,
					      uint32_t index, struct err_text *err)
{
	if (slot->block && slot->index == index)
		return slot->block;
	if (!slot->reader && row_reader_new(cache->recording, &slot->reader) < 0) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	slot->index = index;
	slot->block = row_reader_block(slot->reader, index, cache->columns, err);
	return slot->block;
}

const struct row_block *row_cache_get(struct row_cache *cache, uint64_t row, uint32_t *ret_index,
				      struct err_text *err)
{
	uint32_t index = (uint32_t)(row / ROWS_PER_BLOCK), i = (uint32_t)(row % ROWS_PER_BLOCK);
	struct slot *slot = slot_of(cache, index);
	const struct row_block *block;

	if (row >= recording_rows(cache->recording)) {
		err_set(err, -ENOENT, "there is no allocation %llu", (unsigned long long)row);
		return NULL;
	}
	slot->used = ++cache->clock;
	block = row_cache_fill(cache, slot, index, err);
	if (block)
		*ret_index = i;
	return block;
}
