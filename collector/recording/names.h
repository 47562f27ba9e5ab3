#pragma once
/*
 * Places that a recording names itself (Batch.names): texts by number, and by (module, offset) the
 * frames there.
 *
 *   (module, offset) --index--> places[i] -> frames[first .. first + count - 1]
 *                                         -> text + text_at[number - 1]
 */
#include <assert.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "heapcast.pb-c.h"
#include "proto/names.h"

/* What all of them take in memory is bounded, not how many there are of each: half of what a
 * collector may use. */
#define NAMES_BYTES_MAX	  (256u << 20)
#define NAMES_BYTES_TEXT  "256 MiB"
#define NAMES_TEXT_BYTES  5 /* of each text, besides its length */
#define NAMES_PLACE_BYTES 56
#define NAMES_FRAME_BYTES 12

struct names_place {
	uint64_t offset;
	uint32_t module, first, count;
};

static_assert(sizeof(struct names_place) + 2 * sizeof(struct map_entry) <= NAMES_PLACE_BYTES,
	      "as the specification counts them");
static_assert(sizeof(struct name_frame) == NAMES_FRAME_BYTES, "as the specification counts them");

struct names {
	struct buf text; /* each ended by a NUL */
	uint32_t *text_at;
	uint32_t text_count, text_capacity;
	uint32_t text_base; /* texts of incarnations before: number here = number on the wire + this
			     */
	struct names_place *places;
	uint32_t place_count, place_capacity;
	struct name_frame *frames; /* with numbers of texts here */
	uint32_t frame_count, frame_capacity;
	uint64_t bytes;	     /* of NAMES_BYTES_MAX */
	struct hash_key key; /* of `index` */
	struct map index; /* hash of (module, offset) -> index in places + 1; what collides stands
			     under the next free key */
};

void names_done(struct names *names);
/* Another agent goes on with the stream: its texts begin at 1 again. */
void names_renew(struct names *names);
/* Every column is walked to its end. 0 or -EBADMSG with a sentence. */
int names_check(const Heapcast__Names *message, struct err_text *err);
/* `module_of`: the number here of a module on the wire, 0: not defined. 0; -EBADMSG with a
 * sentence; -ENOMEM. */
int names_add(struct names *names, const Heapcast__Names *message,
	      uint32_t (*module_of)(const void *context, uint32_t number), const void *context,
	      struct err_text *err);
/* For texts from outside that go to terminals: control characters, and what is no character, become
 * '?'. */
void names_make_showable(char *text, size_t length);
/* For state.c: a text, or a place whose frames are the last `count` of `frames`. 0, -EBADMSG or
 * -ENOMEM. */
int names_put_text(struct names *names, const char *text, size_t length);
int names_put_frame(struct names *names, struct name_frame frame);
int names_put_place(struct names *names, uint32_t module, uint64_t offset, uint32_t count);
/* NULL: the recording says nothing of the place. */
const struct names_place *names_find(const struct names *names, uint32_t module, uint64_t offset);
/* NULL for 0. */
static inline const char *names_text(const struct names *names, uint32_t number)
{
	return number && number <= names->text_count
		       ? (const char *)names->text.data + names->text_at[number - 1]
		       : NULL;
}
