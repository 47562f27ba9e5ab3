/* Reads the recording that bench-player plays. */
#include "tests/bench/played.h"

#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "collector/recording/scan.h"
#include "heapcast.pb-c.h"
#include "proto/columns.h"
#include "proto/discovery.h"
#include "proto/frame.h"

struct played played;

#define HEAD_MAX  (2 + STREAM_ID_SIZE + 2 * (1 + VARINT_MAX))
#define OTHER_MAX 64 /* bytes by which another host and start make a batch longer, at most */

static uint8_t *put_head(uint8_t *to, const uint8_t *stream, uint64_t number)
{
	*to++ = 0x0a;
	*to++ = STREAM_ID_SIZE;
	memcpy(to, stream, STREAM_ID_SIZE);
	to += STREAM_ID_SIZE;
	*to++ = 0x10; /* incarnation */
	*to++ = 1;
	*to++ = 0x18;
	return varint_put(to, number);
}

/* The first fields of each batch are its stream, incarnation and number. */
static void load_batch(struct frame_decoder *decoder, const uint8_t *frame,
		       const struct scan_item *item)
{
	uint8_t none[STREAM_ID_SIZE] = {0}, head[HEAD_MAX];
	struct batch *b = &played.batches[played.count++];
	size_t length, head_length = (size_t)(put_head(head, none, item->batch->number) - head);
	struct err_text why = {0};
	const uint8_t *message;

	*b = (struct batch){.due_ms = item->batch->time_ns / 1000000,
			    .number = item->batch->number,
			    .watermark_ns = item->batch->watermark_ns};
	if (frame_decode(decoder, frame, item->length, &message, &length, &why) < 0)
		errx(1, "%s", why.text);
	if (length < head_length || memcmp(message, head, 2) ||
	    memcmp(message + 2 + STREAM_ID_SIZE, head + 2 + STREAM_ID_SIZE,
		   head_length - 2 - STREAM_ID_SIZE))
		errx(1, "a batch that does not begin with its stream and its number");
	b->length = length - head_length;
	b->rest = malloc(b->length + 1);
	if (!b->rest)
		errx(1, "no memory");
	memcpy(b->rest, message + head_length, b->length);
	if (item->batch->process)
		b->process = heapcast__batch__unpack(NULL, length, message);
	played.events += item->batch->events ? item->batch->events->count : 0;
	if (b->process && !played.pid)
		played.pid = b->process->process->pid;
	length += HEAD_MAX + OTHER_MAX;
	played.largest = length > played.largest ? length : played.largest;
}

size_t played_put(size_t index, struct played_as *as, uint8_t *to)
{
	const struct batch *b = &played.batches[index];
	uint8_t *at;

	if (b->process) {
		Heapcast__Batch batch = *b->process;
		Heapcast__Process process = *batch.process;

		process.host = as->host;
		process.start_wall_ns = as->start_wall_ns;
		batch.process = &process;
		batch.stream.data = (uint8_t *)(uintptr_t)as->stream;
		batch.number = as->number;
		return heapcast__batch__pack(&batch, to);
	}
	at = put_head(to, as->stream, as->number);
	memcpy(at, b->rest, b->length);
	return (size_t)(at - to) + b->length;
}

/* No event that follows is older than the watermark, so none belongs before this mark. */
size_t played_put_mark(size_t index, const uint8_t *stream, uint64_t number, uint64_t snapshot,
		       uint64_t *ret_time_ns, uint8_t *to)
{
	uint64_t watermark = played.batches[index].watermark_ns;
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Mark mark = HEAPCAST__MARK__INIT, *marks[] = {&mark};
	char by[] = "collector";

	*ret_time_ns = watermark ? watermark - 1 : 0;
	mark.time_ns = *ret_time_ns;
	mark.kind = HEAPCAST__MARK_KIND__MARK_SNAPSHOT;
	mark.value = snapshot;
	mark.by = by;
	batch.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, (uint8_t *)(uintptr_t)stream};
	batch.incarnation = 1;
	batch.number = number;
	batch.time_ns = batch.watermark_ns = watermark;
	batch.mark = marks;
	batch.n_mark = 1;
	return heapcast__batch__pack(&batch, to);
}

void played_load(const char *path)
{
	struct frame_decoder *decoder = frame_decoder_new();
	uint8_t *frame = NULL;
	struct scan_item item;
	struct scan scan;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "cannot read %s", path);
	if (!decoder || scan_init(&scan, fd, 0, NULL) < 0)
		errx(1, "no memory");
	while (scan_next(&scan, (uint64_t)st.st_size, &item) == 1) {
		frame = realloc(frame, item.length);
		played.batches =
			realloc(played.batches, (played.count + 1) * sizeof(*played.batches));
		if (!frame || !played.batches)
			errx(1, "no memory");
		if (pread(fd, frame, item.length, (off_t)item.offset) != (ssize_t)item.length)
			err(1, "cannot read %s", path);
		load_batch(decoder, frame, &item);
		if (played.batches[played.count - 1].number != played.count)
			errx(1, "only a recording of one agent, without gaps, can be played");
	}
	if (!played.count)
		errx(1, "%s holds no batch", path);
	scan_done(&scan);
	frame_decoder_free(decoder);
	free(frame);
	close(fd);
}
