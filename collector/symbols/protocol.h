#pragma once
/*
 * The protocol of collector and worker, over one stream socket.
 *
 *   message:  u32le length | length bytes
 *   request:  version, memory_bytes, seconds, path, count, count address deltas (ascending, no
 *             duplicates)
 *   answer:   version, error, text, strings, places (one per requested address, in order):
 *             quality, start, count of frames, frames (function, raw, file, line, column, flags)
 *
 * All numbers are varints. Strings are a length and bytes; frames refer to strings by number. Both
 * sides check everything, because a crafted file may have taken over the worker.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/symbols/strings.h"

struct buf;

#define MESSAGE_MAX    (256u << 20)
#define PLACES_MAX     (1u << 18) /* per request */
#define FRAMES_MAX     64	  /* per place */
#define STRING_MAX     8192
#define WORKER_COMMAND "symbols-worker"

/* How much is known about a place; higher is better. */
enum place_quality {
	PLACE_UNKNOWN,
	PLACE_NAMED, /* from a symbol table: the function without a line */
	PLACE_FULL,  /* from debug information */
};

struct place_frame {
	uint32_t function, raw, file; /* numbers of strings */
	uint32_t line, column;
	bool is_inline;
};

struct place {
	uint64_t address;
	uint32_t first, count; /* frames, innermost first */
	uint8_t quality;
	uint64_t start; /* beginning of its function, if that has no name; 0: unknown */
};

struct request {
	uint64_t memory_bytes, seconds;
	char *path;
	uint64_t *addresses;
	size_t count;
};

struct answer {
	int error;	/* negative errno: the file could not be read; `text` gives the reason */
	char text[256]; /* "": nothing to report */
	struct strings strings;
	struct place_frame *frames;
	size_t frame_count, frame_capacity;
	struct place *places;
	size_t place_count;
};

void request_done(struct request *request);
void answer_done(struct answer *answer);

/* Appends a frame to the last place. Returns NULL if memory is short. */
struct place_frame *answer_frame(struct answer *answer, struct place *place);

/* Append a complete message with its length. Errors show in buf_error. */
void request_encode(struct buf *out, const struct request *request);
void answer_encode(struct buf *out, const struct answer *answer);

/*
 * Decode a message without its length. Return 0, -EBADMSG or -ENOMEM; after an error there is
 * nothing to free.
 */
int request_decode(const uint8_t *data, size_t length, struct request *ret_request);
int answer_decode(const uint8_t *data, size_t length, const struct request *request,
		  struct answer *ret_answer);
