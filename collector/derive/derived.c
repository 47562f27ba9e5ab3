/* Saves and loads derived data. derived.h describes the files. */
#include "collector/derive/derived.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/derive/recording_parts.h"
#include "collector/derive/state.h"
#include "base/ban.h"

#define FOLDER	     "columns"
#define STATE_HEADER 32
#define STATE_MAX    (1ull << 32)
#define READ_TRIES   5 /* a writer may replace state and rows while a reader opens them */

static const uint8_t magic[8] = "hcstate";

int derived_init(struct derived *d, const char *path)
{
	static const char name[] = "/recording.heapcast";
	size_t length = strlen(path), folder = length - (sizeof(name) - 1);

	*d = (struct derived){0};
	if (length < sizeof(name) - 1 || strcmp(path + folder, name))
		return 0;
	return asprintf(&d->folder, "%.*s/" FOLDER, (int)folder, path) < 0 ? -ENOMEM : 0;
}

void derived_done(struct derived *d)
{
	free(d->folder);
	*d = (struct derived){0};
}

static void derived_path_of(char out[4096], const struct derived *d, const char *name)
{
	snprintf(out, 4096, "%s/%s", d->folder, name);
}

static void rows_path(char out[4096], const struct derived *d, uint32_t generation)
{
	snprintf(out, 4096, "%s/rows.%u", d->folder, generation);
}

/* ---- comparison with the frames ---- */

static int hash_range(int fd, uint64_t from, size_t length, uint64_t seed, uint64_t *ret_hash)
{
	cleanup(cleanup_free) uint8_t *bytes = malloc(length + !length);

	if (!bytes)
		return -ENOMEM;
	for (size_t done = 0; done < length;) {
		ssize_t n = pread(fd, bytes + done, length - done, (off_t)(from + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	*ret_hash = XXH3_64bits_withSeed(bytes, length, seed);
	return 0;
}

/*
 * Continues the hash up to the last whole chunk before `to`; the hash of each chunk is the seed of
 * the next one. The rest is hashed separately.
 */
static int hash_frames(int fd, uint64_t *hashed, uint64_t *hash, uint64_t to, uint64_t *ret_tail)
{
	int r = 0;

	while (!r && to - *hashed >= DERIVED_CHUNK) {
		r = hash_range(fd, *hashed, DERIVED_CHUNK, *hash, hash);
		*hashed += DERIVED_CHUNK;
	}
	return r ? r : hash_range(fd, *hashed, (size_t)(to - *hashed), *hash, ret_tail);
}

static uint64_t modified_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static bool derived_fits(struct recording *r, const struct state_fit *fit)
{
	uint64_t hashed = 0, hash = 0, tail, offset = r->scan.offset;
	struct stat st;

	if (fstat(r->file.fd, &st) < 0 || (uint64_t)st.st_size < offset ||
	    fit->hashed % DERIVED_CHUNK || fit->hashed > offset ||
	    offset - fit->hashed >= DERIVED_CHUNK)
		return false;
	if ((uint64_t)st.st_size == fit->size && modified_ns(&st) == fit->mtime_ns)
		return true;
	if ((uint64_t)st.st_size > fit->size) {
		hashed = fit->hashed;
		hash = fit->hash;
	}
	return recording_file_fill(&r->file, r->path, NULL) == 0 &&
	       hash_frames(r->file.fd, &hashed, &hash, offset, &tail) == 0 &&
	       hashed == fit->hashed && hash == fit->hash && tail == fit->tail;
}

/* ---- reading ---- */

/* Records why the kept data is unusable. */
static void must_be_made_anew(struct derived *d, bool read, bool frames_fit)
{
	const char *why = !read ? "the state there is damaged or of another version"
			  : frames_fit
				  ? "the rows there are fewer than its state tells of, or missing"
				  : "it was made of other frames";

	err_set(&d->anew, 0, "what was kept in %s can't be used: %s", d->folder, why);
}

static int read_whole(int fd, uint8_t *to, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = read(fd, to + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	return 0;
}

static int derived_read_header(int fd, uint32_t *ret_generation, uint64_t *ret_length,
			       uint64_t *ret_check)
{
	uint8_t header[STATE_HEADER];
	struct reader in = reader_of(header, sizeof(header));
	int r = read_whole(fd, header, sizeof(header));

	if (r < 0)
		return r;
	if (memcmp(reader_bytes(&in, sizeof(magic)), magic, sizeof(magic)) ||
	    reader_u32le(&in) != STATE_VERSION)
		return -EBADMSG;
	*ret_generation = reader_u32le(&in);
	*ret_length = reader_u64le(&in);
	*ret_check = reader_u64le(&in);
	return *ret_length < STATE_MAX && *ret_generation ? 0 : -EBADMSG;
}

static int read_state(struct recording *r, struct state_fit *ret_fit)
{
	struct derived *d = &r->derived;
	cleanup(cleanup_free) uint8_t *data = NULL;
	cleanup(cleanup_close) int fd = -1;
	uint64_t length, check;
	char path[4096];
	struct stat st;
	int e;

	derived_path_of(path, d, "state");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	d->state_inode = st.st_ino;
	e = derived_read_header(fd, &d->generation, &length, &check);
	if (e < 0 || (uint64_t)st.st_size != STATE_HEADER + length)
		return e ? e : -EBADMSG;
	data = malloc(length + 1);
	if (!data)
		return -ENOMEM;
	e = read_whole(fd, data, length);
	if (!e && XXH3_64bits(data, length) != check)
		e = -EBADMSG;
	return e ? e : state_read(r, data, length, ret_fit);
}

static int derived_open_rows(const struct derived *d, int flags, uint64_t covered,
			     uint64_t *ret_size)
{
	char path[4096];
	struct stat st;
	int fd;

	rows_path(path, d, d->generation);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < covered) {
		close(fd);
		return -EBADMSG;
	}
	*ret_size = (uint64_t)st.st_size;
	return fd;
}

int derived_load(struct recording *r)
{
	struct derived *d = &r->derived;

	for (unsigned i = 0; d->folder && i < READ_TRIES; i++) {
		struct state_fit fit = {0};
		uint64_t size;
		int fd, e = read_state(r, &fit);
		bool frames_fit = !e && derived_fits(r, &fit);

		if (e == -ENOENT || e == -ENOMEM)
			return e == -ENOENT ? 0 : e;
		fd = frames_fit ? derived_open_rows(d, O_RDONLY, fit.rows_bytes, &size)
		     : e	? e
				: -EBADMSG;
		if (fd >= 0) {
			r->rows.fd[1] = fd;
			d->anew.text[0] = 0;
			return 1;
		}
		must_be_made_anew(d, !e, frames_fit);
		recording_clear(r);
		if (fd != -ENOENT)
			return 0;
	}
	return 0;
}

/* ---- writing ---- */

/* The writer continues the file, so its blocks and pages are no longer those of the base. */
static void own(struct recording *r)
{
	for (uint32_t i = 0; i < r->rows.first_open; i++)
		r->rows.slots[i].base = false;
	for (uint32_t i = 0; i < r->rows.late.page_count; i++)
		r->rows.late.pages[i].base = false;
}

void derived_sweep(const struct derived *d)
{
	DIR *folder = opendir(d->folder);
	char keep[32], path[4096];
	struct dirent *entry;

	snprintf(keep, sizeof(keep), "rows.%u", d->generation);
	while (folder && (entry = readdir(folder))) {
		bool rows = !strncmp(entry->d_name, "rows.", 5) && strcmp(entry->d_name, keep);

		if (!rows && strcmp(entry->d_name, "state.new"))
			continue;
		derived_path_of(path, d, entry->d_name);
		unlink(path);
	}
	if (folder)
		closedir(folder);
}

static int begin_rows(struct recording *r, struct err_text *err)
{
	struct derived *d = &r->derived;
	char path[4096];

	rows_path(path, d, d->generation);
	r->rows.fd[0] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (r->rows.fd[0] < 0)
		return err_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
	return 0;
}

/* Returns 1 if the writer can continue with the state, 0 if not, or -ENOMEM. */
static int derived_take_over(struct recording *r, uint64_t *ret_cut)
{
	struct derived *d = &r->derived;
	struct state_fit fit = {0};
	uint64_t size;
	int e = read_state(r, &fit), fd = -1;
	bool frames_fit = !e && derived_fits(r, &fit);

	if (e == -ENOMEM)
		return e;
	if (frames_fit)
		fd = derived_open_rows(d, O_RDWR, fit.rows_bytes, &size);
	if (fd < 0 && e != -ENOENT)
		must_be_made_anew(d, !e, frames_fit);
	if (fd < 0)
		return 0;
	r->rows.fd[0] = fd;
	r->rows.written = fit.rows_bytes;
	if (ftruncate(fd, (off_t)fit.rows_bytes) < 0)
		return 0;
	*ret_cut = size - fit.rows_bytes;
	d->hashed = fit.hashed;
	d->hash = fit.hash;
	d->saved_offset = r->scan.offset;
	own(r);
	return 1;
}

int derived_load_writing(struct recording *r, uint64_t *ret_cut, struct err_text *err)
{
	struct derived *d = &r->derived;
	uint32_t generation;
	int e;

	d->writing = true;
	if (mkdir(d->folder, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "cannot make the folder %s: %s", d->folder,
			       strerror(errno));
	e = derived_take_over(r, ret_cut);
	if (e < 0)
		return e;
	if (!e) {
		generation = d->generation;
		recording_clear(r);
		d->generation = generation + 1;
		d->hashed = d->hash = d->saved_offset = 0;
		e = begin_rows(r, err);
	}
	if (e < 0)
		return e;
	derived_sweep(d);
	return 0;
}

static void put_le(uint8_t *to, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static int derived_write_all(int fd, const uint8_t *data, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = write(fd, data + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

static int write_state(const struct derived *d, const struct buf *contents, struct err_text *err)
{
	char path[4096], final[4096];
	uint8_t header[STATE_HEADER];
	cleanup(cleanup_close) int fd = -1;
	int r;

	derived_path_of(path, d, "state.new");
	derived_path_of(final, d, "state");
	memcpy(header, magic, sizeof(magic));
	put_le(header + 8, STATE_VERSION, 4);
	put_le(header + 12, d->generation, 4);
	put_le(header + 16, contents->length, 8);
	put_le(header + 24, XXH3_64bits(contents->data, contents->length), 8);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : derived_write_all(fd, header, sizeof(header));
	if (!r)
		r = derived_write_all(fd, contents->data, contents->length);
	if (r < 0)
		return err_set(err, r, "cannot write %s: %s", path, strerror(-r));
	if (rename(path, final) < 0)
		return err_set(err, -errno, "cannot write %s: %s", final, strerror(errno));
	return 0;
}

int derived_save(struct recording *r, struct err_text *err)
{
	struct derived *d = &r->derived;
	struct state_fit fit = {0};
	struct buf contents = {0};
	struct stat st;
	int e = rows_seal(&r->rows, 0);

	if (!e)
		e = rows_write_late(&r->rows);
	if (!e)
		e = recording_file_fill(&r->file, r->path, err);
	if (!e && fstat(r->file.fd, &st) < 0)
		e = -errno;
	if (!e)
		e = hash_frames(r->file.fd, &d->hashed, &d->hash, r->scan.offset, &fit.tail);
	if (e < 0)
		return err_set(err, e, "cannot write rows to %s: %s", d->folder, strerror(-e));
	fit.size = (uint64_t)st.st_size;
	fit.mtime_ns = modified_ns(&st);
	fit.hashed = d->hashed;
	fit.hash = d->hash;
	fit.rows_bytes = r->rows.written;
	e = state_write(r, &fit, &contents);
	if (!e)
		e = write_state(d, &contents, err);
	if (!e)
		d->saved_offset = r->scan.offset;
	buf_done(&contents);
	return e;
}

void derived_drop(const struct derived *d)
{
	char path[4096];
	struct stat st;

	derived_path_of(path, d, "state");
	if (stat(path, &st) == 0 && st.st_ino == d->state_inode)
		unlink(path);
}

/* ---- compaction ---- */

/* Several threads build blocks, which are placed in the file in order. */
struct compaction {
	struct recording *recording;
	int fd; /* the new file */
	struct rows_slot *slots;
	pthread_mutex_t mutex; /* guards the members below */
	pthread_cond_t turn;
	uint32_t begun, written;
	uint64_t length; /* length of the file */
	int error;
};

/* Memory of a thread that builds blocks. */
struct compactor {
	struct rows_block *block;
	struct buf packed, spare;
};

/* Copies a block that has no late updates. */
static int copy_block(const struct compaction *c, struct compactor *own,
		      const struct rows_slot *from)
{
	uint8_t *room = buf_reserve(&own->packed, from->length);

	if (!room)
		return -ENOMEM;
	if (pread(c->recording->rows.fd[0], room, from->length, (off_t)from->offset) !=
	    (ssize_t)from->length)
		return -EIO;
	own->packed.length = from->length;
	return 0;
}

static int merge_block(const struct compaction *c, struct compactor *own, uint32_t index,
		       struct rows_slot *slot)
{
	const struct block_limits limits = recording_limits(c->recording);
	const struct rows *rows = &c->recording->rows;
	const struct block_source source = rows_source(rows, index);
	int r = rows_read(rows, index, ROWS_LATE, &limits, own->block, &own->spare, NULL);

	if (r < 0)
		return r;
	block_measure_ends(own->block);
	slot->zone.min.death_ns = own->block->view.min.death_ns;
	slot->zone.max.death_ns = own->block->view.max.death_ns;
	slot->in_use = own->block->in_use;
	return block_repack(own->block, &source, ROWS_LATE, &own->packed, &own->spare);
}

/* Builds the block in own->packed. */
static int compact_block(const struct compaction *c, struct compactor *own, uint32_t index)
{
	struct rows_slot *slot = &c->slots[index];
	uint32_t first = (uint32_t)slot->zone.first_row;

	buf_clear(&own->packed);
	if (late_updates_any(&c->recording->rows.late, first, first + slot->zone.count - 1))
		return merge_block(c, own, index, slot);
	return copy_block(c, own, slot);
}

/* Called with the mutex held; releases it meanwhile. */
static int compact_next(struct compaction *c, struct compactor *own)
{
	uint32_t index = c->begun++;
	struct rows_slot *slot = &c->slots[index];
	int r;

	pthread_mutex_unlock(&c->mutex);
	*slot = c->recording->rows.slots[index];
	r = compact_block(c, own, index);
	slot->length = (uint32_t)own->packed.length;
	pthread_mutex_lock(&c->mutex);
	while (!r && !c->error && c->written != index)
		pthread_cond_wait(&c->turn, &c->mutex);
	slot->offset = c->length;
	c->length += slot->length;
	c->written++;
	pthread_cond_broadcast(&c->turn);
	pthread_mutex_unlock(&c->mutex);
	if (!r)
		r = rows_write_at(c->fd, own->packed.data, slot->length, slot->offset);
	pthread_mutex_lock(&c->mutex);
	return r;
}

static void *compact_all(void *argument)
{
	struct compaction *c = argument;
	struct compactor own = {.block = block_new(0)};
	int r = own.block ? 0 : -ENOMEM;

	pthread_mutex_lock(&c->mutex);
	while (!r && !c->error && c->begun < c->recording->rows.first_open)
		r = compact_next(c, &own);
	if (r < 0)
		c->error = r;
	pthread_cond_broadcast(&c->turn);
	pthread_mutex_unlock(&c->mutex);
	block_free(own.block);
	buf_done(&own.packed);
	buf_done(&own.spare);
	return NULL;
}

/*
 * Replaces the file and the slots by the new ones. The old file stays until a state refers to the
 * new one.
 */
static void replace(struct recording *r, struct compaction *c)
{
	struct rows *rows = &r->rows;

	for (uint32_t i = 0; i < rows->first_open; i++)
		rows->slots[i] = c->slots[i];
	close(rows->fd[0]);
	rows->fd[0] = take_fd(c->fd);
	rows->written = c->length;
	rows->late.page_count = 0;
}

static int compact(struct compaction *c, const char *path)
{
	struct helper helper = {0};

	c->slots = calloc(c->recording->rows.first_open + 1u, sizeof(*c->slots));
	if (!c->slots)
		return -ENOMEM;
	c->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (c->fd < 0)
		return -errno;
	if (c->recording->rows.first_open > 1)
		helper_start(&helper, compact_all, c);
	compact_all(c);
	helper_join(&helper);
	return c->error;
}

int derived_compact(struct recording *r, struct err_text *err)
{
	struct compaction c = {.recording = r,
			       .fd = -1,
			       .mutex = PTHREAD_MUTEX_INITIALIZER,
			       .turn = PTHREAD_COND_INITIALIZER};
	char path[4096];
	int e;

	e = rows_seal(&r->rows, 0);
	if (!e)
		e = rows_write_late(&r->rows);
	if (e < 0 || !r->rows.late.page_count)
		return e;
	rows_path(path, &r->derived, r->derived.generation + 1);
	e = compact(&c, path);
	if (e < 0) {
		unlink(path);
		err_set(err, e, "cannot write %s: %s", path, strerror(-e));
	} else {
		r->derived.generation++;
		replace(r, &c);
	}
	if (c.fd >= 0)
		close(c.fd);
	free(c.slots);
	return e;
}
