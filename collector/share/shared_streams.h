#pragma once
/* The streams of all collectors that share a data base. */
#include <stddef.h>
#include <stdint.h>

struct clickhouse;
struct err_text;
struct stream_summary;

/* Lists the streams that `select` chooses (catalogue/select.h; NULL: all), in the order in
 * which they began. A stream that moved from one collector to another is one row. Its data reach as
 * far as its sums have been sent. Free the list with store_list_free. Returns 0, -EINVAL with a
 * sentence for a wrong selector, or an error of clickhouse/client.h. */
int shared_streams(struct clickhouse *client, const char *select, struct stream_summary **ret_list,
		   size_t *ret_count, struct err_text *err);
/* Does the same, and lists the number of the collector that has each stream (collectors.h), or has
 * the last part of it. The caller frees *ret_owners. */
int shared_streams_owned(struct clickhouse *client, const char *select,
			 struct stream_summary **ret_list, uint64_t **ret_owners, size_t *ret_count,
			 struct err_text *err);
/* Counts those that are known, and are not listed: no minute of them has been complete yet. */
int shared_streams_waiting(struct clickhouse *client, const char *select, size_t *ret_count,
			   struct err_text *err);
