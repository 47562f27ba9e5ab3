#pragma once
/*
 * A file of another tool, as bytes or as lines, whatever it is packed in: plain, gzip (RFC 1952,
 * any number of members) or zstd (RFC 8878, any number of frames), told by its first bytes. Memory:
 * two buffers; a line is at most SOURCE_LINE_MAX long.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err_text;
struct source;

#define SOURCE_LINE_MAX (1u << 20)
#define SOURCE_HEAD	4096

/* -ENOENT and the like, with a sentence. */
int source_open(const char *path, struct source **ret_source, struct err_text *err);
/* The same of `fd`, which is the source's from here on, whatever is returned; `name` is for
 * sentences. */
int source_open_fd(int fd, const char *name, struct source **ret_source, struct err_text *err);
void source_close(struct source *source);
const char *source_name(const struct source *source);
/* Unpacked bytes from the start, up to SOURCE_HEAD; nothing of it is read yet. */
int source_head(struct source *source, const uint8_t **ret_head, size_t *ret_length,
		struct err_text *err);
/* The next line, without its end, and with a NUL behind it. 1; 0: that was all; negative errno with
 * a sentence. Valid until the next call. */
int source_line(struct source *source, char **ret_line, size_t *ret_length, struct err_text *err);
uint64_t
source_line_number(const struct source *source); /* of the line that was read last, from 1 */
/* Up to `size` more bytes: how many; 0: that was all; negative errno with a sentence. */
long source_read(struct source *source, void *room, size_t size, struct err_text *err);
/* All that is left. -EFBIG: more than `most` bytes. */
int source_all(struct source *source, size_t most, struct buf *out, struct err_text *err);
/* Whether source_rewind can be: it is no pipe. */
bool source_rewinds(const struct source *source);
/* To the start again. -ESPIPE where that can't be. */
int source_rewind(struct source *source, struct err_text *err);
/* For a progress: bytes of the file that were read, and how many it has (0: not known). */
void source_done_of(const struct source *source, uint64_t *ret_done, uint64_t *ret_of);
