#pragma once
/*
 * A store that receives a program's recording while its collector is killed again and again, at any
 * moment; behind each kill what a lost page cache may do is done to its files: what was not synced
 * of the recording is cut off at any byte or full of zeros, all that can be made anew is cut,
 * changed, or gone. Whoever opens it next must go on where the last durable frame ends, and in the
 * end have the recording byte by byte.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/recording.h"
#include "collector/derive/recording_parts.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "tests/unit/query/program.h"
#include "tests/unit/temporary.h"

#define RECEIVE_KILLS 6

struct receive_shared {
	uint64_t durable; /* bytes that a sync has vouched for */
	bool done;
};

struct receive {
	const struct builder *b;
	uint64_t *random;
	struct receive_shared *shared;
	char store[128], folder[256], recording[300], frames[128];
};

static inline void receive_paths(struct receive *r)
{
	struct stream_id id;
	char text[STREAM_ID_TEXT];

	memcpy(id.bytes, r->b->id, sizeof(id.bytes));
	snprintf(r->store, sizeof(r->store), "%s/store", temporary_folder);
	snprintf(r->frames, sizeof(r->frames), "%s/frames", temporary_folder);
	snprintf(r->folder, sizeof(r->folder), "%s/streams/%s", r->store,
		 stream_id_format(text, &id));
	snprintf(r->recording, sizeof(r->recording), "%s/recording.heapcast", r->folder);
}

/* ---- the collector, in a process of its own ---- */

static inline void receive_must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "receiving: %s\n", what);
	_exit(1);
}

/* What of the recording has come whole. */
static inline uint64_t receive_whole(const struct receive *r, int fd)
{
	uint8_t *bytes = malloc(r->b->file.length + 1);
	ssize_t n = bytes ? pread(fd, bytes, r->b->file.length, 0) : 0;
	uint64_t same = 0, whole = 0;

	while (n > 0 && same < (uint64_t)n && bytes[same] == r->b->file.data[same])
		same++;
	for (size_t i = 0; i < r->b->frame_count && r->b->ends[i] <= same; i++)
		whole = r->b->ends[i];
	free(bytes);
	return whole;
}

/* In the process that receives. */
static struct receive *receiving;

/* In place of libc's. Killed in the middle of it, who knows: then it counts as durable. */
int fdatasync(int fd)
{
	struct stat here, there;

	if (receiving && !fstat(fd, &here) && !stat(receiving->recording, &there) &&
	    here.st_ino == there.st_ino) {
		uint64_t whole = receive_whole(receiving, fd);

		if (whole > receiving->shared->durable)
			receiving->shared->durable = whole;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static inline void receive_sync(struct stream_writer *w)
{
	struct stream_position durable;

	receive_must(stream_writer_sync(w, &durable, NULL) == 0, "sync");
}

static inline void receive_frames(struct receive *r, struct store *store, struct stream_writer *w)
{
	uint64_t at = stream_writer_bytes(w), next = stream_writer_position(w).next;
	int fd = open(r->frames, O_RDONLY | O_CLOEXEC);
	struct scan_item item;
	struct scan scan;

	receive_must(at >= r->shared->durable, "what was durable is gone");
	receive_must(at == (next ? r->b->ends[next - 2] : 0), "it does not go on behind a frame");
	receive_must(fd >= 0 && scan_init(&scan, fd, at, NULL) == 0, "frames");
	while (scan_next(&scan, r->b->file.length, &item) == 1) {
		const struct retention tight = {.keep_ns = 1, .keep_bytes = 1};

		receive_must(stream_writer_append(w, r->b->file.data + item.offset, item.length,
						  item.batch, NULL) == 0,
			     "a frame was not taken");
		if (test_random(r->random) % 4 == 0)
			receive_sync(w);
		if (test_random(r->random) % 4 == 0)
			receive_must(stream_writer_derive(w, NULL) >= 0, "derive");
		/* It is being written: never too old or too large. */
		if (test_random(r->random) % 16 == 0)
			receive_must(store_retain(store, &tight, NULL) == 0, "retain");
	}
	receive_sync(w);
	receive_must(stream_writer_finish(w, NULL) == 0, "finish");
	scan_done(&scan);
	close(fd);
}

static inline void receive_run(struct receive *r)
{
	struct stream_writer *w = NULL;
	struct store *store = NULL;
	struct err_text err = {0};
	struct stream_id id;
	uint64_t cut;

	receiving = r;
	memcpy(id.bytes, r->b->id, sizeof(id.bytes));
	if (store_open(r->store, STORE_WRITE, &store, &err) < 0 ||
	    stream_writer_open(store, &id, &w, &cut, &err) < 0)
		receive_must(false, err.text);
	receive_frames(r, store, w);
	stream_writer_close(w);
	store_close(store);
	r->shared->done = true;
}

/* `patience_us` UINT_MAX: until it is done. */
static inline void receive_for(struct receive *r, unsigned patience_us)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		receive_run(r);
		_exit(0);
	}
	if (patience_us != UINT_MAX) {
		usleep(patience_us);
		kill(pid, SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
}

/* ---- what becomes of files ---- */

/* Cuts it, fills its end with zeros, or (of what can be made anew) changes a byte; nothing before
 * `from`. */
static inline void receive_damage(uint64_t *random, const char *path, uint64_t from, bool anywhere)
{
	static const uint8_t zeros[4096];
	struct stat st;
	uint64_t at, size;
	uint8_t byte;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size <= from) {
		if (fd >= 0)
			close(fd);
		return;
	}
	size = (uint64_t)st.st_size;
	at = from + test_random(random) % (size - from);
	switch (test_random(random) % (anywhere ? 3 : 2)) {
	case 0:
		assert_int_equal(ftruncate(fd, (off_t)at), 0);
		break;
	case 1:
		for (; at < size; at += sizeof(zeros))
			assert_true(pwrite(fd, zeros,
					   size - at < sizeof(zeros) ? size - at : sizeof(zeros),
					   (off_t)at) > 0);
		break;
	default:
		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= (uint8_t)(1 + test_random(random) % 255);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	}
	close(fd);
}

/* Of one of the files in columns/, whichever. */
static inline void receive_damage_columns(struct receive *r)
{
	char folder[300], path[600];
	struct dirent *entry;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/columns", r->folder);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' || test_random(r->random) % 2)
			continue;
		if (test_random(r->random) % 4)
			receive_damage(r->random, path, 0, true);
		else
			unlink(path);
	}
	if (dir)
		closedir(dir);
}

static inline void receive_damage_catalogue(struct receive *r)
{
	static const char *const names[] = {"", "-wal", "-shm"};
	char path[300];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/catalogue.sqlite%s", r->store, names[i]);
		if (test_random(r->random) % 2)
			receive_damage(r->random, path, 0, true);
		else if (test_random(r->random) % 4 == 0)
			unlink(path);
	}
}

static inline void receive_damage_some(struct receive *r)
{
	switch (test_random(r->random) % 5) {
	case 0:
		receive_damage(r->random, r->recording, r->shared->durable, false);
		break;
	case 1:
		receive_damage_columns(r);
		break;
	case 2:
		receive_damage_catalogue(r);
		break;
	case 3:
		receive_damage(r->random, r->recording, r->shared->durable, false);
		receive_damage_columns(r);
		receive_damage_catalogue(r);
		break;
	default:
		break;
	}
}

/* ---- whoever reads beside ---- */

static inline void receive_same_rows(const struct recording *x, const struct recording *y)
{
	struct naive_rows a, b;

	assert_int_equal(recording_rows(x), recording_rows(y));
	naive_rows_init(&a, x);
	naive_rows_init(&b, y);
	for (size_t i = 0; i < a.count; i++)
		naive_must_be_same(i, &a.list[i], &b.list[i]);
	free(a.list);
	free(b.list);
}

/* Rows that were kept, and those of the frames alone: the same. */
static inline void receive_read(struct receive *r)
{
	struct recording *kept, *frames;
	struct stream_summary *list;
	struct store *store = NULL;
	size_t count;

	if (r->shared->durable < r->b->ends[0])
		return;
	assert_int_equal(store_open(r->store, STORE_READ, &store, NULL), 0);
	assert_int_equal(store_list(store, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	store_list_free(list, count);
	store_close(store);
	assert_int_equal(recording_open(r->recording, NULL, NULL, &kept, NULL), 0);
	assert_int_equal(recording_open_frames(r->recording, UINT64_MAX, &frames, NULL), 0);
	receive_same_rows(kept, frames);
	recording_close(kept);
	recording_close(frames);
}

static inline void receive_check_bytes(const struct receive *r)
{
	uint8_t *bytes = malloc(r->b->file.length + 1);
	int fd = open(r->recording, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && bytes);
	assert_int_equal(read(fd, bytes, r->b->file.length + 1), (ssize_t)r->b->file.length);
	assert_memory_equal(bytes, r->b->file.data, r->b->file.length);
	close(fd);
	free(bytes);
}

/* Receives what `b` holds. The test's temporary_folder holds the store; what was made of the
 * recording is damaged in the end, too, now and then. */
static inline void receive(struct receive *r, const struct builder *b, uint64_t *random)
{
	char *saved = builder_save(b, b->file.length);

	*r = (struct receive){.b = b, .random = random};
	receive_paths(r);
	assert_int_equal(rename(saved, r->frames), 0);
	free(saved);
	r->shared = mmap(NULL, sizeof(*r->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(r->shared != MAP_FAILED);
	for (unsigned i = 0; i < RECEIVE_KILLS && !r->shared->done; i++) {
		receive_for(r, (unsigned)(test_random(random) % 8000));
		if (r->shared->done)
			break;
		receive_damage_some(r);
		receive_read(r);
	}
	if (!r->shared->done)
		receive_for(r, UINT_MAX);
	receive_check_bytes(r);
	if (test_random(random) % 3 == 0)
		receive_damage_columns(r);
	munmap(r->shared, sizeof(*r->shared));
}
