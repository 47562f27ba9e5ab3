/*
 * Files that a recording brings along, piece by piece: which pieces make a whole, which sentence
 * each one gets that does not fit, and what is read behind a file that is spoilt.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/crc32.h"
#include "base/error.h"
#include "collector/rewrite/brought.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/store/builder.h"

#define WHOLE (2 * BROUGHT_PIECE_MAX + 5)

static uint8_t content[WHOLE + 16];

static int fill(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7 ^ i >> 8);
	return 0;
}

static Heapcast__FilePiece piece_at(uint64_t offset, size_t length)
{
	static const char id[32] = "12345678901234567890123456789012";
	Heapcast__FilePiece p = HEAPCAST__FILE_PIECE__INIT;

	p.build_id = builder_bytes(id, sizeof(id));
	p.total = WHOLE;
	p.identity = 9;
	p.offset = offset;
	p.data = builder_bytes(content + offset, length);
	p.crc = crc32_add(0, content, offset + length);
	return p;
}

/* ---- pieces ---- */

static void a_whole_file(void **state)
{
	struct brought_pieces pieces = {0};
	Heapcast__FilePiece p;

	(void)state;
	p = piece_at(0, BROUGHT_PIECE_MAX);
	assert_int_equal(brought_pieces_take(&pieces, &p, NULL), 0);
	assert_int_equal(pieces.received, BROUGHT_PIECE_MAX);
	assert_int_equal(pieces.file.size, WHOLE);
	assert_int_equal(pieces.file.build_id_length, 32);
	assert_memory_equal(pieces.file.build_id, p.build_id.data, 32);
	p = piece_at(BROUGHT_PIECE_MAX, 1);
	assert_int_equal(brought_pieces_take(&pieces, &p, NULL), 0);
	p = piece_at(BROUGHT_PIECE_MAX + 1, BROUGHT_PIECE_MAX);
	assert_int_equal(brought_pieces_take(&pieces, &p, NULL), 0);
	p = piece_at(2 * BROUGHT_PIECE_MAX + 1, 4);
	assert_int_equal(brought_pieces_take(&pieces, &p, NULL), 1);
	assert_int_equal(pieces.received, WHOLE);
}

static void the_largest_file(void **state)
{
	struct brought_pieces pieces = {0};
	struct err_text err = {0};
	Heapcast__FilePiece p = piece_at(0, 1);

	(void)state;
	p.build_id.len = 1;
	p.total = BROUGHT_FILE_MAX;
	assert_int_equal(brought_pieces_take(&pieces, &p, NULL), 0);
	assert_true(pieces.file.size == BROUGHT_FILE_MAX && pieces.file.build_id_length == 1);
	pieces = (struct brought_pieces){0};
	p.total++;
	assert_int_equal(brought_pieces_take(&pieces, &p, &err), -EBADMSG);
	assert_string_equal(err.text, "it has more than 512 MiB, as it says");
	p = piece_at(0, 1);
	p.total = 1;
	assert_int_equal(brought_pieces_take(&pieces, &p, NULL), 1);
}

/* A first piece that fits none. */
static void spoil_first(unsigned i, Heapcast__FilePiece *p)
{
	static uint8_t long_id[33];

	switch (i) {
	case 0:
		p->build_id.len = 0;
		break;
	case 1:
		p->build_id = builder_bytes(long_id, sizeof(long_id));
		break;
	case 2:
		*p = piece_at(1, 1);
		break;
	case 3:
		p->data.len = 0;
		break;
	case 4:
		*p = piece_at(0, BROUGHT_PIECE_MAX + 1);
		break;
	case 5:
		p->identity = 0;
		break;
	case 6:
		p->total = 0;
		break;
	case 7:
		p->refusal = HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_CHANGED;
		break;
	case 8:
		p->total = 9;
		break;
	case 9:
		p->crc++;
		break;
	}
}

static void no_first_piece(void **state)
{
	static const char *const why[] = {
		"a build id has 1 to 32 bytes, this one has 0",
		"a build id has 1 to 32 bytes, this one has 33",
		"its beginning is missing",
		"a piece of it makes no sense",
		"a piece of it makes no sense",
		"a piece of it makes no sense",
		"a piece of it makes no sense",
		"it was changed while the recording was packed",
		"more of it came than the 9 bytes that it has",
		"a checksum is wrong, of its first 10 bytes",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		struct brought_pieces pieces = {0};
		struct err_text err = {0};
		Heapcast__FilePiece p = piece_at(0, 10);

		spoil_first(i, &p);
		assert_int_equal(brought_pieces_take(&pieces, &p, &err), -EBADMSG);
		assert_string_equal(err.text, why[i]);
		assert_int_equal(pieces.received, 0);
	}
}

static void spoil_next(unsigned i, Heapcast__FilePiece *p)
{
	static const char other[32] = "12345678901234567890123456789013";

	switch (i) {
	case 0:
		p->build_id.len--;
		break;
	case 1:
		p->build_id = builder_bytes(other, sizeof(other));
		break;
	case 2:
		p->identity++;
		break;
	case 3:
		p->total++;
		break;
	case 4:
		*p = piece_at(21, 10);
		break;
	case 5:
		*p = piece_at(19, 10);
		break;
	case 6:
		p->crc ^= 1;
		break;
	case 7:
		p->refusal = HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_GONE;
		break;
	}
}

static void no_next_piece(void **state)
{
	static const char *const why[] = {
		"pieces of it do not fit together",
		"pieces of it do not fit together",
		"pieces of it do not fit together",
		"it has 32773 bytes, and then 32774, as it says",
		"what follows byte 20 of it is missing",
		"what follows byte 20 of it is missing",
		"a checksum is wrong, of its first 30 bytes",
		"it was changed while the recording was packed",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		struct brought_pieces pieces = {0};
		struct err_text err = {0};
		Heapcast__FilePiece p = piece_at(0, 20);

		assert_int_equal(brought_pieces_take(&pieces, &p, NULL), 0);
		p = piece_at(20, 10);
		spoil_next(i, &p);
		assert_int_equal(brought_pieces_take(&pieces, &p, &err), -EBADMSG);
		assert_string_equal(err.text, why[i]);
		assert_int_equal(pieces.received, 20);
	}
}

/* ---- batches ---- */

static void batches_with_pieces(void **state)
{
	uint8_t id[STREAM_ID_SIZE] = {1};
	Heapcast__FilePiece p = piece_at(0, 10);
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Mark mark = HEAPCAST__MARK__INIT, *marks[] = {&mark};
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	(void)state;
	batch.stream = builder_bytes(id, sizeof(id));
	batch.incarnation = 3;
	batch.time_ns = 4;
	batch.wall_ns = 5;
	batch.watermark_ns = 6;
	batch.catch_up = true;
	batch.next = 7;
	assert_null(brought_piece(&batch));
	assert_false(brought_only(&batch));
	batch.link = &link;
	assert_null(brought_piece(&batch));
	link.file = &p;
	assert_ptr_equal(brought_piece(&batch), &p);
	assert_true(brought_only(&batch));
	batch.stream.len--; /* a piece on a connection */
	assert_null(brought_piece(&batch));
	assert_false(brought_only(&batch));
	batch.stream.len++;
	batch.mark = marks;
	batch.n_mark = 1;
	assert_false(brought_only(&batch));
	assert_ptr_equal(brought_piece(&batch), &p);
	batch.n_mark = 0;
	batch.catch_up = false;
	batch.number = 8;
	assert_false(brought_only(&batch));
}

/* ---- a recording ---- */

static struct builder b;
static char *path;

/* A batch of this stream with this piece. */
static void put(uint8_t stream, const Heapcast__FilePiece *p)
{
	uint8_t id[STREAM_ID_SIZE];
	Heapcast__FilePiece piece = *p;
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	memset(id, stream, sizeof(id));
	batch.stream = builder_bytes(id, sizeof(id));
	batch.incarnation = 1;
	batch.catch_up = true;
	batch.next = 1;
	link.file = &piece;
	batch.link = &link;
	builder_frame(&b, &batch);
}

static void put_file(const char *id, size_t from, size_t to, size_t total)
{
	static const size_t cuts[] = {0, 10, 11, WHOLE};

	for (size_t i = 0; i + 1 < sizeof(cuts) / sizeof(cuts[0]); i++) {
		size_t end = cuts[i + 1] < total ? cuts[i + 1] : total;
		Heapcast__FilePiece p = piece_at(cuts[i], end - cuts[i]);

		p.build_id = builder_bytes(id, strlen(id));
		p.total = total;
		if (cuts[i] >= from && cuts[i] < to)
			put(1, &p);
	}
}

/* Of seven files, the first lacks its middle, the third its beginning, and three their ends; there
 * are pieces of another stream, and one that says that a file changed. */
static int build(void **state)
{
	Heapcast__FilePiece p = piece_at(0, 20), changed = piece_at(0, 1);

	fill(state);
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_close(&b, 20);
	put_file("one", 0, 1, 30);
	put_file("one", 11, 12, 30);
	put_file("one", 11, 12, 30);
	put(2, &p);
	put_file("two", 0, 11, 30);
	put_file("three", 10, 12, 30);
	put_file("four", 0, 12, 30);
	changed.data.len = 0;
	changed.refusal = HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_CHANGED;
	put(1, &changed);
	put_file("five", 0, 1, 30);
	put_file("six", 0, 12, 30);
	put_file("seven", 0, 11, 25);
	path = builder_save(&b, b.file.length);
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

static void expect_file(struct brought *brought, const char *id, size_t size, const char *why)
{
	char got[64];
	struct brought_file file;
	struct err_text err = {0};
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_int_equal(brought_next(brought, &file, &err), 1);
	assert_int_equal(file.size, size);
	assert_int_equal(file.build_id_length, strlen(id));
	assert_memory_equal(file.build_id, id, strlen(id));
	assert_int_equal(brought_read(brought, fd, &err), why ? -EBADMSG : 0);
	if (why) {
		assert_string_equal(err.text, why);
	} else {
		assert_int_equal(pread(fd, got, sizeof(got), 0), (ssize_t)size);
		assert_memory_equal(got, content, size);
	}
	close(fd);
}

static void files_of_a_recording(void **state)
{
	struct brought brought;
	struct brought_file file;
	int other;

	(void)state;
	assert_int_equal(brought_open(&brought, path, NULL), 0);
	assert_int_equal(brought.size, b.file.length);
	expect_file(&brought, "one", 30, "what follows byte 10 of it is missing");
	/* The rest of it is no file; nor is what is of another stream. */
	expect_file(&brought, "two", 30, "pieces of it do not fit together");
	expect_file(&brought, "three", 30, "its beginning is missing");
	expect_file(&brought, "four", 30, NULL);
	expect_file(&brought, "five", 30, "only 10 of its 30 bytes are there");
	expect_file(&brought, "six", 30, NULL);
	expect_file(&brought, "seven", 25, "only 11 of its 25 bytes are there");
	assert_int_equal(brought_next(&brought, &file, NULL), 0);
	other = brought.fd;
	brought_close(&brought);
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), other);
	brought_close(&brought); /* it has nothing any more */
	assert_int_equal(close(other), 0);
}

/* Nowhere is a place, too; and 0 is a descriptor as any other. */
static void files_are_checked_only(void **state)
{
	struct brought brought;
	struct brought_file file;
	unsigned whole = 0, count = 0;

	(void)state;
	first_descriptor_free();
	assert_int_equal(brought_open(&brought, path, NULL), 0);
	assert_int_equal(brought.fd, 0);
	while (brought_next(&brought, &file, NULL) == 1) {
		whole += brought_read(&brought, -1, NULL) == 0;
		count++;
	}
	assert_int_equal(whole, 2);
	assert_int_equal(count, 7);
	brought_close(&brought);
	assert_true(fcntl(0, F_GETFD) < 0);
	first_descriptor_take();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_whole_file, fill),
		cmocka_unit_test_setup(the_largest_file, fill),
		cmocka_unit_test_setup(no_first_piece, fill),
		cmocka_unit_test_setup(no_next_piece, fill),
		cmocka_unit_test(batches_with_pieces),
		cmocka_unit_test_setup_teardown(files_of_a_recording, build, leave),
		cmocka_unit_test_setup_teardown(files_are_checked_only, build, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
