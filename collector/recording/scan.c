/* Walks the frames of a recording. scan.h describes it. */
#include "collector/recording/scan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "proto/columns.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "base/ban.h"

#define READ_SIZE     (1u << 20)
#define RESYNC_BUDGET (1ull << 30)

static const uint8_t magic[4] = {0x04, 0x22, 0x4d, 0x18};

int scan_init(struct scan *s, int fd, uint64_t offset, struct err_text *damage)
{
	*s = (struct scan){
		.fd = fd,
		.offset = offset,
		.window_offset = offset,
		.first_damage = UINT64_MAX,
		.damage = damage,
		.messages = message_reader_new(),
	};
	return s->messages ? 0 : -ENOMEM;
}

void scan_done(struct scan *s)
{
	message_reader_free(s->messages);
	s->messages = NULL;
	buf_done(&s->window);
}

/* Loads [from, from + wanted), limited by `size`, into the window. Drops bytes before `from`. */
static int scan_fill(struct scan *s, uint64_t from, size_t wanted, uint64_t size)
{
	uint64_t end = from + wanted < size ? from + wanted : size;

	if (from < s->window_offset || from > s->window_offset + s->window.length) {
		buf_clear(&s->window);
		s->window_offset = from;
	}
	if (s->window_offset + s->window.length >= end)
		return 0;
	buf_consume(&s->window, (size_t)(from - s->window_offset));
	s->window_offset = from;
	while (s->window_offset + s->window.length < end) {
		uint64_t at = s->window_offset + s->window.length;
		size_t n = size - at < READ_SIZE ? (size_t)(size - at) : READ_SIZE;
		uint8_t *room = buf_reserve(&s->window, n);
		ssize_t got;

		if (!room)
			return -ENOMEM;
		got = pread(s->fd, room, n, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return 0; /* the file was truncated meanwhile */
		s->window.length += (size_t)got;
	}
	return 0;
}

static const uint8_t *window_at(const struct scan *s, uint64_t from, size_t *ret_available)
{
	uint64_t end = s->window_offset + s->window.length;

	*ret_available = from < end ? (size_t)(end - from) : 0;
	return *ret_available ? s->window.data + (from - s->window_offset) : NULL;
}

/*
 * Tries the frame at `at`. Returns 1 with a valid frame in ret_item, 0 if it extends beyond `size`,
 * -EBADMSG if it is invalid, or another negative errno.
 */
static int try_frame(struct scan *s, uint64_t at, uint64_t size, struct scan_item *ret_item,
		     struct err_text *err)
{
	size_t needed = 64, available;
	ProtobufCMessage *message;
	const uint8_t *data;
	int r;

	for (;;) {
		size_t before = needed;

		r = scan_fill(s, at, needed, size);
		if (r < 0)
			return r;
		data = window_at(s, at, &available);
		if (!data)
			return 0;
		r = frame_length(data, available, &needed, err);
		s->resync_spent += r == 1 ? 64 : 0;
		if (r < 0)
			return -EBADMSG;
		if (r == 1)
			break;
		if (available < before || at + available >= size)
			return 0;
		if (needed <= available)
			return -EBADMSG;
	}
	r = message_reader_open(s->messages, &heapcast__batch__descriptor, data, needed, &message,
				err);
	if (r < 0)
		return r;
	*ret_item = (struct scan_item){
		.offset = at, .length = needed, .batch = (const Heapcast__Batch *)message};
	return 1;
}

static void note_damage(struct scan *s, uint64_t at, uint64_t length, const struct err_text *reason)
{
	if (!s->damaged_places++) {
		s->first_damage = at;
		if (s->damage && reason)
			*s->damage = *reason;
	}
	s->skipped_bytes += length;
}

void scan_reject(struct scan *s, const struct scan_item *item, const struct err_text *reason)
{
	note_damage(s, item->offset, item->length, reason);
}

/*
 * Finds the first valid frame behind `bad`. Returns the same values as try_frame, 0 if there is no
 * such frame.
 */
static int resync(struct scan *s, uint64_t bad, uint64_t size, struct scan_item *ret_item)
{
	uint64_t at = bad + 1;

	while (at + sizeof(magic) <= size && s->resync_spent < RESYNC_BUDGET) {
		const uint8_t *data, *hit;
		size_t available;
		int r = scan_fill(s, at, sizeof(magic), size);

		if (r < 0)
			return r;
		data = window_at(s, at, &available);
		if (available < sizeof(magic))
			return 0;
		hit = memmem(data, available, magic, sizeof(magic));
		s->resync_spent += available / 16;
		if (!hit) {
			at += available - (sizeof(magic) - 1);
			continue;
		}
		at += (uint64_t)(hit - data);
		r = try_frame(s, at, size, ret_item, NULL);
		if (r == 1 || (r < 0 && r != -EBADMSG))
			return r;
		s->resync_spent += s->window.length; /* an upper bound of wasted bytes */
		at++;
	}
	return 0;
}

int scan_next(struct scan *s, uint64_t size, struct scan_item *ret_item)
{
	struct err_text reason = {0};
	int first, r;

	if (s->offset >= size)
		return 0;
	first = try_frame(s, s->offset, size, ret_item, &reason);
	if (first < 0 && first != -EBADMSG)
		return first;
	r = first == 1 ? 1 : resync(s, s->offset, size, ret_item);
	if (r == 1 && ret_item->offset > s->offset)
		note_damage(s, s->offset, ret_item->offset - s->offset, &reason);
	if (r == 1)
		s->offset = ret_item->offset + ret_item->length;
	else if (s->damage && first == -EBADMSG && !s->damaged_places)
		*s->damage = reason;
	return r;
}

int scan_tail(struct scan *s, uint64_t size)
{
	struct scan_item item;
	size_t available;
	const uint8_t *data;
	int r = s->offset < size ? try_frame(s, s->offset, size, &item, NULL) : 0;

	if (r < 0)
		return r == -EBADMSG ? 1 : r;
	data = window_at(s, s->offset, &available);
	return data && size > s->offset && !frame_is_beginning(data, available);
}

void scan_tell(const struct scan *s, struct scan_place *ret)
{
	ret->offset = s->offset;
	ret->resync_spent = s->resync_spent;
	ret->skipped_bytes = s->skipped_bytes;
	ret->damaged_places = s->damaged_places;
	ret->first_damage = s->first_damage;
	if (s->damage)
		ret->reason = *s->damage;
}

void scan_return(struct scan *s, const struct scan_place *place)
{
	s->offset = place->offset;
	s->resync_spent = place->resync_spent;
	s->skipped_bytes = place->skipped_bytes;
	s->damaged_places = place->damaged_places;
	s->first_damage = place->first_damage;
	if (s->damage)
		*s->damage = place->reason;
}
