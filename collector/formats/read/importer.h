#pragma once
/* Shared by the readers of formats. A reader gets an importer, describes the program
 * (importer_begin), and adds what it finds to `composer`. Every function returns 0 or a negative
 * errno with an error text in `err`, unless its comment says otherwise. */
#include "base/error.h"
#include "collector/formats/read/reader.h"
#include "collector/formats/read/source.h"
#include "collector/rewrite/compose.h"
#include "proto/columns.h"
#include "proto/names.h"

#define IMPORT_STACK_MAX 8192 /* frames per stack */
/* Limit for the sum of all allocations, because differences of sums are signed. */
#define IMPORT_BYTES_MAX ((uint64_t)INT64_MAX)

struct importer {
	struct source *source;
	const struct import_options *options;
	struct import_result *result;
	struct err_text *err;
	int fd;
	struct composer *composer; /* NULL before importer_begin */
	uint64_t end_ns; /* when the program ended, or the file does; 0: at the last event */
	uint64_t samples;
	uint64_t bytes;		/* allocated in total; at most IMPORT_BYTES_MAX */
	uint64_t lines;		/* lines since the start, for the progress */
	uint64_t place;		/* number of the current line or sample; 0: `source` counts it */
	const char *place_name; /* "sample"; NULL: "line" */
	size_t noted;		/* length of the note when the recording began */
};

/* What a file says about its program. All members may be 0. */
struct importer_process {
	const char *command_line; /* arguments, separated by blanks; or `executable` */
	const char *executable;
	const char *tool, *note;
	bool sampled;	   /* false: weights are exact */
	uint64_t interval; /* bytes between samples, if sampled */
	uint64_t wall_ns;
};

int importer_begin(struct importer *importer, const struct importer_process *process);
/* Sets the error text "FILE: line N: ...", for the last line that was read, or for `place`. Returns
 * -EBADMSG. */
int importer_bad_line(struct importer *importer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds a note for people to the recording. */
void importer_note(struct importer *importer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* For formats with one number per stack. Returns true if the number counts blocks (--unit), false
 * if it counts bytes. Adds notes on what is not known. */
bool importer_counts_blocks(struct importer *importer);
/* Reads the next line, and reports progress now and then. Returns what source_line returns, or
 * -ECANCELED. */
int importer_line(struct importer *importer, char **ret_line, size_t *ret_length);
/* Like composer_event and composer_blocks, but return -EBADMSG if the sums would become too
 * large. */
int importer_event(struct importer *importer, const struct event *event);
int importer_blocks(struct importer *importer, uint32_t thread, uint32_t stack, uint64_t blocks,
		    uint64_t bytes, bool freed);
/* Adds `count` sampled blocks of one stack. Together they have `bytes` bytes, and stand for
 * `weight` bytes. */
int importer_samples(struct importer *importer, uint32_t thread, uint32_t stack, uint64_t count,
		     uint64_t bytes, double weight, bool freed);
/* Returns how many blocks each sampled block stands for, if blocks of this mean size are sampled
 * every `interval` bytes: 1 / (1 - exp(-mean / interval)). */
double importer_unsample(uint64_t count, uint64_t bytes, double interval);

/* Like composer_name, but demangles names of C++, Rust and D. */
int importer_name(struct importer *importer, uint32_t module, uint64_t offset,
		  struct composer_frame *frames, unsigned count);

/* Tells whether any of these bytes never occurs in text. */
bool importer_is_binary(const uint8_t *head, size_t length);

/* Parse a number in a line, after blanks. *at moves behind the number. Return false if there is no
 * number, or if it exceeds 64 bits. */
bool text_hex(char **at, uint64_t *ret_value);
bool text_decimal(char **at, uint64_t *ret_value);
/* Skips blanks and `word`. Returns false, and leaves *at unchanged, if the word is not there. */
bool text_word(char **at, const char *word);
