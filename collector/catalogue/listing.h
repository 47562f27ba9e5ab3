#pragma once
/* The streams of a store, for the files of collector/store only. */
#include <stddef.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

/* Ids of all streams that have a folder, in no order. Free ret_ids. */
int listing_ids(struct store *store, struct stream_id **ret_ids, size_t *ret_count,
		struct err_text *err);
