#pragma once
/* A stream's row in the shared store. */
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/share/marks.h"

struct buf;
struct reader;

/* Whether another collector has the stream's beginning. */
bool is_later_part(const struct stream_summary *stream);
/* Returns a number that differs between different rows, whatever has been sent of the stream. */
uint64_t stream_row_print(const struct stream_summary *stream);
/* Appends a row (STREAMS_COLUMNS). A row of a higher version replaces it. */
void stream_row_put(struct buf *rows, const struct stream_summary *stream, uint64_t collector,
		    uint64_t version, const struct mark *mark);
