#pragma once
/* Reads a file of another tool as bytes or as lines, however it is packed: plain, gzip (RFC 1952,
 * any number of members) or zstd (RFC 8878, any number of frames); the first bytes tell. It takes
 * two buffers of memory; a line has at most SOURCE_LINE_MAX bytes. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err_text;
struct source;

#define SOURCE_LINE_MAX (1u << 20)
#define SOURCE_HEAD	4096

/* Returns 0, or -ENOENT and the like with a sentence. */
int source_open(const char *path, struct source **ret_source, struct err_text *err);
/* The same for `fd`, of which the source takes ownership in any case; `name` stands in sentences.
 */
int source_open_fd(int fd, const char *name, struct source **ret_source, struct err_text *err);
void source_close(struct source *source);
const char *source_name(const struct source *source);
/* Lends the first unpacked bytes, up to SOURCE_HEAD. They still count as not read. */
int source_head(struct source *source, const uint8_t **ret_head, size_t *ret_length,
		struct err_text *err);
/* Reads the next line, without its end, and puts a NUL behind it. Returns 1; 0: the file has ended;
 * or a negative errno with a sentence. The line is valid until the next call. */
int source_line(struct source *source, char **ret_line, size_t *ret_length, struct err_text *err);
uint64_t
source_line_number(const struct source *source); /* of the line that was read last, from 1 */
/* Reads up to `size` more bytes. Returns how many; 0: the file has ended; or a negative errno with
 * a sentence. */
long source_read(struct source *source, void *room, size_t size, struct err_text *err);
/* Reads all that is left. -EFBIG: more than `most` bytes. */
int source_all(struct source *source, size_t most, struct buf *out, struct err_text *err);
/* Tells whether source_rewind can work: the source is not a pipe. */
bool source_rewinds(const struct source *source);
/* Goes back to the start. Returns -ESPIPE if that is impossible. */
int source_rewind(struct source *source, struct err_text *err);
/* For a progress: how many bytes of the file were read, and how many it has (0: not known). */
void source_done_of(const struct source *source, uint64_t *ret_done, uint64_t *ret_of);
