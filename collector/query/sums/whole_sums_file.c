/* Serializes the sums. See whole_sums.h. */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define MAGIC	      "HCNSUMS3"
#define HEAD_BYTES    80u
#define NODE_BYTES    (48u + 16 * (NODE_ENDS + 1))
#define SAMPLED_BYTES (56u * (NODE_ENDS + 1))
#define PARTS_KNOWN   (WHOLE_PEAK | WHOLE_REALLOCATIONS | WHOLE_GROUP_PEAKS)

DEFINE_CLEANUP(whole_sums_free, struct whole_sums *)

/* ---- writing ---- */

static void put_double(struct buf *out, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	buf_u64le(out, bits);
}

static void put_count(struct buf *out, const struct node_count *count)
{
	buf_u64le(out, count->blocks);
	buf_u64le(out, count->bytes);
}

static void put_node(struct buf *out, const struct node_sum *sum, uint64_t peak_ns)
{
	buf_u32le(out, sum->node);
	buf_u32le(out, sum->sampled);
	buf_u64le(out, sum->min_size);
	buf_u64le(out, sum->max_size);
	buf_u64le(out, sum->first_ns);
	buf_u64le(out, sum->last_ns);
	for (unsigned e = 0; e < NODE_ENDS; e++)
		put_count(out, &sum->by_end[e]);
	put_count(out, &sum->alive);
	buf_u64le(out, peak_ns);
}

static void put_tally(struct buf *out, const struct tally *tally)
{
	buf_u64le(out, tally->blocks);
	buf_u64le(out, tally->bytes);
	buf_u64le(out, tally->samples);
	put_double(out, tally->sampled_blocks);
	put_double(out, tally->sampled_bytes);
	put_double(out, tally->blocks_variance);
	put_double(out, tally->bytes_variance);
}

static void whole_sums_file_put_head(struct buf *out, const struct whole_sums *whole,
				     const struct recording *recording, uint64_t state)
{
	buf_append(out, MAGIC, 8);
	buf_u64le(out, 0);
	buf_append(out, recording_id(recording)->bytes, STREAM_ID_SIZE);
	buf_u64le(out, recording_rows(recording));
	buf_u64le(out, state);
	buf_u32le(out, whole->parts);
	buf_u32le(out, whole->sums.count);
	buf_u32le(out, whole->sums.sampled_count);
	buf_u32le(out, 0);
	buf_u64le(out, whole->peak_ns);
	buf_u64le(out, whole->sums.reallocations);
}

int whole_sums_write(const struct whole_sums *whole, const struct recording *recording,
		     uint64_t state, struct buf *out)
{
	const struct node_sums *sums = &whole->sums;
	size_t begin = out->length;
	uint64_t check;

	whole_sums_file_put_head(out, whole, recording, state);
	for (uint32_t i = 0; i < sums->count; i++)
		put_node(out, &sums->list[i], whole->group_peaks ? whole->group_peaks[i] : 0);
	for (uint32_t i = 0; i < sums->sampled_count; i++) {
		for (unsigned e = 0; e < NODE_ENDS; e++)
			put_tally(out, &sums->sampled[i].by_end[e]);
		put_tally(out, &sums->sampled[i].alive);
	}
	if (buf_error(out))
		return buf_error(out);
	check = htole64(XXH3_64bits(out->data + begin + 16, out->length - begin - 16));
	memcpy(out->data + begin + 8, &check, sizeof(check));
	return 0;
}

/* ---- reading ---- */

struct head {
	uint32_t parts, nodes, sampled;
	uint64_t peak_ns, reallocations;
};

static int whole_sums_file_read_head(struct reader *r, const struct recording *recording,
				     uint64_t state, struct head *head)
{
	const uint8_t *magic = reader_bytes(r, 8);
	uint64_t check = reader_u64le(r);
	const uint8_t *id = reader_bytes(r, STREAM_ID_SIZE);
	uint64_t rows = reader_u64le(r), of_state = reader_u64le(r);

	head->parts = reader_u32le(r);
	head->nodes = reader_u32le(r);
	head->sampled = reader_u32le(r);
	reader_u32le(r);
	head->peak_ns = reader_u64le(r);
	head->reallocations = reader_u64le(r);
	if (reader_error(r) || memcmp(magic, MAGIC, 8) != 0 ||
	    check != XXH3_64bits(r->data + 16, r->length - 16) ||
	    memcmp(id, recording_id(recording)->bytes, STREAM_ID_SIZE) != 0 ||
	    rows != recording_rows(recording) || of_state != state)
		return -EBADMSG;
	if (head->parts & ~(unsigned)PARTS_KNOWN || head->sampled > head->nodes ||
	    (uint64_t)head->nodes * NODE_BYTES + (uint64_t)head->sampled * SAMPLED_BYTES !=
		    reader_left(r))
		return -EBADMSG;
	return 0;
}

static void whole_sums_file_read_count(struct reader *r, struct node_count *count)
{
	count->blocks = reader_u64le(r);
	count->bytes = reader_u64le(r);
}

static int read_node(struct reader *r, struct whole_sums *whole, uint32_t i)
{
	struct node_sums *sums = &whole->sums;
	struct node_sum *sum = &sums->list[i];

	*sum = (struct node_sum){.node = reader_u32le(r), .sampled = reader_u32le(r)};
	sum->min_size = reader_u64le(r);
	sum->max_size = reader_u64le(r);
	sum->first_ns = reader_u64le(r);
	sum->last_ns = reader_u64le(r);
	for (unsigned e = 0; e < NODE_ENDS; e++)
		whole_sums_file_read_count(r, &sum->by_end[e]);
	whole_sums_file_read_count(r, &sum->alive);
	whole->group_peaks[i] = reader_u64le(r);
	if (sum->node > sums->nodes || sums->by_node[sum->node] ||
	    sum->sampled > sums->sampled_count)
		return -EBADMSG;
	sums->by_node[sum->node] = i + 1;
	return 0;
}

/* Reads a finite number that is not negative. */
static double read_double(struct reader *r)
{
	uint64_t bits = reader_u64le(r);
	double value;

	memcpy(&value, &bits, sizeof(value));
	if (!isfinite(value) || value < 0)
		r->error = -EBADMSG;
	return value;
}

static void read_tally(struct reader *r, struct tally *tally)
{
	tally->blocks = reader_u64le(r);
	tally->bytes = reader_u64le(r);
	tally->samples = reader_u64le(r);
	tally->sampled_blocks = read_double(r);
	tally->sampled_bytes = read_double(r);
	tally->blocks_variance = read_double(r);
	tally->bytes_variance = read_double(r);
}

static int read_sums(struct reader *r, struct whole_sums *whole)
{
	struct node_sums *sums = &whole->sums;
	int e = 0;

	for (uint32_t i = 0; !e && i < sums->count; i++)
		e = read_node(r, whole, i);
	for (uint32_t i = 0; !e && i < sums->sampled_count; i++) {
		for (unsigned end = 0; end < NODE_ENDS; end++)
			read_tally(r, &sums->sampled[i].by_end[end]);
		read_tally(r, &sums->sampled[i].alive);
	}
	return e ? e : reader_error(r);
}

/* Reserves the room that the head asks for. The length of the data has been checked against it. */
static int whole_sums_file_make_room(struct whole_sums *whole, const struct head *head,
				     uint32_t nodes)
{
	struct node_sums *sums = &whole->sums;
	int r = node_sums_init(sums, nodes, &(struct node_sums_what){.ends = true});

	if (!r)
		r = node_sums_reserve(sums, head->nodes, head->sampled);
	whole->group_peaks = calloc((size_t)head->nodes + 1, sizeof(*whole->group_peaks));
	return r ? r : whole->group_peaks ? 0 : -ENOMEM;
}

int whole_sums_read(const uint8_t *data, size_t length, const struct recording *recording,
		    uint64_t state, struct whole_sums **ret_whole)
{
	cleanup(cleanup_whole_sums_free) struct whole_sums *whole = calloc(1, sizeof(*whole));
	struct reader reader = reader_of(data, length);
	struct head head;
	int r = whole ? whole_sums_file_read_head(&reader, recording, state, &head) : -ENOMEM;

	if (!r)
		r = whole_sums_file_make_room(whole, &head, recording_nodes(recording));
	if (!r)
		r = read_sums(&reader, whole);
	if (r < 0)
		return r;
	whole->parts = head.parts;
	whole->peak_ns = head.peak_ns;
	whole->sums.reallocations = head.reallocations;
	if (!(head.parts & WHOLE_GROUP_PEAKS))
		free(take_ptr(whole->group_peaks));
	*ret_whole = take_ptr(whole);
	return 0;
}
