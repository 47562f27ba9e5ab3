/* Searches the spool folder for streams of dead agents, and indexes the position of each frame. See
 * orphans.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/spool/orphans.h"
#include "agent/spool/spool_files.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/words.h"
#include "heapcast.pb-c.h"
#include "proto/frame.h"
#include "base/ban.h"

#define CONTENT_SIZE_AT 6 /* offset of the content size in an LZ4 frame's header */

/* The state of the search. */
struct search {
	struct orphans *orphans;
	struct frame_decoder *decoder;
	uint8_t *buffer;
	size_t size;
	uint64_t entries; /* written to the index so far */
	uint32_t damaged; /* files that are damaged from some byte on */
	uint32_t skipped; /* segments for which no orphan was free */
};

/* Verifies with the orphan's first frame that the file belongs to this stream, and takes the
 * process from it. */
static int identify(struct orphan *o, const uint8_t *message, size_t length)
{
	Heapcast__Batch *batch = heapcast__batch__unpack(NULL, length, message);
	int r = batch && batch->stream.len == STREAM_ID_SIZE &&
				!memcmp(batch->stream.data, o->id, STREAM_ID_SIZE) &&
				batch->incarnation == o->incarnation
			? 0
			: -EBADMSG;

	if (!r && batch->process) {
		o->pid = batch->process->pid;
		words_clean(o->executable, sizeof(o->executable), batch->process->executable.data,
			    batch->process->executable.len);
	}
	if (batch)
		heapcast__batch__free_unpacked(batch, NULL);
	return r;
}

/* Verifies a frame that lies completely in the buffer. */
static int check_frame(struct search *s, struct orphan *o, const uint8_t *frame, size_t length)
{
	struct reader content = reader_of(frame + CONTENT_SIZE_AT, 8);
	const uint8_t *message;
	size_t size;
	int r;

	if (reader_u64le(&content) > s->size)
		return -EMSGSIZE;
	r = frame_decode(s->decoder, frame, length, &message, &size, NULL);
	return r < 0 || o->pid ? r : identify(o, message, size);
}

static int orphans_open_note(struct search *s, uint64_t offset, size_t length, uint32_t file)
{
	struct orphan_entry e = {.offset = offset, .length = (uint32_t)length, .file = file};
	int r = spool_file_write(s->orphans->index, &e, sizeof(e), s->entries * sizeof(e));

	s->entries += !r;
	return r;
}

/* Indexes the complete frames of one read from `offset` on. Returns 1 if more may follow at
 * *offset, 0 at the end of the file, -EBADMSG or -EMSGSIZE if the data is damaged or too large, or
 * another negative errno if the index can't be written. */
static int read_some(struct search *s, struct orphan *o, int fd, uint32_t file, uint64_t *offset)
{
	ssize_t n = pread(fd, s->buffer, s->size, (off_t)*offset);
	size_t at = 0, length;
	int r = n < 0 ? -EBADMSG : 0;

	while (!r && (r = frame_length(s->buffer + at, (size_t)n - at, &length, NULL)) == 1) {
		r = check_frame(s, o, s->buffer + at, length);
		if (!r)
			r = orphans_open_note(s, *offset + at, length, file);
		at += r ? 0 : length;
	}
	*offset += at;
	if (r < 0)
		return r;
	return at ? 1 : n ? -EBADMSG : 0; /* longer than the buffer, or torn */
}

/* Indexes a file up to where it is damaged. Returns the number of frames, or a negative errno if
 * the index can't be written. */
static int64_t orphans_open_read_file(struct search *s, struct orphan *o, uint32_t segment,
				      enum spool_file kind)
{
	char name[SPOOL_NAME_MAX];
	cleanup(cleanup_close) int fd =
		openat(s->orphans->folder->fd,
		       spool_file_name(name, o->id, o->incarnation, o->first[segment], kind),
		       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint64_t before = s->entries, offset = 0;
	int r = fd < 0 ? -EBADMSG : 1;

	while (r == 1)
		r = read_some(s, o, fd, 2 * segment + (kind == SPOOL_DEFINITIONS), &offset);
	if (r == -EBADMSG || r == -EMSGSIZE) {
		log_info("%s/%s is damaged from byte %llu on", s->orphans->folder->path, name,
			 (unsigned long long)offset);
		s->damaged++;
		r = 0;
	}
	return r < 0 ? r : (int64_t)(s->entries - before);
}

/* Removes the files of a segment without frames: its agent had only just created it. */
static void remove_empty(const struct search *s, const struct orphan *o, uint32_t segment)
{
	char name[SPOOL_NAME_MAX];

	for (int kind = SPOOL_FRAMES; kind <= SPOOL_DEFINITIONS; kind++)
		s->orphans->folder->used -= spool_file_remove(
			s->orphans->folder->fd,
			spool_file_name(name, o->id, o->incarnation, o->first[segment],
					(enum spool_file)kind));
}

/* Appends the frames of a segment to `o`, which is empty or ends where the segment begins. Returns
 * the number of frames or a negative errno. */
static int64_t orphans_open_append(struct search *s, struct orphan *o,
				   const struct spool_left *left)
{
	uint32_t damaged = s->damaged;
	int64_t frames;

	o->first[o->segments] = o->next = left->first;
	frames = orphans_open_read_file(s, o, o->segments, SPOOL_FRAMES);
	if (!frames && s->damaged == damaged)
		remove_empty(s, o, o->segments);
	if (frames > 0) {
		o->segments++;
		o->next += (uint64_t)frames;
	}
	return frames;
}

static bool goes_on(const struct orphan *o, const struct spool_left *left)
{
	return o->segments && o->segments < SPOOL_SEGMENTS && o->next == left->first &&
	       o->incarnation == left->incarnation && !memcmp(o->id, left->stream, STREAM_ID_SIZE);
}

/* Begins an orphan with this segment. A collector that lacks earlier frames needs the definitions
 * before the segment. */
static int64_t orphans_open_begin(struct search *s, const struct spool_left *left)
{
	struct orphan *o = &s->orphans->orphan[s->orphans->count];
	int64_t n = 1;

	*o = (struct orphan){.incarnation = left->incarnation, .entry = s->entries};
	memcpy(o->id, left->stream, STREAM_ID_SIZE);
	o->first[0] = left->first;
	if (left->first > 1) {
		n = orphans_open_read_file(s, o, 0, SPOOL_DEFINITIONS);
		o->definitions = n > 0 ? (uint32_t)n : 0;
	}
	if (n >= 0)
		n = orphans_open_append(s, o, left);
	if (n > 0 && (o->definitions || left->first == 1))
		s->orphans->count++;
	return n;
}

static int orphans_open_look(struct search *s, const struct spool_left *left, int count)
{
	struct orphans *os = s->orphans;
	int64_t n = 0;

	for (int i = 0; i < count && n >= 0; i++) {
		struct orphan *last = os->count ? &os->orphan[os->count - 1] : NULL;

		if (last && goes_on(last, &left[i]))
			n = orphans_open_append(s, last, &left[i]);
		else if (os->count < ORPHANS_MAX)
			n = orphans_open_begin(s, &left[i]);
		else
			s->skipped++;
	}
	return n < 0 ? (int)n : 0;
}

static void orphans_open_tell(const struct search *s)
{
	const struct orphans *os = s->orphans;
	char size[32];

	if (os->count)
		log_warn("an earlier agent ended before a collector had received everything: %u "
			 "stream%s (%s in %s) wait%s for a collector",
			 os->count, os->count == 1 ? "" : "s",
			 format_size(size, (double)os->folder->used), os->folder->path,
			 os->count == 1 ? "s" : "");
	if (s->skipped)
		log_warn("%u more files in %s wait for the next start", s->skipped,
			 os->folder->path);
	if (s->damaged)
		log_warn("%u files in %s that an earlier agent left are damaged: what follows the "
			 "damage is not sent",
			 s->damaged, os->folder->path);
}

static int find_all(struct search *s, const struct spool_left *left, int count)
{
	struct orphans *os = s->orphans;
	uint32_t most = (uint32_t)count < ORPHANS_MAX ? (uint32_t)count : ORPHANS_MAX;
	int r = 0;

	os->orphan = calloc(most, sizeof(*os->orphan));
	s->decoder = frame_decoder_new();
	s->buffer = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!os->orphan || !s->decoder || s->buffer == MAP_FAILED)
		r = -ENOMEM;
	if (!r)
		r = os->index = spool_file_nameless(os->folder->fd);
	if (r >= 0)
		r = orphans_open_look(s, left, count);
	os->reader = r < 0 || !os->count
			     ? NULL
			     : calloc((size_t)os->links * os->count, sizeof(*os->reader));
	if (!r && os->count && !os->reader)
		r = -ENOMEM;
	if (s->buffer != MAP_FAILED)
		munmap(s->buffer, s->size);
	frame_decoder_free(s->decoder);
	return r;
}

void orphans_open(struct orphans *os, struct spool_folder *folder, uint32_t links, size_t frame_max)
{
	struct search s = {.orphans = os, .size = frame_max};
	cleanup(cleanup_free) struct spool_left *left = NULL;
	int count, r;

	*os = (struct orphans){.folder = folder, .links = links, .index = -1};
	count = r = spool_files_left(folder->fd, &left);
	if (count > 0)
		r = find_all(&s, left, count);
	if (r < 0) {
		log_warn("can't look through what an earlier agent has left in %s: %s; it stays "
			 "there",
			 folder->path, strerror(-r));
		orphans_close(os);
		return;
	}
	__atomic_add_fetch(&folder->used, s.entries * sizeof(struct orphan_entry),
			   __ATOMIC_RELAXED);
	orphans_open_tell(&s);
}

void orphans_close(struct orphans *os)
{
	if (os->index >= 0)
		close(os->index);
	free(os->orphan);
	free(os->reader);
	*os = (struct orphans){.index = -1};
}

size_t orphans_memory(const struct orphans *os)
{
	return os->count * (sizeof(*os->orphan) + os->links * sizeof(*os->reader));
}
