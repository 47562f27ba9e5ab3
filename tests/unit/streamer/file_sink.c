/*
 * A recording on disk: the stream's frames as they are, what is left of a frame that the disk had
 * no room for, and a beginning in the middle.
 */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "agent/spool/spool_disk.h"
#include "agent/stream/file_sink.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

static struct bench b;
static struct writer writer;
static struct file_sink f;
static uint8_t out[256 << 10], all[4 << 20];
static char path[128];
static unsigned descriptors;

static void begin(void)
{
	descriptors = descriptors_open();
	memset(&f, 0x55, sizeof(f));
	bench_open(&b);
	writer = writer_claim(&b, 0, 1000);
	snprintf(path, sizeof(path), "%s/file", temporary_folder);
}

static void end(void)
{
	file_sink_close(&f);
	assert_int_equal(f.fd, -1);
	file_sink_close(&f); /* has no effect */
	bench_close(&b);
	assert_int_equal(descriptors_open(), descriptors);
}

static void make_batches(unsigned count)
{
	for (unsigned k = 0; k < count; k++) {
		uint64_t before = b.stream.spool.next;

		for (unsigned i = 0; i < 90; i++) {
			uint64_t pcs[] = {200000 + (uint64_t)random() % 1000, 300000};

			writer_event(&writer, 1, (uint64_t)random() << 4, (uint32_t)random(), now(),
				     0, 2, pcs);
		}
		usleep(100);
		b.stream.batch.opened_ns = 1; /* long ago: it is due */
		bench_drain(&b, false);
		assert_int_equal(b.stream.spool.next, before + 1);
	}
}

static int open_from(uint64_t first)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return file_sink_open(&f, fd, path, &b.stream, first, &b.packer, out, sizeof(out));
}

static size_t file_read(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n;

	assert_true(fd >= 0);
	while ((n = read(fd, all + length, sizeof(all) - length)) > 0)
		length += (size_t)n;
	close(fd);
	return length;
}

/* The file has the definitions before `first`, if that is not 1, and all batches from there to
 * `last`, and nothing else. Returns the number of frames with definitions. */
static unsigned expect_file(uint64_t first, uint64_t last)
{
	size_t length = file_read(), at = 0, size, part;
	unsigned definitions = 0;
	uint64_t next = first;

	assert_int_equal(f.good, length);
	assert_int_equal(f.bytes, length);
	while (at < length) {
		const uint8_t *message;
		Heapcast__Batch *batch;

		assert_int_equal(frame_length(all + at, length - at, &part, NULL), 1);
		assert_int_equal(frame_decode(b.decoder, all + at, part, &message, &size, NULL), 0);
		batch = heapcast__batch__unpack(NULL, size, message);
		assert_non_null(batch);
		if (batch->catch_up) {
			assert_int_equal(next, first); /* before all others */
			assert_int_equal(batch->next, first);
			definitions++;
		} else {
			assert_int_equal(batch->number, next++);
		}
		heapcast__batch__free_unpacked(batch, NULL);
		at += part;
	}
	assert_int_equal(next, last + 1);
	assert_int_equal(definitions > 0, first > 1);
	return definitions;
}

/* So many bytes fit in a file. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void from_the_first(void **state)
{
	(void)state;
	begin();
	make_batches(3);
	assert_int_equal(open_from(1), 0);
	assert_string_equal(f.path, path);
	assert_int_equal(f.first, 1);
	assert_int_equal(f.next, 1);
	assert_int_equal(f.bytes, 0);
	assert_int_equal(f.error, 0);
	assert_int_equal(f.failed_ns, 0);
	assert_int_equal(b.stream.spool.held, 1);
	assert_int_equal(file_sink_pump(&f, &b.stream), 0);
	assert_int_equal(f.next, 4);
	expect_file(1, 3);
	assert_int_equal(b.stream.spool.bytes_total, f.bytes);
	assert_int_equal(file_sink_pump(&f, &b.stream), 0); /* there is no more */
	assert_int_equal(f.next, 4);
	make_batches(1);
	assert_int_equal(file_sink_pump(&f, &b.stream), 0);
	expect_file(1, 4);
	end();
}

/* Where the first batches are gone, or are not wanted, definitions stand for them. */
static void from_the_middle(void **state)
{
	struct spool *spool = &b.stream.spool;
	uint64_t oldest;

	(void)state;
	begin();
	make_batches(5);
	assert_int_equal(open_from(4), 0);
	assert_int_equal(f.first, 4);
	assert_int_equal(f.next, 4);
	assert_int_equal(spool->held, 4);
	assert_true(f.bytes > 0);
	assert_int_equal(file_sink_pump(&f, &b.stream), 0);
	expect_file(4, 5);
	file_sink_close(&f);
	assert_int_equal(unlink(path), 0);
	spool->held = UINT64_MAX;
	for (unsigned i = 0; i < 400 && spool->first < 4; i++) {
		make_batches(1);
		assert_int_equal(spool_ack(spool, spool->next - 1, spool->next - 1), 0);
	}
	oldest = spool->first;
	assert_true(oldest >= 4);
	for (uint64_t first = oldest - 1; first <= oldest + 1; first++) {
		uint64_t from = first < oldest ? oldest : first;

		assert_int_equal(open_from(first), 0);
		assert_int_equal(f.first, from);
		assert_int_equal(spool->held, from);
		assert_int_equal(file_sink_pump(&f, &b.stream), 0);
		expect_file(from, spool->next - 1);
		file_sink_close(&f);
		assert_int_equal(unlink(path), 0);
	}
	end();
}

/* A disk that is full in the middle of a frame leaves whole frames; the frame is written when there
 * is room. */
static void no_room(void **state)
{
	uint64_t failed, good;

	(void)state;
	begin();
	make_batches(4);
	assert_int_equal(open_from(1), 0);
	for (unsigned i = 0; i < 2; i++) {
		size_t length;

		/* 100 bytes of the third */
		assert_non_null(spool_get(&b.stream.spool, 1, &length));
		good = length;
		assert_non_null(spool_get(&b.stream.spool, 2, &length));
		good += length;
		limit_files((rlim_t)good + 100);
		assert_int_equal(file_sink_pump(&f, &b.stream), -EFBIG);
		assert_int_equal(f.error, -EFBIG);
		assert_int_equal(f.next, 3);
		expect_file(1, 2);
		assert_int_equal(f.bytes, good);
		assert_true(f.failed_ns > 0 && f.failed_ns <= now());
		if (i)
			assert_int_equal(f.failed_ns, failed); /* of the first failure */
		failed = f.failed_ns;
	}
	limit_files(RLIM_INFINITY);
	assert_int_equal(file_sink_pump(&f, &b.stream), 0);
	assert_int_equal(f.error, 0);
	assert_int_equal(f.failed_ns, 0);
	assert_int_equal(f.next, 5);
	expect_file(1, 4);
	end();
}

/* Without room for the definitions there is no recording, and an empty file. */
static void no_room_at_the_start(void **state)
{
	struct stat st;

	(void)state;
	begin();
	make_batches(4);
	limit_files(50);
	assert_int_equal(open_from(3), -EFBIG);
	limit_files(RLIM_INFINITY);
	assert_int_equal(f.fd, -1);
	assert_string_equal(f.path, "");
	assert_int_equal(b.stream.spool.held, UINT64_MAX);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(file_sink_open(&f, open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600), path,
					&b.stream, 3, &b.packer, out, 10), /* no room for a frame */
			 -EMSGSIZE);
	assert_int_equal(f.fd, -1);
	assert_int_equal(b.stream.spool.held, UINT64_MAX);
	end();
}

static void full_device(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0)
		skip();
	close(fd);
	begin();
	make_batches(1);
	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(
		file_sink_open(&f, fd, "/dev/full", &b.stream, 1, &b.packer, out, sizeof(out)), 0);
	assert_int_equal(file_sink_pump(&f, &b.stream), -ENOSPC);
	assert_int_equal(f.next, 1);
	end();
}

/* Frames that have moved to the spool on disk are copied from there. */
static void from_the_spool_on_disk(void **state)
{
	static uint8_t spool_out[256 << 10];
	struct spool_folder folder = {.fd = -1};
	struct spool *spool = &b.stream.spool;
	char spool_path[160];
	struct spool_place place;
	uint64_t good;

	(void)state;
	begin();
	snprintf(spool_path, sizeof(spool_path), "%s/spool", temporary_folder);
	assert_int_equal(mkdir(spool_path, 0700), 0);
	assert_int_equal(spool_folder_open(&folder, spool_path, SPOOL_LIMIT_MIN), 0);
	folder.out = spool_out;
	folder.out_size = sizeof(spool_out);
	stream_use_spool(&b.stream, &folder);
	for (unsigned i = 0; i < 400 && spool->first < 6; i++)
		make_batches(1);
	assert_true(spool->first >= 6);
	assert_int_equal(spool_oldest(spool), 1);
	assert_int_equal(spool_find(spool, 1, &place), 0);
	assert_null(place.data);
	assert_int_equal(open_from(1), 0);
	good = place.length;
	limit_files((rlim_t)good + 100);
	assert_int_equal(file_sink_pump(&f, &b.stream), -EFBIG);
	assert_int_equal(f.next, 2);
	expect_file(1, 1);
	limit_files(RLIM_INFINITY);
	assert_int_equal(file_sink_pump(&f, &b.stream), 0);
	expect_file(1, spool->next - 1);
	file_sink_close(&f);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(open_from(1), 0);
	assert_int_equal(spool_find(spool, 3, &place), 0);
	assert_int_equal(ftruncate(place.fd, place.offset + 10), 0); /* by somebody else */
	assert_int_equal(file_sink_pump(&f, &b.stream), -EIO);
	assert_int_equal(f.next, 3);
	expect_file(1, 2);
	file_sink_close(&f);
	spool_clear(spool);
	spool->disk.folder = NULL;
	spool_folder_close(&folder);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(from_the_first), TEST_IN_FOLDER(from_the_middle),
		TEST_IN_FOLDER(no_room),	TEST_IN_FOLDER(no_room_at_the_start),
		TEST_IN_FOLDER(full_device),	TEST_IN_FOLDER(from_the_spool_on_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
