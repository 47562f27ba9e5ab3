/* Walking the frames of a file: whole ones, cut off at each byte, damaged in each place, behind
 * rubbish, and longer than what is read at once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "collector/recording/scan.h"
#include "tests/unit/store/builder.h"

#define FRAMES	  4
#define READ_SIZE (1u << 20) /* at once */

static struct builder b;
static int fd = -1;
static struct scan scan;
static struct err_text damage;

/* Each frame holds a batch with its number, and so many bytes that can't be packed. */
static void add_frame(uint64_t number, size_t size)
{
	Heapcast__Batch batch;
	Heapcast__Process process;
	uint8_t *bytes = malloc(size + 1);
	uint64_t random = number;

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (uint8_t)(random >> 56);
	}
	heapcast__batch__init(&batch);
	heapcast__process__init(&process);
	batch.number = number;
	process.executable = builder_bytes(bytes, size);
	batch.process = &process;
	builder_frame(&b, &batch);
	free(bytes);
}

static void write_file(const void *data, size_t length)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, data, length, 0), length);
}

static void begin_scan(void)
{
	scan_done(&scan);
	damage = (struct err_text){0};
	assert_int_equal(scan_init(&scan, fd, 0, &damage), 0);
}

static int begin(void **state)
{
	(void)state;
	builder_done(&b);
	builder_init(&b, 1);
	for (unsigned i = 1; i <= FRAMES; i++)
		add_frame(i, 40);
	if (fd < 0)
		fd = memfd_create("scan", MFD_CLOEXEC);
	assert_true(fd >= 0);
	write_file(b.file.data, b.file.length);
	begin_scan();
	return 0;
}

static int end(void **state)
{
	(void)state;
	scan_done(&scan);
	builder_done(&b);
	close(fd);
	return 0;
}

static size_t end_of(unsigned frame)
{
	return frame ? b.ends[frame - 1] : 0;
}

static void expect_frame(uint64_t size, unsigned frame, uint64_t offset)
{
	struct scan_item item;

	assert_int_equal(scan_next(&scan, size, &item), 1);
	assert_int_equal(item.batch->number, frame);
	assert_int_equal(item.offset, offset);
	assert_int_equal(item.length, end_of(frame) - end_of(frame - 1));
	assert_int_equal(scan.offset, offset + item.length);
}

static void expect_no_more(uint64_t size, int tail)
{
	struct scan_item item;

	assert_int_equal(scan_next(&scan, size, &item), 0);
	assert_int_equal(scan_tail(&scan, size), tail);
}

static void expect_damage(uint64_t places, uint64_t bytes, uint64_t first)
{
	assert_int_equal(scan.damaged_places, places);
	assert_int_equal(scan.skipped_bytes, bytes);
	assert_int_equal(scan.first_damage, first);
}

/* A file that is cut off, or still grows. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t size = 0; size <= b.file.length; size++) {
		unsigned frame = 1;

		begin_scan();
		while (end_of(frame) <= size && frame <= FRAMES) {
			expect_frame(size, frame, end_of(frame - 1));
			frame++;
		}
		expect_no_more(size, 0);
		expect_damage(0, 0, UINT64_MAX);
		assert_int_equal(scan.offset, end_of(frame - 1));
		while (frame <= FRAMES) { /* the rest arrives */
			expect_frame(b.file.length, frame, end_of(frame - 1));
			frame++;
		}
		expect_no_more(b.file.length, 0);
	}
	/* it is shorter than it was said to be */
	begin_scan();
	expect_frame(b.file.length + 100, 1, 0);
	assert_int_equal(ftruncate(fd, (off_t)end_of(1) + 10), 0);
	scan_return(&scan, &(struct scan_place){.offset = end_of(1), .first_damage = UINT64_MAX});
	buf_clear(&scan.window);
	expect_no_more(b.file.length, 0);
}

/* From somewhere behind the begin. */
static void test_from(void **state)
{
	(void)state;
	scan_done(&scan);
	assert_int_equal(scan_init(&scan, fd, end_of(2), NULL), 0);
	expect_frame(b.file.length, 3, end_of(2));
	expect_frame(b.file.length, 4, end_of(3));
	expect_no_more(b.file.length, 0);
	assert_int_equal(scan.resync_spent, 2 * 64);
}

/* What was read once is not read again, from wherever in it. */
static void test_read_once(void **state)
{
	(void)state;
	expect_frame(b.file.length, 1, 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	for (unsigned again = 0; again < 2; again++) {
		for (unsigned i = 2 - again; i <= FRAMES; i++)
			expect_frame(b.file.length, i, end_of(i - 1));
		scan.offset = 0;
	}
}

/* So long that what is read at once ends with the 64 bytes that are looked at first, or near. */
static void test_read_ends(void **state)
{
	size_t more = 0;

	(void)state;
	for (unsigned left = 62; left <= 66; left++) {
		for (unsigned round = 0; round < 2; round++) {
			builder_done(&b);
			builder_init(&b, 1);
			add_frame(1, READ_SIZE - 1000 + more);
			more = round ? 0 : READ_SIZE - left - b.file.length;
		}
		assert_int_equal(b.file.length, READ_SIZE - left);
		add_frame(2, 40);
		add_frame(3, 40);
		write_file(b.file.data, b.file.length);
		begin_scan();
		for (unsigned i = 1; i <= 3; i++)
			expect_frame(b.file.length, i, end_of(i - 1));
	}
}

/* Whichever byte is wrong, only its frame is lost. */
static void test_damaged(void **state)
{
	(void)state;
	for (size_t at = end_of(1); at < end_of(2); at++) {
		b.file.data[at] ^= 0x55;
		write_file(b.file.data, b.file.length);
		b.file.data[at] ^= 0x55;
		begin_scan();
		expect_frame(b.file.length, 1, 0);
		expect_frame(b.file.length, 3, end_of(2));
		expect_damage(1, end_of(2) - end_of(1), end_of(1));
		if (at + 1 == end_of(2)) /* of its checksum */
			assert_true(damage.text[0]);
		expect_frame(b.file.length, 4, end_of(3));
		expect_no_more(b.file.length, 0);
	}
}

/* The same in the last frame: nothing follows that says how long the damage is. */
static void test_damaged_tail(void **state)
{
	(void)state;
	b.file.data[end_of(3)] ^= 0x55; /* its magic */
	write_file(b.file.data, b.file.length);
	begin_scan();
	for (unsigned i = 1; i <= 3; i++)
		expect_frame(b.file.length, i, end_of(i - 1));
	assert_int_equal(damage.text[0], 0);
	expect_no_more(b.file.length, 1);
	assert_int_equal(scan.offset, end_of(3));
	expect_damage(0, 0, UINT64_MAX);
	assert_true(damage.text[0]);
	b.file.data[end_of(3)] ^= 0x55;
	b.file.data[end_of(4) - 1] ^= 0x55; /* its checksum */
	write_file(b.file.data, b.file.length);
	begin_scan();
	for (unsigned i = 1; i <= 3; i++)
		expect_frame(b.file.length, i, end_of(i - 1));
	expect_no_more(b.file.length, 1);
	scan_done(&scan);
	assert_int_equal(scan_init(&scan, fd, end_of(3), NULL), 0); /* nobody asks why */
	expect_no_more(b.file.length, 1);
}

/* Two places; the first one's reason is kept, and a batch that is refused counts as one, too. */
static void test_places(void **state)
{
	const struct err_text refused = {.text = "refused"};
	struct scan_place before, after;
	struct scan_item item;

	(void)state;
	b.file.data[end_of(1) - 1] ^= 0x55;
	b.file.data[end_of(3) - 1] ^= 0x55;
	write_file(b.file.data, b.file.length);
	scan_tell(&scan, &before);
	assert_int_equal(scan_next(&scan, b.file.length, &item), 1);
	assert_int_equal(item.batch->number, 2);
	expect_damage(1, end_of(1), 0);
	scan_reject(&scan, &item, &refused);
	expect_damage(2, end_of(2), 0);
	assert_string_not_equal(damage.text, "refused");
	expect_frame(b.file.length, 4, end_of(3));
	expect_damage(3, end_of(3), 0);
	scan_tell(&scan, &after);
	assert_int_equal(after.offset, b.file.length);
	assert_int_equal(after.resync_spent, scan.resync_spent);
	assert_true(after.resync_spent > 0);
	assert_int_equal(after.skipped_bytes, end_of(3));
	assert_int_equal(after.damaged_places, 3);
	assert_int_equal(after.first_damage, 0);
	assert_string_equal(after.reason.text, damage.text);
	scan_return(&scan, &before);
	expect_damage(0, 0, UINT64_MAX);
	assert_int_equal(scan.offset, 0);
	assert_int_equal(scan.resync_spent, 0);
	assert_int_equal(damage.text[0], 0);
	assert_int_equal(scan_next(&scan, b.file.length, &item), 1);
	scan_return(&scan, &after);
	expect_damage(3, end_of(3), 0);
	assert_true(damage.text[0]);
	scan_return(&scan, &before);
	scan_reject(&scan, &(struct scan_item){.offset = 7, .length = 9}, &refused);
	expect_damage(1, 9, 7);
	assert_string_equal(damage.text, "refused");
	scan_reject(&scan, &(struct scan_item){.offset = 70, .length = 9}, NULL);
	expect_damage(2, 18, 7);
	scan_return(&scan, &before);
	scan_reject(&scan, &(struct scan_item){.offset = 70, .length = 9}, NULL);
	expect_damage(1, 9, 70);
	assert_int_equal(damage.text[0], 0);
	scan.damage = NULL;
	scan_reject(&scan, &(struct scan_item){.offset = 70, .length = 9}, &refused);
	expect_damage(2, 18, 70);
}

/* Rubbish before a frame, which ends anywhere in what is read at once, and looks like one, too. */
static void test_rubbish(void **state)
{
	static const uint8_t magic[] = {0x04, 0x22, 0x4d, 0x18};
	size_t lengths[24], count = 0;
	uint8_t *file = calloc(1, 2 * READ_SIZE + b.file.length);

	(void)state;
	assert_non_null(file);
	for (size_t i = 1; i < 9; i++)
		lengths[count++] = i;
	for (size_t i = READ_SIZE - 7; i < READ_SIZE + 6; i++)
		lengths[count++] = i;
	for (size_t i = 0; i < count; i++) {
		for (unsigned k = 0; k < 2; k++) {
			size_t length = lengths[i], size = length + b.file.length;

			memset(file, 0xcc, length);
			if (k && length > 4)
				memcpy(file + length - 5, magic, sizeof(magic));
			memcpy(file + length, b.file.data, b.file.length);
			write_file(file, size);
			begin_scan();
			expect_frame(size, 1, length);
			expect_damage(1, length, 0);
			expect_frame(size, 2, length + end_of(1));
		}
	}
	write_file(file, READ_SIZE / 2); /* nothing but rubbish */
	begin_scan();
	expect_no_more(READ_SIZE / 2, 1);
	free(file);
}

/* The search is given up when it has cost 1 GiB. */
static void test_budget(void **state)
{
	(void)state;
	b.file.data[0] ^= 0x55;
	write_file(b.file.data, b.file.length);
	scan.resync_spent = (1u << 30) - 1;
	expect_frame(b.file.length, 2, end_of(1));
	assert_true(scan.resync_spent > 1u << 30);
	begin_scan();
	scan.resync_spent = 1u << 30;
	expect_no_more(b.file.length, 1);
	assert_int_equal(scan.offset, 0);
}

/* Frames that are longer than what is read at once, or end there. */
static void test_long(void **state)
{
	uint64_t size;

	(void)state;
	builder_done(&b);
	builder_init(&b, 1);
	for (unsigned i = 1; i <= 9; i++)
		add_frame(i, i == 5 ? 3 * READ_SIZE : i * 100000);
	size = b.file.length;
	write_file(b.file.data, size);
	begin_scan();
	for (unsigned i = 1; i <= 9; i++)
		expect_frame(size, i, end_of(i - 1));
	expect_no_more(size, 0);
	assert_true(scan.resync_spent < 10 * 64); /* next to nothing */
	b.file.data[end_of(5) - 1] ^= 0x55;
	write_file(b.file.data, size);
	begin_scan();
	for (unsigned i = 1; i <= 9; i++)
		if (i != 5)
			expect_frame(size, i, end_of(i - 1));
	expect_damage(1, end_of(5) - end_of(4), end_of(4));
}

static void test_no_file(void **state)
{
	struct scan_item item;

	(void)state;
	scan_done(&scan);
	assert_int_equal(scan_init(&scan, -1, 0, NULL), 0);
	assert_int_equal(scan_next(&scan, 100, &item), -EBADF);
	assert_int_equal(scan_tail(&scan, 100), -EBADF);
	assert_int_equal(scan_next(&scan, 0, &item), 0);
	assert_int_equal(scan_tail(&scan, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cut, begin),
		cmocka_unit_test_setup(test_from, begin),
		cmocka_unit_test_setup(test_read_once, begin),
		cmocka_unit_test_setup(test_read_ends, begin),
		cmocka_unit_test_setup(test_damaged, begin),
		cmocka_unit_test_setup(test_damaged_tail, begin),
		cmocka_unit_test_setup(test_places, begin),
		cmocka_unit_test_setup(test_rubbish, begin),
		cmocka_unit_test_setup(test_budget, begin),
		cmocka_unit_test_setup(test_long, begin),
		cmocka_unit_test_setup(test_no_file, begin),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
