/*
 * A recording that a helper reads ahead is the same as one that is read by one thread alone, with
 * damage and batches that make no sense in between, which are found out when others behind them
 * were read already.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/columns.h"
#include "collector/columns/row_block.h"
#include "collector/recording/recording.h"
#include "collector/derive/recording_parts.h"
#include "tests/unit/store/builder.h"

#define BATCHES	  500
#define EVENTS	  800
#define ADDRESSES 4096
#define PLACES	  1024

static struct builder b;
static char *path;

static uint32_t pick(uint32_t below)
{
	static uint64_t seed = 11;

	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static void add_events(uint64_t from_ns)
{
	static bool live[ADDRESSES];

	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t slot = pick(ADDRESSES), thread = 1 + pick(4);
		uint64_t address = 0x7f0000001000 + 16 * (uint64_t)slot;

		if (live[slot])
			builder_free(&b, from_ns + i, thread, address);
		else
			builder_malloc(&b, from_ns + i, thread, address, pick(100000));
		live[slot] = !live[slot];
	}
}

/* Whole and sound as a frame, but of another stream. */
static void add_stranger(void)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	uint8_t id[STREAM_ID_SIZE] = {0};

	batch.stream = builder_bytes(id, sizeof(id));
	batch.incarnation = 1;
	batch.number = 1;
	builder_frame(&b, &batch);
}

static int build(void **state)
{
	(void)state;
	builder_init(&b, 3);
	for (uint32_t i = 0; i < BATCHES; i++) {
		add_events(1000000 + (uint64_t)i * 2 * EVENTS);
		builder_close(&b, 1000000 + (uint64_t)i * 2 * EVENTS);
		if (i % 170 == 100)
			add_stranger();
	}
	builder_end(&b, 0);
	/* Damage before and behind strangers. */
	b.file.data[b.ends[50] + 40] ^= 1;
	b.file.data[b.ends[105] + 40] ^= 1;
	b.file.data[b.ends[400] + 40] ^= 1;
	path = builder_save(&b, b.file.length - 5);
	assert_true(b.file.length > 4 * AHEAD_LEAST);
	return 0;
}

static int leave(void **state)
{
	(void)state;
	unlink(path);
	free(path);
	builder_done(&b);
	return 0;
}

/* ---- helpers ---- */

static struct helper helpers[PLACES];
static atomic_bool going;

static void *wait_for_end(void *unused)
{
	while (going)
		usleep(1000);
	return unused;
}

static unsigned take_all_helpers(void)
{
	unsigned n = 0;

	going = true;
	while (n < PLACES && helper_start(&helpers[n], wait_for_end, NULL))
		n++;
	return n;
}

static void give_helpers_back(unsigned n)
{
	going = false;
	while (n)
		helper_join(&helpers[--n]);
}

static void no_more_than_processors(void **state)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		unsigned n = take_all_helpers();

		give_helpers_back(n);
		assert_int_equal(n, processors < 2 ? 0 : processors > PLACES ? PLACES : processors);
	}
}

/* ---- the same ---- */

static struct recording *open_it(void)
{
	struct recording *r;

	assert_int_equal(recording_open(path, NULL, NULL, &r, NULL), 0);
	return r;
}

static void same_rows(const struct recording *x, const struct recording *y)
{
	assert_true(recording_rows(x) > ROWS_PER_BLOCK);
	assert_int_equal(recording_rows(x), recording_rows(y));
	for (uint32_t i = 0; i < recording_blocks(x); i++) {
		const struct row_block *p = recording_block(x, i), *q = recording_block(y, i);

		assert_memory_equal(p->address, q->address, p->count * sizeof(*p->address));
		assert_memory_equal(p->birth_ns, q->birth_ns, p->count * sizeof(*p->birth_ns));
		assert_memory_equal(p->death_ns, q->death_ns, p->count * sizeof(*p->death_ns));
		assert_memory_equal(p->death_thread, q->death_thread,
				    p->count * sizeof(*p->death_thread));
		assert_memory_equal(p->end, q->end, p->count);
	}
}

static void same(const struct recording *x, const struct recording *y)
{
	assert_memory_equal(recording_ledger(x), recording_ledger(y), sizeof(*recording_ledger(x)));
	assert_memory_equal(recording_pairing(x), recording_pairing(y),
			    sizeof(*recording_pairing(x)));
	assert_int_equal(x->scan.offset, y->scan.offset);
	assert_int_equal(x->scan.resync_spent, y->scan.resync_spent);
	assert_string_equal(x->damage.text, y->damage.text);
	same_rows(x, y);
}

static void ahead_or_alone(void **state)
{
	struct recording *ahead = open_it(), *alone;
	unsigned n = take_all_helpers();

	(void)state;
	alone = open_it();
	give_helpers_back(n);
	assert_int_equal(recording_ledger(ahead)->damaged_places, 6);
	assert_int_equal(recording_ledger(ahead)->first_damage, b.ends[50]);
	same(ahead, alone);
	recording_close(ahead);
	recording_close(alone);
}

/* Piece by piece, as it is received. */
static void growing(void **state)
{
	char *grown = builder_save(&b, b.ends[0]);
	struct recording *whole = open_it(), *r;
	size_t at = b.ends[0], end = b.file.length - 5;
	int fd = open(grown, O_WRONLY | O_APPEND);

	(void)state;
	assert_int_equal(recording_open(grown, NULL, NULL, &r, NULL), 0);
	while (at < end) {
		size_t n = 1 + pick(2 * AHEAD_LEAST);

		n = n > end - at ? end - at : n;
		assert_int_equal(write(fd, b.file.data + at, n), (ssize_t)n);
		at += n;
		assert_true(recording_refresh(r, NULL) >= 0);
	}
	assert_int_equal(recording_ledger(r)->damaged_places,
			 recording_ledger(whole)->damaged_places);
	assert_int_equal(recording_ledger(r)->skipped_bytes,
			 recording_ledger(whole)->skipped_bytes);
	assert_int_equal(recording_ledger(r)->stored, recording_ledger(whole)->stored);
	same_rows(r, whole);
	close(fd);
	unlink(grown);
	free(grown);
	recording_close(r);
	recording_close(whole);
}

static int give_up(void *context, uint64_t done, uint64_t of)
{
	(void)of;
	*(uint64_t *)context = done;
	return 1;
}

/* Whoever has enough does not wait for what was read ahead, nor leave it behind. */
static void cancelled(void **state)
{
	struct recording *r = NULL;
	uint64_t done = 0;

	(void)state;
	assert_int_equal(recording_open(path, give_up, &done, &r, NULL), -ECANCELED);
	assert_null(r);
	assert_true(done && done < b.file.length - 5);
	give_helpers_back(take_all_helpers());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_than_processors),
		cmocka_unit_test(ahead_or_alone),
		cmocka_unit_test(growing),
		cmocka_unit_test(cancelled),
	};

	return cmocka_run_group_tests(tests, build, leave);
}
