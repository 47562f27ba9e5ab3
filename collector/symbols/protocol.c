/* Encodes and decodes requests and answers. protocol.h describes the format. */
#include "collector/symbols/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/words.h"

#include "base/ban.h"

#define PROTOCOL_VERSION 2

void request_done(struct request *request)
{
	free(request->path);
	free(request->addresses);
	*request = (struct request){0};
}

void answer_done(struct answer *answer)
{
	strings_done(&answer->strings);
	free(answer->frames);
	free(answer->places);
	*answer = (struct answer){0};
}

struct place_frame *answer_frame(struct answer *answer, struct place *place)
{
	if (answer->frame_count == answer->frame_capacity) {
		size_t capacity = answer->frame_capacity ? answer->frame_capacity * 2 : 256;
		struct place_frame *frames =
			reallocarray(answer->frames, capacity, sizeof(*frames));

		if (!frames)
			return NULL;
		answer->frames = frames;
		answer->frame_capacity = capacity;
	}
	place->count++;
	answer->frames[answer->frame_count] = (struct place_frame){0};
	return &answer->frames[answer->frame_count++];
}

/* ---- encoding ---- */

static void protocol_put(struct buf *out, uint64_t value)
{
	uint8_t *to = buf_reserve(out, VARINT_MAX);

	if (to)
		out->length += (size_t)(varint_put(to, value) - to);
}

static void put_string(struct buf *out, const char *text)
{
	size_t length = strlen(text);

	if (length > STRING_MAX)
		length = STRING_MAX;
	protocol_put(out, length);
	buf_append(out, text, length);
}

static size_t protocol_begin(struct buf *out)
{
	size_t at = out->length;

	buf_append(out, "\0\0\0\0", 4);
	protocol_put(out, PROTOCOL_VERSION);
	return at;
}

static void protocol_end(struct buf *out, size_t at)
{
	size_t length = out->length - at - 4;

	if (buf_error(out))
		return;
	if (length > MESSAGE_MAX)
		out->error = -EMSGSIZE;
	for (unsigned i = 0; i < 4; i++)
		out->data[at + i] = (uint8_t)(length >> 8 * i);
}

void request_encode(struct buf *out, const struct request *request)
{
	size_t at = protocol_begin(out);
	uint64_t last = 0;

	protocol_put(out, request->memory_bytes);
	protocol_put(out, request->seconds);
	put_string(out, request->path);
	protocol_put(out, request->count);
	for (size_t i = 0; i < request->count; i++) {
		protocol_put(out, request->addresses[i] - last);
		last = request->addresses[i];
	}
	protocol_end(out, at);
}

static void put_place(struct buf *out, const struct answer *answer, const struct place *place)
{
	protocol_put(out, place->quality);
	protocol_put(out, place->start);
	protocol_put(out, place->count);
	for (uint32_t i = 0; i < place->count; i++) {
		const struct place_frame *f = &answer->frames[place->first + i];

		protocol_put(out, f->function);
		protocol_put(out, f->raw);
		protocol_put(out, f->file);
		protocol_put(out, f->line);
		protocol_put(out, f->column);
		protocol_put(out, f->is_inline);
	}
}

void answer_encode(struct buf *out, const struct answer *answer)
{
	size_t at = protocol_begin(out);

	protocol_put(out, (uint64_t)-answer->error);
	put_string(out, answer->text);
	protocol_put(out, answer->strings.texts.count);
	for (uint32_t i = 1; i <= answer->strings.texts.count; i++)
		put_string(out, strings_at(&answer->strings, i));
	protocol_put(out, answer->place_count);
	for (size_t i = 0; i < answer->place_count; i++)
		put_place(out, answer, &answer->places[i]);
	protocol_end(out, at);
}

/* ---- decoding ---- */

/* Reads a number of at most `most`. */
static uint64_t protocol_get(struct reader *r, uint64_t most)
{
	uint64_t value = reader_varint(r);

	if (value > most)
		r->error = -EBADMSG;
	return r->error ? 0 : value;
}

static const char *get_string(struct reader *r, size_t *ret_length)
{
	*ret_length = protocol_get(r, STRING_MAX);
	return (const char *)reader_bytes(r, *ret_length);
}

/*
 * Reads a count of items that take at least `least` bytes each, and checks that so many bytes
 * follow.
 */
static size_t get_count(struct reader *r, uint64_t most, size_t least)
{
	size_t count = protocol_get(r, most);

	if (count > reader_left(r) / least)
		r->error = -EBADMSG;
	return r->error ? 0 : count;
}

static int protocol_read_request(struct reader *r, struct request *request)
{
	uint64_t last = 0;
	size_t length;
	const char *path;

	if (protocol_get(r, UINT64_MAX) != PROTOCOL_VERSION)
		return -EBADMSG;
	request->memory_bytes = protocol_get(r, UINT64_MAX);
	request->seconds = protocol_get(r, UINT32_MAX);
	path = get_string(r, &length);
	request->count = get_count(r, PLACES_MAX, 1);
	if (r->error || memchr(path, 0, length))
		return -EBADMSG;
	request->path = strndup(path, length);
	request->addresses = calloc(request->count + 1, sizeof(*request->addresses));
	if (!request->path || !request->addresses)
		return -ENOMEM;
	for (size_t i = 0; i < request->count; i++) {
		uint64_t delta = protocol_get(r, UINT64_MAX - last);

		if (i && !delta)
			return -EBADMSG;
		request->addresses[i] = last += delta;
	}
	return r->error || reader_more(r) ? -EBADMSG : 0;
}

int request_decode(const uint8_t *data, size_t length, struct request *ret_request)
{
	struct reader r = reader_of(data, length);
	struct request request = {0};
	int error = protocol_read_request(&r, &request);

	if (error)
		request_done(&request);
	else
		*ret_request = request;
	return error;
}

/*
 * Reads the strings. Distinct strings may become equal when they are cleaned, so `map` translates
 * their numbers.
 */
static int read_strings(struct reader *r, struct strings *strings, uint32_t **ret_map,
			uint32_t *ret_count)
{
	char clean[3 * STRING_MAX + 1];
	uint32_t count = (uint32_t)get_count(r, UINT32_MAX - 1, 1);
	uint32_t *map = calloc((size_t)count + 1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	*ret_map = map;
	*ret_count = count;
	for (uint32_t i = 1; i <= count; i++) {
		size_t length;
		const char *text = get_string(r, &length);

		if (r->error)
			return -EBADMSG;
		map[i] = strings_put(strings, clean,
				     words_clean(clean, sizeof(clean), text, length));
		if (!map[i])
			return -ENOMEM;
	}
	return 0;
}

static int read_place(struct reader *r, struct answer *answer, struct place *place,
		      const uint32_t *map, uint32_t count)
{
	uint32_t frames;

	place->quality = (uint8_t)protocol_get(r, PLACE_FULL);
	place->start = protocol_get(r, place->address);
	place->first = (uint32_t)answer->frame_count;
	frames = (uint32_t)protocol_get(r, FRAMES_MAX);
	for (uint32_t i = 0; i < frames && !r->error; i++) {
		struct place_frame *f = answer_frame(answer, place);

		if (!f)
			return -ENOMEM;
		f->function = map[protocol_get(r, count)];
		f->raw = map[protocol_get(r, count)];
		f->file = map[protocol_get(r, count)];
		f->line = (uint32_t)protocol_get(r, UINT32_MAX);
		f->column = (uint32_t)protocol_get(r, UINT32_MAX);
		f->is_inline = protocol_get(r, 1) && i + 1 < frames;
	}
	return r->error;
}

static int read_places(struct reader *r, const struct request *request, struct answer *answer,
		       const uint32_t *map, uint32_t strings)
{
	size_t count = get_count(r, PLACES_MAX, 3);
	int error = 0;

	if (r->error || count != (answer->error ? 0 : request->count))
		return -EBADMSG;
	answer->places = calloc(count + 1, sizeof(*answer->places));
	if (!answer->places)
		return -ENOMEM;
	answer->place_count = count;
	for (size_t i = 0; i < count && !error; i++) {
		answer->places[i].address = request->addresses[i];
		error = read_place(r, answer, &answer->places[i], map, strings);
	}
	return error;
}

static int protocol_read_answer(struct reader *r, const struct request *request,
				struct answer *answer)
{
	uint32_t *map = NULL;
	uint32_t count = 0;
	size_t length;
	const char *text;
	int error;

	if (protocol_get(r, UINT64_MAX) != PROTOCOL_VERSION)
		return -EBADMSG;
	answer->error = -(int)protocol_get(r, 4095);
	text = get_string(r, &length);
	if (r->error)
		return -EBADMSG;
	words_clean(answer->text, sizeof(answer->text), text, length);
	error = read_strings(r, &answer->strings, &map, &count);
	if (!error)
		error = read_places(r, request, answer, map, count);
	free(map);
	return error ? error : reader_more(r) ? -EBADMSG : 0;
}

int answer_decode(const uint8_t *data, size_t length, const struct request *request,
		  struct answer *ret_answer)
{
	struct reader r = reader_of(data, length);
	struct answer answer = {0};
	int error = protocol_read_answer(&r, request, &answer);

	if (error)
		answer_done(&answer);
	else
		*ret_answer = answer;
	return error;
}
