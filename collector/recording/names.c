/* Symbol names that a recording carries. names.h describes them. */
#include "collector/recording/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "base/ban.h"

/* texts that may be skipped at once, because damage has destroyed their definitions */
#define HOLE_MAX (1u << 16)

void names_done(struct names *n)
{
	buf_done(&n->text);
	free(n->text_at);
	free(n->places);
	free(n->frames);
	map_done(&n->index);
	*n = (struct names){0};
}

void names_renew(struct names *n)
{
	n->text_base = n->text_count;
}

static bool names_has_room(const struct names *n, uint64_t bytes)
{
	return bytes <= NAMES_BYTES_MAX - n->bytes;
}

/* ---- places ---- */

/* Module and offset are untrusted, so the hash has a secret key. */
static uint64_t names_hash(const struct names *n, uint32_t module, uint64_t offset)
{
	const uint64_t words[] = {offset, module};
	uint64_t h = hash_bytes(&n->key, words, sizeof(words));

	return h == MAP_NO_KEY ? 0 : h;
}

static uint64_t next_key(uint64_t key)
{
	return key + 1 == MAP_NO_KEY ? 0 : key + 1;
}

static bool is_place(const struct names_place *p, uint32_t module, uint64_t offset)
{
	return p->module == module && p->offset == offset;
}

const struct names_place *names_find(const struct names *n, uint32_t module, uint64_t offset)
{
	uint64_t *at;

	if (!n->place_count)
		return NULL;
	for (uint64_t key = names_hash(n, module, offset); (at = map_get(&n->index, key));
	     key = next_key(key))
		if (is_place(&n->places[*at - 1], module, offset))
			return &n->places[*at - 1];
	return NULL;
}

int names_put_place(struct names *n, uint32_t module, uint64_t offset, uint32_t count)
{
	const struct names_place place = {offset, module, n->frame_count - count, count};
	uint64_t key, *at;
	bool is_new;

	if (!n->place_count)
		hash_key_choose(&n->key);
	key = names_hash(n, module, offset);
	if (!names_has_room(n, NAMES_PLACE_BYTES))
		return -EBADMSG;
	if (array_reserve(&n->places, &n->place_capacity, (uint64_t)n->place_count + 1,
			  sizeof(*n->places)) < 0)
		return -ENOMEM;
	while ((at = map_put(&n->index, key, &is_new)) && !is_new &&
	       !is_place(&n->places[*at - 1], module, offset))
		key = next_key(key);
	if (!at)
		return -ENOMEM;
	if (is_new) {
		*at = ++n->place_count;
		n->bytes += NAMES_PLACE_BYTES;
	}
	n->places[*at - 1] = place; /* the last definition of a place is valid */
	return 0;
}

int names_put_frame(struct names *n, struct name_frame frame)
{
	if (!names_has_room(n, NAMES_FRAME_BYTES) || frame.function > n->text_count ||
	    frame.file > n->text_count)
		return -EBADMSG;
	if (array_reserve(&n->frames, &n->frame_capacity, (uint64_t)n->frame_count + 1,
			  sizeof(*n->frames)) < 0)
		return -ENOMEM;
	n->frames[n->frame_count++] = frame;
	n->bytes += NAMES_FRAME_BYTES;
	return 0;
}

/* ---- texts ---- */

void names_make_showable(char *text, size_t length)
{
	uint32_t code;

	for (size_t i = 0, n; i < length; i += n) {
		n = utf8_next(text + i, length - i, &code);
		if (n && utf8_shows(code))
			continue;
		n = n ? n : 1;
		memset(text + i, '?', n);
	}
}

int names_put_text(struct names *n, const char *text, size_t length)
{
	size_t at = n->text.length;

	if (!names_has_room(n, NAMES_TEXT_BYTES + length))
		return -EBADMSG;
	if (array_reserve(&n->text_at, &n->text_capacity, (uint64_t)n->text_count + 1,
			  sizeof(*n->text_at)) < 0)
		return -ENOMEM;
	buf_append(&n->text, text, length);
	buf_byte(&n->text, 0);
	if (buf_error(&n->text))
		return -ENOMEM;
	names_make_showable((char *)n->text.data + at, length);
	n->text_at[n->text_count++] = (uint32_t)at;
	n->bytes += NAMES_TEXT_BYTES + length;
	return 0;
}

/* ---- messages ---- */

int names_check(const Heapcast__Names *message, struct err_text *err)
{
	struct names_decoder d;
	struct name_place place;
	struct name_frame frame;
	const char *text;
	uint32_t number;
	size_t length;
	int r = names_decoder_init(&d, message, err);

	while (!r && (r = names_decoder_text(&d, &number, &text, &length, err)) == 1)
		r = 0;
	while (!r && (r = names_decoder_place(&d, &place, err)) == 1) {
		r = 0;
		for (uint32_t i = 0; !r && i < place.frames; i++)
			r = names_decoder_frame(&d, &frame, err);
	}
	return r;
}

/* Texts that were lost by damage become empty. */
static int names_take_text(struct names *n, uint32_t number, const char *text, size_t length,
			   struct err_text *err)
{
	uint32_t known = n->text_count - n->text_base;
	int r = 0;

	if (number <= known)
		return 0;
	if (number - known > HOLE_MAX)
		return err_set(err, -EBADMSG, "names: texts %u to %u were never defined", known + 1,
			       number - 1);
	while (!r && ++known < number)
		r = names_put_text(n, "", 0);
	return r ? r : names_put_text(n, text, length);
}

/* Maps a text number on the wire. An undefined number becomes 0. */
static uint32_t text_here(const struct names *n, uint32_t wire)
{
	return wire && wire <= n->text_count - n->text_base ? wire + n->text_base : 0;
}

static int names_take_place(struct names *n, struct names_decoder *d,
			    const struct name_place *place, uint32_t module, struct err_text *err)
{
	struct name_frame frame;
	int r = 0;

	for (uint32_t i = 0; !r && i < place->frames; i++) {
		r = names_decoder_frame(d, &frame, err);
		if (r < 0)
			return r;
		frame.function = text_here(n, frame.function);
		frame.file = text_here(n, frame.file);
		r = names_put_frame(n, frame);
	}
	return r ? r : names_put_place(n, module, place->offset, place->frames);
}

int names_add(struct names *n, const Heapcast__Names *message,
	      uint32_t (*module_of)(const void *context, uint32_t number), const void *context,
	      struct err_text *err)
{
	struct names_decoder d;
	struct name_place place;
	const char *text;
	uint32_t number, module;
	size_t length;
	int r = names_decoder_init(&d, message, err);

	while (!r && (r = names_decoder_text(&d, &number, &text, &length, err)) == 1)
		r = names_take_text(n, number, text, length, err);
	while (!r && (r = names_decoder_place(&d, &place, err)) == 1) {
		module = module_of(context, place.module);
		if (place.module && !module)
			return err_set(err, -EBADMSG,
				       "names: a place in module %u, which is not defined",
				       place.module);
		r = names_take_place(n, &d, &place, module, err);
	}
	return r == -EBADMSG && err && !err->text[0]
		       ? err_set(err, r, "names: more than " NAMES_BYTES_TEXT " of them")
		       : r;
}
