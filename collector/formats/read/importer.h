#pragma once
/* What the readers of formats share. A reader gets an importer, says what the file tells about the
 * program (importer_begin), and puts what it finds into `composer`. Every function returns 0 or a
 * negative errno, with a sentence in `err`. */
#include "base/error.h"
#include "collector/formats/read/reader.h"
#include "collector/formats/read/source.h"
#include "collector/rewrite/compose.h"
#include "proto/columns.h"
#include "proto/names.h"

#define IMPORT_STACK_MAX 8192 /* frames of one stack */
/* Limit for the sum of all allocations, as differences of sums have a sign. */
#define IMPORT_BYTES_MAX ((uint64_t)INT64_MAX)

struct importer {
	struct source *source;
	const struct import_options *options;
	struct import_result *result;
	struct err_text *err;
	int fd;
	struct composer *composer; /* NULL before importer_begin */
	uint64_t end_ns;	   /* when the program ended, or the file; 0: at its last event */
	uint64_t samples;
	uint64_t bytes; /* allocated so far; at most IMPORT_BYTES_MAX */
	uint64_t lines; /* lines since the start, to tell the progress now and then */
	uint64_t place; /* number of the present line or sample, if `source` does not count it; 0:
			   it does */
	const char *place_name; /* "sample"; NULL: line */
	size_t noted;		/* so much of the note is in the recording already */
};

/* What a file says about its program; all members may be 0. */
struct importer_process {
	const char *command_line; /* arguments with blanks between them; or */
	const char *executable;
	const char *tool, *note;
	bool sampled;	   /* false: weights are counts */
	uint64_t interval; /* bytes between samples, if sampled */
	uint64_t wall_ns;
};

int importer_begin(struct importer *importer, const struct importer_process *process);
/* Sets "FILE: line N: ...", with the line that was read last, or with `place`. Returns -EBADMSG. */
int importer_bad_line(struct importer *importer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds a note for people. */
void importer_note(struct importer *importer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* For a file with one number a stack: returns whether it counts blocks (--unit) or bytes, and notes
 * what is not known. */
bool importer_counts_blocks(struct importer *importer);
/* Reads the next line, and tells the progress now and then. Returns as source_line does. */
int importer_line(struct importer *importer, char **ret_line, size_t *ret_length);
/* As composer_event and composer_blocks, but refuse what would make the sums too large. */
int importer_event(struct importer *importer, const struct event *event);
int importer_blocks(struct importer *importer, uint32_t thread, uint32_t stack, uint64_t blocks,
		    uint64_t bytes, bool freed);
/* Puts `count` sampled blocks of one stack, of `bytes` bytes together, which stand for `weight`
 * bytes together. */
int importer_samples(struct importer *importer, uint32_t thread, uint32_t stack, uint64_t count,
		     uint64_t bytes, double weight, bool freed);
/* Returns the factor by which each sampled block stands for others, if blocks of this mean size are
 * sampled every `interval` bytes: 1 / (1 - exp(-mean / interval)). */
double importer_unsample(uint64_t count, uint64_t bytes, double interval);

/* As composer_name; mangled names of C++, Rust and D are demangled. */
int importer_name(struct importer *importer, uint32_t module, uint64_t offset,
		  struct composer_frame *frames, unsigned count);

/* Tells whether these bytes include some that no text has. */
bool importer_is_binary(const uint8_t *head, size_t length);

/* Read numbers in a line, and skip leading blanks. *at moves behind the number. Return false if
 * there is none, or it is too large. */
bool text_hex(char **at, uint64_t *ret_value);
bool text_decimal(char **at, uint64_t *ret_value);
/* Skips blanks and `word`. Returns false if the word is not there; then *at stays where it was. */
bool text_word(char **at, const char *word);
