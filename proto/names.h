#pragma once
/*
 * The columns of Batch.names: symbol names that are stored in the recording itself. README.md,
 * "Names of its own", is the specification.
 *
 *        texts     "main\0main.c\0parse\0"    numbers 1, 2, 3 (first_text 1)
 *        module    0      1
 *        offset    4096   -3840               difference to the place before: 4096 and 256
 *        frames    1      2
 *        function  1  |   3  1                innermost first
 *        file      2  |   0  2
 *        line      12 |   0  7
 *
 * Texts are numbered across all messages of an incarnation.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "heapcast.pb-c.h"

struct err_text;

#define NAMES_TEXT_MAX	 4096 /* bytes of a text; agents and composers truncate */
#define NAMES_FRAMES_MAX 256  /* of a place */

struct name_frame {
	uint32_t function, file; /* numbers of texts; 0: unknown */
	uint32_t line;		 /* 0: unknown */
};

enum names_column {
	NAMES_MODULE,
	NAMES_OFFSET,
	NAMES_FRAMES,
	NAMES_FUNCTION,
	NAMES_FILE,
	NAMES_LINE,
	NAMES_COLUMNS,
};

struct names_encoder {
	struct buf texts;
	struct buf column[NAMES_COLUMNS];
	uint32_t first_text, text_count, places;
	uint64_t last_offset;
};

void names_encoder_done(struct names_encoder *encoder);
/* Empties the encoder. The next text gets the number `first_text`. */
void names_encoder_clear(struct names_encoder *encoder, uint32_t first_text);
/* Returns the bytes encoded so far. */
size_t names_encoder_size(const struct names_encoder *encoder);
/* Appends the next text, which must not contain a NUL. */
void names_encoder_text(struct names_encoder *encoder, const char *text, size_t length);
void names_encoder_place(struct names_encoder *encoder, uint32_t module, uint64_t offset,
			 const struct name_frame *frames, uint32_t count);
/*
 * Makes `ret_names` refer to the columns in place, until the next call of another function. Returns
 * 0 or -ENOMEM.
 */
int names_encoder_fill(const struct names_encoder *encoder, Heapcast__Names *ret_names);

struct names_decoder {
	struct reader texts;
	struct reader column[NAMES_COLUMNS];
	uint32_t next_text; /* its number */
	uint64_t last_offset;
};

struct name_place {
	uint32_t module, frames;
	uint64_t offset;
};

/*
 * The caller reads all texts first, then each place with its frames. The functions return 1 with a
 * result, 0 if nothing is left, or -EBADMSG with a sentence. The caller checks that the modules and
 * texts are known.
 */
int names_decoder_init(struct names_decoder *decoder, const Heapcast__Names *names,
		       struct err_text *err);
int names_decoder_text(struct names_decoder *decoder, uint32_t *ret_number, const char **ret_text,
		       size_t *ret_length, struct err_text *err);
int names_decoder_place(struct names_decoder *decoder, struct name_place *ret_place,
			struct err_text *err);
/*
 * Decodes the next frame of the place. The caller must read exactly as many frames as the place
 * has. Returns 0 or -EBADMSG.
 */
int names_decoder_frame(struct names_decoder *decoder, struct name_frame *ret_frame,
			struct err_text *err);
