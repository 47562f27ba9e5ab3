#pragma once
/*
 * The columns of Batch.names: places that a recording names itself. README.md, "Names of its own".
 *
 *	texts   "main\0main.c\0parse\0"      numbers 1, 2, 3 (first_text 1)
 *	module  0      1
 *	offset  4096   -3840                 difference to the place before, so 4096 and 256
 *	frames  1      2
 *	function  1  |  3  1                 innermost first
 *	file      2  |  0  2
 *	line     12  |  0  7
 *
 * Texts are numbered through all messages of an incarnation.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "heapcast.pb-c.h"

struct err_text;

#define NAMES_TEXT_MAX	 4096 /* bytes of a text; agents and composers cut */
#define NAMES_FRAMES_MAX 256  /* of a place */

struct name_frame {
	uint32_t function, file; /* numbers of texts; 0: not known */
	uint32_t line;		 /* 0: not known */
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
/* Empty; the next text is that of this number. */
void names_encoder_clear(struct names_encoder *encoder, uint32_t first_text);
/* Bytes so far. */
size_t names_encoder_size(const struct names_encoder *encoder);
/* The next text, without a NUL in it. */
void names_encoder_text(struct names_encoder *encoder, const char *text, size_t length);
void names_encoder_place(struct names_encoder *encoder, uint32_t module, uint64_t offset,
			 const struct name_frame *frames, uint32_t count);
/* Makes `ret_names` speak of the columns, in place, until the next call of another. 0 or
 * -ENOMEM. */
int names_encoder_fill(const struct names_encoder *encoder, Heapcast__Names *ret_names);

struct names_decoder {
	struct reader texts;
	struct reader column[NAMES_COLUMNS];
	uint32_t next_text; /* number */
	uint64_t last_offset;
};

struct name_place {
	uint32_t module, frames;
	uint64_t offset;
};

/* All texts first, then place by place with the frames of each. 1: in ret_...; 0: that was all;
 * -EBADMSG with a sentence. Whether modules and texts are known is the caller's to check. */
int names_decoder_init(struct names_decoder *decoder, const Heapcast__Names *names,
		       struct err_text *err);
int names_decoder_text(struct names_decoder *decoder, uint32_t *ret_number, const char **ret_text,
		       size_t *ret_length, struct err_text *err);
int names_decoder_place(struct names_decoder *decoder, struct name_place *ret_place,
			struct err_text *err);
/* The next frame of the place: exactly as many as it has must be read. 0 or -EBADMSG. */
int names_decoder_frame(struct names_decoder *decoder, struct name_frame *ret_frame,
			struct err_text *err);
