/*
 * What the collector does with a recording, measured: frames in, rows out, and opening them.
 *
 *   bench-intake take DATA FILE
 *     receives FILE into the store DATA as the collector does, and ends after the last row: one
 *     thread checks and appends frames, another with its helpers makes them durable and derives
 * rows bench-intake many DATA FILE N stores FILE N times in DATA, as N streams that have ended
 *   bench-intake open FILE [ROUNDS]
 *     opens a recording and reads all its rows: once, and then the best of so many
 *
 * Prints NAME VALUE lines.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/columns/row_block.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "proto/columns.h"
#include "proto/frame.h"
#include "proto/message.h"

#define SYNC_BYTES (2u << 20)

static struct stream_writer *writer;
static atomic_bool appended_all;
static atomic_ullong appended;

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *derive(void *unused)
{
	struct err_text why = {0};
	unsigned long long synced = 0;
	double start;

	(void)unused;
	for (;;) {
		bool all = appended_all;
		unsigned long long now = appended;
		struct stream_position position;
		int r;

		if (now - synced >= SYNC_BYTES || (all && now > synced)) {
			if (stream_writer_sync(writer, &position, &why) < 0)
				errx(1, "%s", why.text);
			synced = now;
		}
		r = stream_writer_derive(writer, &why);
		if (r < 0)
			errx(1, "%s", why.text);
		if (!r && all)
			break;
		if (!r)
			usleep(1000);
	}
	start = seconds(CLOCK_MONOTONIC);
	if (stream_writer_finish(writer, &why) < 0)
		errx(1, "%s", why.text);
	printf("finish_seconds %.3f\nderive_cpu_seconds %.3f\n", seconds(CLOCK_MONOTONIC) - start,
	       seconds(CLOCK_THREAD_CPUTIME_ID));
	return NULL;
}

static void append_all(struct store *store, int fd, uint64_t size)
{
	struct err_text why = {0};
	uint8_t *frame = NULL;
	struct scan_item item;
	struct stream_id id;
	struct scan scan;
	uint64_t cut;
	pthread_t thread;

	if (scan_init(&scan, fd, 0, NULL) < 0)
		errx(1, "no memory");
	while (scan_next(&scan, size, &item) == 1) {
		if (!writer) {
			memcpy(id.bytes, item.batch->stream.data, sizeof(id.bytes));
			if (stream_writer_open(store, &id, &writer, &cut, &why) < 0)
				errx(1, "%s", why.text);
			pthread_create(&thread, NULL, derive, NULL);
		}
		frame = realloc(frame, item.length);
		if (!frame ||
		    pread(fd, frame, item.length, (off_t)item.offset) != (ssize_t)item.length ||
		    stream_writer_append(writer, frame, item.length, item.batch, &why) < 0)
			errx(1, "%s", why.text);
		appended += item.length;
	}
	printf("append_cpu_seconds %.3f\n", seconds(CLOCK_THREAD_CPUTIME_ID));
	appended_all = true;
	scan_done(&scan);
	free(frame);
	if (!writer)
		errx(1, "no frames");
	pthread_join(thread, NULL);
}

/* Of all threads, those that help along too. */
static void print_cpu(void)
{
	printf("cpu_seconds %.3f\n", seconds(CLOCK_PROCESS_CPUTIME_ID));
}

static void print_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("peak_rss_bytes %llu\n", (unsigned long long)usage.ru_maxrss * 1024);
}

static int take(const char *data, const char *path)
{
	double start = seconds(CLOCK_MONOTONIC), took;
	struct err_text why = {0};
	struct store *store;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "cannot read %s", path);
	if (store_open(data, STORE_WRITE, &store, &why) < 0)
		errx(1, "%s", why.text);
	append_all(store, fd, (uint64_t)st.st_size);
	took = seconds(CLOCK_MONOTONIC) - start;
	printf("seconds %.3f\nevents %llu\nevents_per_second %.0f\nframe_bytes %llu\n", took,
	       (unsigned long long)stream_writer_events(writer),
	       (double)stream_writer_events(writer) / took,
	       (unsigned long long)stream_writer_bytes(writer));
	print_cpu();
	print_memory();
	stream_writer_close(writer);
	store_close(store);
	close(fd);
	return 0;
}

/* ---- many streams ---- */

static void put_under_id(struct store *store, const struct stream_id *id, int fd, uint64_t size)
{
	static uint8_t message[FRAME_HEADROOM + (1u << 20)], frame[2u << 20], framed[2u << 20];
	static struct frame_encoder *encoder;
	static struct frame_decoder *decoder;
	static struct message_reader *messages;
	struct stream_position position;
	struct err_text why = {0};
	uint64_t offset = 0, cut;

	if (!encoder) {
		encoder = frame_encoder_new();
		decoder = frame_decoder_new();
		messages = message_reader_new();
	}
	if (stream_writer_open(store, id, &writer, &cut, &why) < 0)
		errx(1, "%s", why.text);
	while (offset < size) {
		ssize_t n = pread(fd, frame, sizeof(frame), (off_t)offset);
		ProtobufCMessage *batch;
		const uint8_t *plain;
		size_t length, plain_length;
		long framed_length;

		if (n <= 0 || frame_length(frame, (size_t)n, &length, &why) != 1 ||
		    frame_decode(decoder, frame, length, &plain, &plain_length, &why) < 0 ||
		    plain_length > sizeof(message) - FRAME_HEADROOM)
			errx(1, "cannot read a frame: %s", why.text);
		memcpy(message + FRAME_HEADROOM, plain, plain_length);
		memcpy(message + FRAME_HEADROOM + 2, id->bytes,
		       sizeof(id->bytes)); /* the first field */
		framed_length = frame_encode(encoder, message + FRAME_HEADROOM, plain_length,
					     framed, sizeof(framed));
		if (framed_length < 0 ||
		    message_reader_open(messages, &heapcast__batch__descriptor, framed,
					(size_t)framed_length, &batch, &why) < 0 ||
		    stream_writer_append(writer, framed, (size_t)framed_length,
					 (const Heapcast__Batch *)batch, &why) < 0)
			errx(1, "%s", why.text);
		offset += length;
	}
	if (stream_writer_sync(writer, &position, &why) < 0 ||
	    stream_writer_finish(writer, &why) < 0)
		errx(1, "%s", why.text);
	stream_writer_close(writer);
}

static int many(const char *data, const char *path, unsigned long count)
{
	struct err_text why = {0};
	struct stream_id id = {0};
	struct store *store;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "cannot read %s", path);
	if (store_open(data, STORE_WRITE, &store, &why) < 0)
		errx(1, "%s", why.text);
	for (unsigned long i = 0; i < count; i++) {
		uint64_t mixed = i * 0x9e3779b97f4a7c15u;

		memcpy(id.bytes, &mixed, sizeof(mixed));
		memcpy(id.bytes + 8, &i, sizeof(i));
		put_under_id(store, &id, fd, (uint64_t)st.st_size);
	}
	store_close(store);
	close(fd);
	return 0;
}

static double read_rows(const struct recording *recording, unsigned columns)
{
	double start = seconds(CLOCK_MONOTONIC);
	struct err_text why = {0};
	struct row_reader *reader;

	if (row_reader_new(recording, &reader) < 0)
		errx(1, "no memory");
	for (uint32_t i = 0; i < recording_blocks(recording); i++)
		if (!row_reader_block(reader, i, columns, &why))
			errx(1, "%s", why.text);
	row_reader_free(reader);
	return seconds(CLOCK_MONOTONIC) - start;
}

static int open_rounds(const char *path, unsigned rounds)
{
	double best = 1e9;
	struct err_text why = {0};
	struct recording *recording;

	for (unsigned i = 0; i <= rounds; i++) {
		double start = seconds(CLOCK_MONOTONIC), took;

		if (recording_open(path, NULL, NULL, &recording, &why) < 0)
			errx(1, "%s", why.text);
		took = seconds(CLOCK_MONOTONIC) - start;
		best = took < best ? took : best;
		if (!i)
			printf("first_open_seconds %.3f\nallocations %llu\n", took,
			       (unsigned long long)recording_rows(recording));
		if (i < rounds)
			recording_close(recording);
	}
	printf("open_seconds %.3f\nopen_nodes %u\n", best, recording_nodes(recording));
	print_memory();
	printf("read_size_stack_seconds %.3f\n", read_rows(recording, ROWS_SIZE | ROWS_STACK));
	printf("read_birth_death_size_seconds %.3f\n",
	       read_rows(recording, ROWS_BIRTH | ROWS_DEATH | ROWS_SIZE));
	printf("read_all_seconds %.3f\n", read_rows(recording, ROWS_ALL));
	recording_close(recording);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "take"))
		return take(argv[2], argv[3]);
	if (argc == 5 && !strcmp(argv[1], "many"))
		return many(argv[2], argv[3], strtoul(argv[4], NULL, 10));
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "open"))
		return open_rounds(argv[2], argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 3);
	errx(2, "usage: bench-intake take DATA FILE | many DATA FILE N | open FILE [ROUNDS]");
}
