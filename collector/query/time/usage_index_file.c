/* Serializes the index. See usage_index.h. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/time/usage_index_parts.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define BIN_BYTES 104u
#define VERSION	  '2'

DEFINE_CLEANUP(usage_index_free, struct usage_index *)

static void usage_index_file_put_sums(struct buf *out, const struct usage_sum *sum)
{
	buf_u64le(out, (uint64_t)sum->bytes);
	buf_u64le(out, (uint64_t)sum->units);
}

static void put_bin(struct buf *out, const struct usage_index *index, uint32_t k)
{
	const struct bin *bin = &index->list[k];

	buf_u64le(out, index->bins.start[k]);
	buf_u32le(out, index->bins.segment[k]);
	buf_u32le(out, bin->far_count);
	buf_u64le(out, bin->far);
	usage_index_file_put_sums(out, &bin->start);
	usage_index_file_put_sums(out, &bin->least);
	usage_index_file_put_sums(out, &bin->most);
	usage_index_file_put_sums(out, &bin->births);
	usage_index_file_put_sums(out, &bin->deaths);
}

static uint64_t usage_index_file_sum_of(const uint8_t *head, size_t length, const uint8_t *far,
					size_t far_length)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t sum = 0;

	if (!state)
		return 0; /* a wrong checksum: the file will be made again */
	XXH3_64bits_reset(state);
	XXH3_64bits_update(state, head + 16, length - 16);
	XXH3_64bits_update(state, far, far_length);
	sum = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return sum;
}

void usage_index_vouch(uint8_t *data, size_t length)
{
	uint64_t sum;

	if (length < 16)
		return;
	sum = htole64(XXH3_64bits(data + 16, length - 16));
	memcpy(data + 8, &sum, sizeof(sum));
}

int usage_index_write(const struct usage_index *index, const struct recording *recording,
		      uint64_t state, struct buf *out, const uint8_t **ret_far,
		      size_t *ret_far_length)
{
	uint64_t sum;

	buf_append(out, "HCUSAGE", 7);
	buf_byte(out, VERSION);
	buf_u64le(out, 0);
	buf_append(out, recording_id(recording)->bytes, STREAM_ID_SIZE);
	buf_u64le(out, index->bins.rows);
	buf_u64le(out, state);
	buf_u32le(out, index->bins.segment_rows);
	buf_u32le(out, index->bins.count);
	buf_u64le(out, index->far_length);
	for (uint32_t k = 0; k < index->bins.count; k++)
		put_bin(out, index, k);
	if (buf_error(out))
		return buf_error(out);
	sum = htole64(
		usage_index_file_sum_of(out->data, out->length, index->far, index->far_length));
	memcpy(out->data + 8, &sum, sizeof(sum));
	*ret_far = index->far;
	*ret_far_length = index->far_length;
	return 0;
}

static int usage_index_file_damaged(struct err_text *err, const char *what)
{
	return err_set(err, -EBADMSG, "the index of what was in use over time is of no use: %s",
		       what);
}

struct head {
	uint64_t rows, state, far_length;
	uint32_t segment_rows, bins;
	const uint8_t *id;
};

static int usage_index_file_read_head(struct reader *r, struct head *head,
				      const struct recording *recording, uint64_t state,
				      struct err_text *err)
{
	const uint8_t *magic = reader_bytes(r, 8);
	uint64_t sum = reader_u64le(r);

	head->id = reader_bytes(r, STREAM_ID_SIZE);
	head->rows = reader_u64le(r);
	head->state = reader_u64le(r);
	head->segment_rows = reader_u32le(r);
	head->bins = reader_u32le(r);
	head->far_length = reader_u64le(r);
	if (reader_error(r) || memcmp(magic, "HCUSAGE", 7) != 0)
		return usage_index_file_damaged(err, "it is none");
	if (magic[7] != VERSION)
		return usage_index_file_damaged(err, "it is of another version");
	if (memcmp(head->id, recording_id(recording)->bytes, STREAM_ID_SIZE) != 0)
		return usage_index_file_damaged(err, "it is of another recording");
	if (head->rows != recording_rows(recording) || head->state != state)
		return usage_index_file_damaged(err, "the recording has changed since");
	if (sum != XXH3_64bits(r->data + 16, r->length - 16))
		return usage_index_file_damaged(err, "its checksum is wrong");
	return 0;
}

static int check_head(const struct reader *r, const struct head *head, struct err_text *err)
{
	if (!head->segment_rows || ROWS_PER_BLOCK % head->segment_rows || !head->bins ||
	    head->bins == UINT32_MAX || reader_left(r) / BIN_BYTES < head->bins ||
	    reader_left(r) - (uint64_t)head->bins * BIN_BYTES != head->far_length)
		return usage_index_file_damaged(err, "its sizes make no sense");
	return 0;
}

static struct usage_sum read_sum(struct reader *r)
{
	uint64_t bytes = reader_u64le(r), units = reader_u64le(r);

	return (struct usage_sum){(int64_t)bytes, (int64_t)units};
}

static int read_bin(struct reader *r, struct usage_index *index, uint32_t k)
{
	struct history_bins *bins = &index->bins;
	struct bin *bin = &index->list[k];

	bins->start[k] = reader_u64le(r);
	bins->segment[k] = reader_u32le(r);
	bin->far_count = reader_u32le(r);
	bin->far = reader_u64le(r);
	bin->start = read_sum(r);
	bin->least = read_sum(r);
	bin->most = read_sum(r);
	bin->births = read_sum(r);
	bin->deaths = read_sum(r);
	if ((k ? bins->start[k] <= bins->start[k - 1] || bins->segment[k] < bins->segment[k - 1]
	       : bins->start[k] != 0) ||
	    bins->start[k] == UINT64_MAX ||
	    (bins->segment[k] && bins->segment[k] >= bins->segments) ||
	    bin->far > index->far_length)
		return -EBADMSG;
	return reader_error(r);
}

static int read_bins(struct reader *r, struct usage_index *index, const struct head *head,
		     struct err_text *err)
{
	struct history_bins *bins = &index->bins;

	bins->rows = head->rows;
	bins->segment_rows = head->segment_rows;
	bins->segments = (uint32_t)((head->rows + head->segment_rows - 1) / head->segment_rows);
	bins->count = head->bins;
	bins->start = malloc(((size_t)bins->count + 1) * sizeof(*bins->start));
	bins->segment = malloc((size_t)bins->count * sizeof(*bins->segment));
	index->list = malloc((size_t)bins->count * sizeof(*index->list));
	if (!bins->start || !bins->segment || !index->list)
		return err_set(err, -ENOMEM, "out of memory");
	index->far_length = head->far_length;
	for (uint32_t k = 0; k < bins->count; k++)
		if (read_bin(r, index, k) < 0)
			return usage_index_file_damaged(err, "its bins make no sense");
	bins->start[bins->count] = UINT64_MAX;
	index->far = r->data + r->offset;
	return history_bins_reach(bins) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int usage_index_read(const uint8_t *data, size_t length, const struct recording *recording,
		     uint64_t state, struct usage_index **ret_index, struct err_text *err)
{
	cleanup(cleanup_usage_index_free) struct usage_index *index = calloc(1, sizeof(*index));
	struct reader reader = reader_of(data, length);
	struct head head = {0};
	int r = index ? usage_index_file_read_head(&reader, &head, recording, state, err)
		      : err_set(err, -ENOMEM, "out of memory");

	if (!r)
		r = check_head(&reader, &head, err);
	if (!r)
		r = read_bins(&reader, index, &head, err);
	if (!r)
		*ret_index = take_ptr(index);
	return r;
}
