/*
 * The sums of all rows that are kept beside a recording (whole_sums.h), made by a stranger: the
 * input is all behind the part that names the recording, which would keep a fuzzer out as the
 * checksum would; both are put right here. What is not refused answers for each of its nodes, and
 * comes back as the same bytes.
 */
#include <string.h>
#include <xxhash.h>

#include "collector/query/sums/whole_sums.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/query/recording.h"

#define EVENTS	    300
#define STATE	    4711
#define NAMED_BYTES 48 /* magic, checksum, and what the sums are of */
#define SPARE	    60 /* offset of four bytes that mean nothing */
#define INPUT_MAX   (1u << 20)

static struct test_recording *recording(void)
{
	static struct test_recording t;

	if (!t.recording)
		test_random_recording(&t, 7, EVENTS, true);
	return &t;
}

/* The first bytes, of sums of nothing. */
static void name(struct buf *out, const struct recording *of)
{
	struct whole_sums empty = {0};

	must(!whole_sums_write(&empty, of, STATE, out));
	out->length = NAMED_BYTES;
}

static void vouch(struct buf *bytes)
{
	uint64_t check = XXH3_64bits(bytes->data + 16, bytes->length - 16);

	for (unsigned i = 0; i < 8; i++)
		bytes->data[8 + i] = (uint8_t)(check >> 8 * i);
}

static void look(const struct whole_sums *whole, const struct recording *of,
		 const struct buf *bytes)
{
	struct buf again = {0};

	for (uint32_t i = 0; i < whole->sums.count; i++)
		for (enum value v = VALUE_ALLOCATED; v <= VALUE_PEAK; v++)
			node_sum_tally(&whole->sums, &whole->sums.list[i], v);
	if (whole->group_peaks || !whole->sums.count) {
		must(!whole_sums_write(whole, of, STATE, &again));
		must(again.length == bytes->length);
		must(!memcmp(again.data + 16, bytes->data + 16, again.length - 16));
	}
	buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct test_recording *t = recording();
	struct whole_sums *whole = NULL;
	struct buf bytes = {0};

	if (size > INPUT_MAX)
		return 0;
	name(&bytes, t->recording);
	buf_append(&bytes, data, size);
	must(!buf_error(&bytes));
	if (bytes.length >= SPARE + 4)
		memset(bytes.data + SPARE, 0, 4);
	vouch(&bytes);
	if (!whole_sums_read(bytes.data, bytes.length, t->recording, STATE, &whole))
		look(whole, t->recording, &bytes);
	whole_sums_free(whole);
	buf_done(&bytes);
	return 0;
}
