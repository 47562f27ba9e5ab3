#pragma once
/*
 * What the readers of formats share. A reader gets an importer, says what the file tells of the
 * program (importer_begin), and puts what it finds into `composer`. Every function returns 0 or a
 * negative errno, with a sentence in `err`.
 */
#include "base/error.h"
#include "collector/formats/read/reader.h"
#include "collector/formats/read/source.h"
#include "collector/rewrite/compose.h"
#include "proto/columns.h"
#include "proto/names.h"

#define IMPORT_STACK_MAX 8192 /* frames of a stack */
/* Of all that was ever allocated: differences of sums have a sign. */
#define IMPORT_BYTES_MAX ((uint64_t)INT64_MAX)

struct importer {
	struct source *source;
	const struct import_options *options;
	struct import_result *result;
	struct err_text *err;
	int fd;
	struct composer *composer; /* NULL before importer_begin */
	uint64_t end_ns;	   /* when the program ended, or the file; 0: with its last event */
	uint64_t samples;
	uint64_t bytes; /* allocated so far, of IMPORT_BYTES_MAX */
	uint64_t lines; /* looked at for the progress */
	uint64_t place; /* number of the line or sample at hand, where `source` does not count it;
			   0: it does */
	const char *place_name; /* "sample"; NULL: line */
	size_t noted;		/* of the note: that much is in the recording */
};

/* What a file says of its program; all may be 0. */
struct importer_process {
	const char *command_line; /* arguments with blanks between; or */
	const char *executable;
	const char *tool, *note;
	bool sampled;	   /* else weights are counts */
	uint64_t interval; /* bytes; sampled */
	uint64_t wall_ns;
};

int importer_begin(struct importer *importer, const struct importer_process *process);
/* "FILE: line N: ...", with the line that was read last, or `place`. Returns -EBADMSG. */
int importer_bad_line(struct importer *importer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Another note for people, beside those before. */
void importer_note(struct importer *importer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Of a file with one number a stack: whether it counts blocks (--unit), else bytes; and notes what
 * is not known. */
bool importer_counts_blocks(struct importer *importer);
/* The next line, with the progress told now and then. As source_line. */
int importer_line(struct importer *importer, char **ret_line, size_t *ret_length);
/* As composer_event and composer_blocks; what makes the sums larger than can be counted is
 * refused. */
int importer_event(struct importer *importer, const struct event *event);
int importer_blocks(struct importer *importer, uint32_t thread, uint32_t stack, uint64_t blocks,
		    uint64_t bytes, bool freed);
/* `count` sampled blocks of one stack, of `bytes` bytes in all, that stand for `weight` bytes in
 * all. */
int importer_samples(struct importer *importer, uint32_t thread, uint32_t stack, uint64_t count,
		     uint64_t bytes, double weight, bool freed);
/* Of a sum over sampled blocks: the factor by which each stands for others, if blocks of this mean
 * size are sampled every `interval` bytes: 1 / (1 - exp(-mean / interval)). */
double importer_unsample(uint64_t count, uint64_t bytes, double interval);

/* As composer_name; names of C++, Rust and D that are mangled are put into words. */
int importer_name(struct importer *importer, uint32_t module, uint64_t offset,
		  struct composer_frame *frames, unsigned count);

/* Whether these bytes have any that no text has. */
bool importer_is_binary(const uint8_t *head, size_t length);

/* Numbers in a line. Each goes on behind what it has read, leading blanks passed over; false: there
 * is none, or it is too large. */
bool text_hex(char **at, uint64_t *ret_value);
bool text_decimal(char **at, uint64_t *ret_value);
/* Passes over blanks and `word`; false: it is not there, and *at is where it was. */
bool text_word(char **at, const char *word);
