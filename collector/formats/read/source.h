#pragma once
/* Reads a file of another tool as bytes or as lines. The file may be plain, gzip (RFC 1952, any
 * number of members) or zstd (RFC 8878, any number of frames), which the first bytes tell. A source
 * takes two buffers of memory. A line has at most SOURCE_LINE_MAX bytes. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err_text;
struct source;

#define SOURCE_LINE_MAX (1u << 20)
#define SOURCE_HEAD	4096

/* Returns 0, or a negative errno such as -ENOENT with an error text. */
int source_open(const char *path, struct source **ret_source, struct err_text *err);
/* Does the same for `fd`, and takes ownership of it, also on failure. `name` appears in error
 * texts. */
int source_open_fd(int fd, const char *name, struct source **ret_source, struct err_text *err);
void source_close(struct source *source);
const char *source_name(const struct source *source);
/* Lends the first unpacked bytes, at most SOURCE_HEAD. They remain to be read. */
int source_head(struct source *source, const uint8_t **ret_head, size_t *ret_length,
		struct err_text *err);
/* Reads the next line without its end, and terminates it with a NUL. Returns 1, 0 at the end of the
 * file, or a negative errno with an error text. The line is valid until the next call. */
int source_line(struct source *source, char **ret_line, size_t *ret_length, struct err_text *err);
uint64_t
source_line_number(const struct source *source); /* of the line that was read last, from 1 */
/* Reads up to `size` more bytes. Returns their number, 0 at the end of the file, or a negative
 * errno with an error text. */
long source_read(struct source *source, void *room, size_t size, struct err_text *err);
/* Reads the rest of the file. Returns -EFBIG if that is more than `most` bytes. */
int source_all(struct source *source, size_t most, struct buf *out, struct err_text *err);
/* Tells whether source_rewind can work: the source is not a pipe. */
bool source_rewinds(const struct source *source);
/* Returns to the start of the file. Returns -ESPIPE if that is impossible. */
int source_rewind(struct source *source, struct err_text *err);
/* Reports progress: how many bytes of the file were read, and how many it has (0: not known). */
void source_done_of(const struct source *source, uint64_t *ret_done, uint64_t *ret_of);
