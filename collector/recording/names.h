#pragma once
/*
 * Symbol names that a recording carries itself (Batch.names): texts by number, and the frames of
 * each place (module, offset).
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

/*
 * The limit is on the memory of all names together, not on the number of each kind: half of the
 * memory that a collector may use.
 */
#define NAMES_BYTES_MAX	  (256u << 20)
#define NAMES_BYTES_TEXT  "256 MiB"
#define NAMES_TEXT_BYTES  5 /* per text, in addition to its length */
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
	struct buf text; /* each followed by a NUL */
	uint32_t *text_at;
	uint32_t text_count, text_capacity;
	uint32_t text_base; /* texts of earlier incarnations: number here = wire number + this */
	struct names_place *places;
	uint32_t place_count, place_capacity;
	struct name_frame *frames; /* with text numbers of this recording */
	uint32_t frame_count, frame_capacity;
	uint64_t bytes;	     /* part of NAMES_BYTES_MAX that is used */
	struct hash_key key; /* secret key of the hash in `index` */
	struct map index; /* hash of (module, offset) -> index in places + 1; a colliding entry has
			   * the next free key */
};

void names_done(struct names *names);
/* Switches to a new agent, whose texts begin at 1 again. */
void names_renew(struct names *names);
/* Checks a message by decoding every column to its end. Returns 0, or -EBADMSG with a sentence. */
int names_check(const Heapcast__Names *message, struct err_text *err);
/*
 * Takes a message. `module_of` maps a module number on the wire to the number here, or 0 if it is
 * undefined. Returns 0, -EBADMSG with a sentence, or -ENOMEM.
 */
int names_add(struct names *names, const Heapcast__Names *message,
	      uint32_t (*module_of)(const void *context, uint32_t number), const void *context,
	      struct err_text *err);
/*
 * Makes untrusted text safe for terminals, in place: control characters and invalid bytes become
 * '?'.
 */
void names_make_showable(char *text, size_t length);
/*
 * For state.c: add a text, a frame, or a place that consists of the last `count` frames. Return 0,
 * -EBADMSG or -ENOMEM.
 */
int names_put_text(struct names *names, const char *text, size_t length);
int names_put_frame(struct names *names, struct name_frame frame);
int names_put_place(struct names *names, uint32_t module, uint64_t offset, uint32_t count);
/* Returns the place, or NULL if the recording does not name it. */
const struct names_place *names_find(const struct names *names, uint32_t module, uint64_t offset);
/* Returns NULL for 0 and for unknown numbers. */
static inline const char *names_text(const struct names *names, uint32_t number)
{
	return number && number <= names->text_count
		       ? (const char *)names->text.data + names->text_at[number - 1]
		       : NULL;
}
