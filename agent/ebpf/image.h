#pragma once
/*
 * An image is a module's file in the agent's memory, laid out as the loader would do it, and read
 * piece by piece on demand. The ELF headers are validated before they are used. The contents
 * influence only the stacks that are unwound with them. If the file changes or shrinks meanwhile,
 * reading yields other bytes or none, never a signal.
 *
 * If no file can be opened (the vdso, deleted files out of reach), the source is the memory of the
 * process.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/elf/elf_load.h"
#include "base/map.h"

#define IMAGE_SEGMENTS 16
#define IMAGE_PIECE    16384u
#define IMAGE_MAX      (1u << 30) /* of address space; larger modules are not read */

struct image_source {
	int fd;	       /* of the file; -1: read memory */
	pid_t pid;     /* the process whose memory is read */
	uint64_t base; /* address of the ELF header in it, where the first segment starts, too */
};

struct image {
	struct image_source source;
	struct elf_load segments[IMAGE_SEGMENTS]; /* addresses are as in the file, like all
						   * addresses here */
	unsigned segment_count;
	struct elf_load code[IMAGE_SEGMENTS]; /* the executable segments */
	unsigned code_count;
	uint64_t load_start; /* whole pages of 4 KiB; larger pages start at such a boundary, too */
	uint64_t load_end;
	uint64_t eh_frame_hdr; /* 0: none */
	uint64_t eh_frame_hdr_size;
	uint8_t *memory;  /* memory of [load_start, load_end), reserved and filled in pieces */
	uint64_t *filled; /* bit set of pieces */
	size_t bytes;	  /* of filled pieces */
	uint64_t used;	  /* time of the last use; maintained by the owner */
	struct map rows;  /* offset from load_start -> row, and what is known about it
			     (remote_process.h) */
};

/* Reads the headers. The image owns `source.fd` from now on. Returns 0; -ENOEXEC if this is no ELF
 * file for this processor; -EBADMSG if it is malformed; -ENOMEM; or the errno of reading. */
int image_open(struct image *image, const struct image_source *source);
void image_close(struct image *image);

/* Returns the image's memory, of which [offset, *length) is readable; offsets count from
 * load_start. Lowers *length if it is more than IMAGE_PIECE beyond `offset`, or if the rest can't
 * be read. Returns NULL if not even `offset` can be read. */
const uint8_t *image_memory(struct image *image, uint64_t offset, uint64_t *length);

/* Returns `length` bytes at `offset`, or NULL. */
const uint8_t *image_bytes(struct image *image, uint64_t offset, uint64_t length);

/* Frees the memory that was filled. It is read again on demand. */
void image_drop(struct image *image);
