#pragma once
/*
 * A recording that a store receives, that is read and rewritten: for tests in which memory runs out
 * (scarce.c) or the disk fails (failing.c). Each step returns 0 if all was done, and what went
 * wrong below 0; what it says to have done is checked here.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "collector/recording/scan.h"
#include "collector/rewrite/anonymise.h"
#include "collector/rewrite/compose.h"
#include "collector/rewrite/strip.h"
#include "tests/unit/store/pairing.h"
#include "tests/unit/temporary.h"

#define BATCHES 4
#define BLOCKS	20 /* in each */

/* In place of libc's, which take most of the time. Nothing here is about a loss of power. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	(void)fd;
	return 0;
}

static struct builder b;
static char *path;

static void build_batch(uint64_t batch)
{
	static const char name[] = "worker", text[] = "a phase";
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT, *threads[] = {&thread};
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;
	uint64_t time = 1000 * (batch + 1);

	thread.number = 1 + (uint32_t)batch;
	thread.tid = 100 + (uint32_t)batch;
	thread.name = builder_bytes(name, sizeof(name) - 1);
	mark.thread = thread.number;
	mark.time_ns = time;
	mark.kind = HEAPCAST__MARK_KIND__MARK_TEXT;
	mark.text = builder_bytes(text, sizeof(text) - 1);
	b.threads = threads;
	b.thread_count = 1;
	b.mark = &mark;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		uint64_t address = 0x10000 * (batch + 1) + 0x100 * i;

		builder_malloc(&b, time += 3, thread.number, address, 16 + i);
		if (i % 5 == 0)
			builder_realloc(&b, time + 1, time + 2, thread.number, address,
					address + 0x80, 2 * i);
		else if (i % 2)
			builder_free(&b, time += i, thread.number, address);
	}
	builder_close(&b, time);
}

static int open_folder(void **state)
{
	builder_init(&b, 1);
	for (uint64_t i = 0; i < BATCHES; i++)
		build_batch(i);
	builder_end(&b, 0);
	path = builder_save(&b, b.file.length);
	return temporary_setup(state);
}

static int close_folder(void **state)
{
	unlink(path);
	free(path);
	builder_done(&b);
	return temporary_teardown(state);
}

/* What of the recording is there: blocks, bytes, and those of them that were given back. */
static void check_rows(const struct recording *r)
{
	uint64_t freed = 0;

	assert_int_equal(recording_rows(r), BATCHES * (BLOCKS + BLOCKS / 5));
	assert_int_equal(recording_threads(r), BATCHES);
	assert_int_equal(recording_marks(r), BATCHES);
	assert_true(recording_adds_up(r, NULL));
	assert_null(recording_rederived(r));
	for (uint64_t i = 0; i < recording_rows(r); i++)
		freed += row_at(r, i).death != NO_TIME;
	assert_int_equal(freed, BATCHES * (BLOCKS / 5 + BLOCKS / 5 * 2));
}

static int open_file(void *context)
{
	struct recording *r;
	int e = recording_open(path, NULL, NULL, &r, NULL);

	(void)context;
	if (e)
		return e;
	check_rows(r);
	recording_close(r);
	return 0;
}

/* ---- receiving ---- */

static int append(struct stream_writer *w)
{
	FILE *file = fopen(path, "re");
	struct stream_position durable;
	struct scan_item item;
	struct scan scan;
	int r;

	assert_non_null(file);
	r = scan_init(&scan, fileno(file), stream_writer_bytes(w), NULL);
	if (r) {
		fclose(file);
		return r;
	}
	while ((r = scan_next(&scan, b.file.length, &item)) == 1) {
		r = stream_writer_append(w, b.file.data + item.offset, item.length, item.batch,
					 NULL);
		if (!r)
			r = stream_writer_sync(w, &durable, NULL);
		if (!r)
			r = stream_writer_derive(w, NULL);
		if (!r && item.batch->number == 3)
			r = stream_writer_park(w, NULL);
		if (r)
			break;
	}
	scan_done(&scan);
	fclose(file);
	return r ? r : stream_writer_finish(w, NULL);
}

static int receive(const struct stream_id *id)
{
	struct stream_writer *w;
	struct store *store;
	char folder[128];
	uint64_t cut;
	int r;

	snprintf(folder, sizeof(folder), "%s/store", temporary_folder);
	r = store_open(folder, STORE_WRITE, &store, NULL);
	if (r)
		return r;
	r = stream_writer_open(store, id, &w, &cut, NULL);
	if (!r) {
		assert_int_equal(cut, 0);
		r = append(w);
		stream_writer_close(w);
	}
	store_close(store);
	return r;
}

static int read_stored(const struct stream_id *id)
{
	struct stream_summary *list;
	struct recording *recording;
	struct store *store;
	char folder[128], name[STREAM_ID_TEXT], *found;
	size_t count;
	int r;

	snprintf(folder, sizeof(folder), "%s/store", temporary_folder);
	r = store_open(folder, STORE_READ, &store, NULL);
	if (r)
		return r;
	r = store_list(store, &list, &count, NULL);
	if (!r) {
		assert_true(count <= 1);
		assert_true(!count || list[0].state == STREAM_ENDED);
		assert_true(!count || list[0].events == b.delivered);
		store_list_free(list, count);
		r = count ? 0 : -ENOENT; /* what can't be read is not listed */
	}
	if (!r) {
		r = store_find(store, stream_id_format(name, id), &found, NULL);
	}
	store_close(store);
	if (r)
		return r;
	r = recording_open(found, NULL, NULL, &recording, NULL);
	free(found);
	if (r)
		return r;
	check_rows(recording);
	recording_close(recording);
	return 0;
}

/* ---- rewriting ---- */

struct rewritten {
	uint8_t *bytes; /* with plenty of memory; NULL: not known yet */
	size_t length;
	int (*rewrite)(const struct copy_settings *settings);
};

static int strip(const struct copy_settings *settings)
{
	struct strip_result result;

	return recording_strip(path, 10, settings, &result, NULL);
}

static bool name_frame(void *context, uint32_t node, uint32_t index, struct named_frame *ret_frame)
{
	(void)context;
	*ret_frame = (struct named_frame){
		.function = node % 2 ? "std::vector<int>::push_back" : "main", .file = "main.c"};
	return index == 0;
}

static int anonymise(const struct copy_settings *settings)
{
	return recording_anonymise(
		path,
		&(struct anonymise_settings){
			.copy = *settings, .salt = "salt", .salt_length = 4, .frame = name_frame},
		NULL);
}

static int compose(const struct copy_settings *settings)
{
	static const struct stream_id id = {{7}};
	static const struct composer_frame frame = {.function = "main", .file = "main.c"};
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Module module = HEAPCAST__MODULE__INIT;
	struct composer *c;
	uint32_t number, node = 0;
	int r;

	module.path = composer_text("/usr/lib/libexample.so");
	r = composer_new(settings->fd, &id, &process, &c, NULL);
	if (r)
		return r;
	composer_module(c, &module, &number);
	for (uint64_t i = 1; i <= 200; i++) {
		composer_node(c, node, 1, 0x100 * i, &node);
		composer_name(c, 1, 0x100 * i, &frame, 1);
		composer_blocks(c, 1 + i % 3, node, i, 100 * i, i % 2);
	}
	r = composer_end(c, NULL, NULL);
	composer_free(c);
	return r;
}

static int rewrite(void *context)
{
	struct rewritten *w = context;
	cleanup(cleanup_close) int fd = memfd_create("rewritten", MFD_CLOEXEC);
	struct copy_settings settings = {.fd = fd};
	int r = w->rewrite(&settings);
	static uint8_t bytes[1 << 20];
	size_t length;
	FILE *file;

	if (r)
		return r;
	file = fdopen(dup(fd), "r");
	assert_non_null(file);
	rewind(file);
	length = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	if (!w->bytes) {
		w->bytes = malloc(length);
		assert_true(w->bytes && length < sizeof(bytes));
		memcpy(w->bytes, bytes, length);
		w->length = length;
	}
	assert_int_equal(length, w->length);
	assert_memory_equal(bytes, w->bytes, w->length);
	return 0;
}
