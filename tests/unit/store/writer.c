/*
 * The writer of a stream: which batches it takes, compared with a few naive lines over random ones;
 * what is left of a recording that was abandoned or removed; and what is derived meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/catalogue.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "proto/message.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/locks.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

static const struct stream_id id = {{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}};
static struct store *store;
static struct stream_writer *writer;
static struct builder b;
static char *path, *folder;
static unsigned opened;

static void open_writer(void)
{
	uint64_t cut = 99;

	assert_int_equal(stream_writer_open(store, &id, &writer, &cut, NULL), 0);
	assert_int_equal(cut, 0);
}

static int begin(void **state)
{
	char data[128];

	if (temporary_setup(state) < 0)
		return -1;
	opened = descriptors_open();
	snprintf(data, sizeof(data), "%s/store", temporary_folder);
	assert_int_equal(store_open(data, STORE_WRITE, &store, NULL), 0);
	path = stream_recording_path(store, &id);
	folder = stream_folder_path(store, &id);
	builder_init(&b, 7);
	for (uint64_t i = 1; i <= 4; i++) {
		for (uint64_t k = 0; k < 10; k++)
			builder_malloc(&b, 100 * i + k, 1, 0x1000 * i + 0x20 * k, i + k);
		builder_close(&b, 100 * i + 50);
	}
	builder_end(&b, 0);
	first_descriptor_free();
	open_writer();
	return 0;
}

static int end(void **state)
{
	stream_writer_close(writer);
	first_descriptor_take();
	store_close(store);
	free(path);
	free(folder);
	builder_done(&b);
	if (descriptors_open() != opened)
		return -1;
	return temporary_teardown(state);
}

/* ---- order ---- */

static uint32_t chance(uint32_t below)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % below;
}

struct model {
	uint32_t incarnation;
	uint64_t next, announced, bytes, events, last_ns;
	bool ended;
};

/* What README.md says of numbers. */
static int model_take(struct model *m, const Heapcast__Batch *x)
{
	bool of_now = x->incarnation == m->incarnation, later = x->incarnation > m->incarnation;
	bool again = x->number && !later && (!of_now || x->number < m->next);
	uint64_t wanted = of_now ? m->next : 1;

	if (m->ended && (later || (of_now && (x->catch_up || x->number >= m->next))))
		return -EBADMSG;
	if ((of_now || later) && x->number > wanted && x->number != m->announced)
		return -EBADMSG;
	if (!x->incarnation || !x->number == !x->catch_up)
		return -EBADMSG;
	if (again)
		return 1;
	if (x->catch_up)
		m->announced = x->next;
	else
		*m = (struct model){x->incarnation, x->number + 1, m->announced, m->bytes,
				    m->events,	    m->last_ns,	   m->ended};
	m->ended |= x->end != NULL;
	return 0;
}

static void any_order(void **state)
{
	struct model m = {0};
	uint8_t frame[64] = {1};
	unsigned taken = 0;

	(void)state;
	for (unsigned i = 0; i < 6000; i++) {
		Heapcast__Batch x = HEAPCAST__BATCH__INIT;
		Heapcast__End last = HEAPCAST__END__INIT;
		size_t length = chance(sizeof(frame));
		struct err_text err = {0};
		int r, expected;

		x.stream = builder_bytes(id.bytes, sizeof(id.bytes));
		x.incarnation = m.incarnation + 1 - chance(chance(20) ? 2 : 3);
		x.number = m.next + 2 - chance(4);
		x.catch_up = !chance(4);
		if (chance(10) && x.catch_up)
			x.number = 0;
		x.next = m.next + chance(4);
		if (i > 5000 && !chance(20))
			x.end = &last;
		expected = model_take(&m, &x);
		r = stream_writer_append(writer, frame, length, &x, &err);
		if (r != expected)
			fail_msg("%u: batch %u.%llu: %d, not %d: %s", i, x.incarnation,
				 (unsigned long long)x.number, r, expected, err.text);
		assert_true(r >= 0 || err.text[0]);
		if (!r) {
			m.bytes += length;
			taken++;
		}
		assert_int_equal(stream_writer_position(writer).incarnation, m.incarnation);
		assert_int_equal(stream_writer_position(writer).next, m.next);
		assert_int_equal(stream_writer_bytes(writer), m.bytes);
	}
	assert_true(taken > 1000 && m.ended && m.incarnation > 3);
}

/* ---- recordings ---- */

static int append(size_t i, struct err_text *err)
{
	size_t start = i ? b.ends[i - 1] : 0, length = b.ends[i] - start;
	struct message_reader *reader = message_reader_new();
	ProtobufCMessage *message;
	int r;

	assert_int_equal(message_reader_open(reader, &heapcast__batch__descriptor,
					     b.file.data + start, length, &message, NULL),
			 0);
	r = stream_writer_append(writer, b.file.data + start, length,
				 (const Heapcast__Batch *)message, err);
	message_reader_free(reader);
	return r;
}

static void append_until(size_t end)
{
	for (size_t i = 0; i < end; i++)
		assert_true(append(i, NULL) >= 0);
}

static void sync_until(uint64_t next)
{
	struct stream_position durable = {99, 99};

	assert_int_equal(stream_writer_sync(writer, &durable, NULL), 0);
	assert_int_equal(durable.next, next);
	assert_int_equal(durable.incarnation, next != 0);
}

static off_t size_of_file(void)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

/* The numbers in the row of the catalogue. */
static bool row(struct totals *ret_totals)
{
	struct totals totals;

	if (catalogue_get(store->catalogue, &id, &totals) != 1)
		return false;
	*ret_totals = totals;
	totals_done(&totals);
	return true;
}

static void sentences(void **state)
{
	struct err_text err = {0};

	(void)state;
	assert_int_equal(append(1, &err), -EBADMSG);
	assert_string_equal(err.text, "batch 2 came, but 1 was expected");
	append_until(5);
	b.number = 7;
	builder_close(&b, 1000);
	assert_int_equal(append(5, &err), -EBADMSG);
	assert_string_equal(err.text, "batch 8 came behind the end of its stream");
}

static void nothing_is_written_yet(void **state)
{
	struct totals totals;

	(void)state;
	sync_until(0);
	assert_int_equal(stream_writer_derive(writer, NULL), 0);
	assert_int_equal(stream_writer_sum_up(writer, NULL), 0);
	assert_int_equal(stream_writer_park(writer, NULL), 0);
	assert_int_equal(stream_writer_memory(writer), 0);
	assert_int_equal(stream_writer_behind(writer), 0);
	assert_false(row(&totals));
	assert_int_equal(access(folder, F_OK), -1);
}

static void files_are_private(void **state)
{
	struct stat st;

	(void)state;
	append_until(1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void figures(void **state)
{
	struct totals totals;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		append_until(i + 1);
		assert_int_equal(stream_writer_bytes(writer), b.ends[i]);
		assert_int_equal(stream_writer_events(writer), i < 4 ? 10 * (i + 1) : 40);
		assert_int_equal(size_of_file(), b.ends[i]);
		/* What is not durable is not derived. */
		assert_int_equal(stream_writer_behind(writer), 0);
		sync_until(i + 2);
		assert_int_equal(stream_writer_behind(writer), b.ends[i] - (i ? b.ends[i - 1] : 0));
		assert_int_equal(stream_writer_derive(writer, NULL), 0);
		assert_int_equal(stream_writer_behind(writer), 0);
		assert_true(stream_writer_memory(writer) > 0);
		assert_true(row(&totals));
		assert_int_equal(totals.bytes, b.ends[i]);
		assert_int_equal(totals.summed_bytes, i ? b.ends[i - 1] : 0);
		assert_int_equal(totals.summed_up, i > 0);
		assert_int_equal(stream_writer_sum_up(writer, NULL), 0);
		if (i == 2)
			assert_int_equal(stream_writer_park(writer, NULL), 0);
	}
	assert_int_equal(stream_writer_finish(writer, NULL), 0);
	assert_int_equal(stream_writer_memory(writer), 0);
	assert_true(row(&totals));
	assert_int_equal(totals.in_use_blocks, 40);
	assert_int_equal(totals.in_use_bytes, 10 * (1 + 2 + 3 + 4) + 4 * 45);
	assert_int_equal(totals.summed_bytes, b.ends[4]);
	assert_true(totals.ended);
}

static void what_is_not_durable_is_cut_off(void **state)
{
	(void)state;
	append_until(2);
	sync_until(3);
	append_until(4);
	assert_int_equal(size_of_file(), b.ends[3]);
	stream_writer_abandon(writer);
	assert_int_equal(size_of_file(), b.ends[1]);
	open_writer();
	assert_int_equal(stream_writer_position(writer).next, 3);
	assert_int_equal(stream_writer_bytes(writer), b.ends[1]);
	assert_int_equal(stream_writer_events(writer), 20);
	append_until(4);
	stream_writer_close(writer); /* that was no failure */
	assert_int_equal(size_of_file(), b.ends[3]);
	open_writer();
	assert_int_equal(stream_writer_position(writer).next, 5);
	stream_writer_abandon(writer); /* all was there when it was opened */
	assert_int_equal(size_of_file(), b.ends[3]);
	stream_writer_abandon(NULL);
	stream_writer_close(NULL);
	writer = NULL;
}

static void one_writer(void **state)
{
	struct stream_writer *second = NULL;
	struct err_text err = {0};
	char expected[256];
	uint64_t cut = 3;

	(void)state;
	append_until(1);
	assert_int_equal(stream_writer_open(store, &id, &second, &cut, &err), -EBUSY);
	snprintf(expected, sizeof(expected), "%s is being written by somebody else", path);
	assert_string_equal(err.text, expected);
	assert_null(second);
	assert_int_equal(cut, 3);
}

/* Removed, or another one in its place. */
static void it_was_removed(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		struct stream_position durable = {99, 99};
		struct err_text err = {0};
		char expected[256], other[256];

		append_until(1);
		sync_until(2);
		assert_int_equal(append(1, NULL), 0);
		snprintf(other, sizeof(other), "%s.other", how == 1 ? folder : path);
		if (how == 0)
			assert_int_equal(unlink(path), 0);
		else
			assert_int_equal(rename(how == 1 ? folder : path, other), 0);
		if (how == 2)
			close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		assert_int_equal(stream_writer_sync(writer, &durable, &err), -ESTALE);
		snprintf(expected, sizeof(expected),
			 "%s was removed while it was being written, and what it held is gone",
			 path);
		assert_string_equal(err.text, expected);
		assert_int_equal(durable.next, 99);
		stream_writer_abandon(writer);
		if (how == 1)
			assert_int_equal(rename(other, folder), 0);
		if (how == 2) /* that other one stays */
			assert_int_equal(size_of_file(), 0);
		unlink(path);
		open_writer();
	}
}

/* The disk refuses rows: the recording goes on, and its sums are worked out without them. */
static void no_rows(void **state)
{
	char columns[256];
	struct err_text err = {0};
	struct totals totals;
	struct stat st;

	(void)state;
	append_until(5);
	sync_until(6);
	snprintf(columns, sizeof(columns), "%s/columns", folder);
	close(open(columns, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_true(stream_writer_derive(writer, &err) < 0);
	assert_true(err.text[0]);
	assert_int_equal(stream_writer_derive(writer, NULL), 0);
	assert_int_equal(stream_writer_behind(writer), 0);
	assert_int_equal(stream_writer_memory(writer), 0);
	assert_int_equal(stream_writer_finish(writer, NULL), 0);
	assert_true(row(&totals));
	assert_int_equal(totals.in_use_blocks, 40);
	assert_int_equal(stat(columns, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

/* What was kept of rows and does not fit is told once. */
static void news(void **state)
{
	struct err_text told = {0};
	char rows[256], expected[512];
	FILE *file;

	(void)state;
	append_until(3);
	sync_until(4);
	assert_int_equal(stream_writer_derive(writer, NULL), 0);
	assert_false(stream_writer_take_news(writer, &told));
	assert_int_equal(stream_writer_park(writer, NULL), 0);
	stream_writer_close(writer);
	snprintf(rows, sizeof(rows), "%s/columns/rows.1", folder);
	file = fopen(rows, "a");
	assert_true(file && fputs("17 bytes too many", file) >= 0);
	fclose(file);
	open_writer();
	append_until(4);
	sync_until(5);
	assert_int_equal(stream_writer_derive(writer, NULL), 0);
	assert_true(stream_writer_take_news(writer, &told));
	snprintf(expected, sizeof(expected),
		 "cut 17 bytes off the rows of %s that were written after its last state, which "
		 "covers 30 events; they are derived again from %llu bytes of frames",
		 path, (unsigned long long)(b.ends[3] - b.ends[2]));
	assert_string_equal(told.text, expected);
	assert_false(stream_writer_take_news(writer, &told));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(any_order),
		TEST(sentences),
		TEST(nothing_is_written_yet),
		TEST(files_are_private),
		TEST(figures),
		TEST(what_is_not_durable_is_cut_off),
		TEST(one_writer),
		TEST(it_was_removed),
		TEST(no_rows),
		TEST(news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
