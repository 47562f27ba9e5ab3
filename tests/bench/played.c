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
#include "proto/discovery.h"
#include "proto/frame.h"

struct played played;

/* The stream's id is the first field of each batch that has one. */
static void load_batch(struct frame_decoder *decoder, const uint8_t *frame,
		       const struct scan_item *item)
{
	struct batch *b = &played.batches[played.count++];
	struct err_text why = {0};
	const uint8_t *message;
	uint8_t *room;

	if (frame_decode(decoder, frame, item->length, &message, &b->length, &why) < 0)
		errx(1, "%s", why.text);
	room = malloc(FRAME_HEADROOM + b->length);
	if (!room || b->length < 2 + STREAM_ID_SIZE || message[0] != 0x0a ||
	    message[1] != STREAM_ID_SIZE)
		errx(1, "a batch that does not begin with its stream");
	b->message = room + FRAME_HEADROOM;
	memcpy(b->message, message, b->length);
	b->due_ms = item->batch->time_ns / 1000000;
	b->number = item->batch->number;
	played.events += item->batch->events ? item->batch->events->count : 0;
	if (item->batch->process && !played.pid)
		played.pid = item->batch->process->pid;
	played.largest = b->length > played.largest ? b->length : played.largest;
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
