#pragma once
/* The streams of a store; private to the files that implement the store. */
#include <stddef.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

/* Returns the ids of all streams that have a folder, unsorted. The caller frees ret_ids. */
int listing_ids(struct store *store, struct stream_id **ret_ids, size_t *ret_count,
		struct err_text *err);
