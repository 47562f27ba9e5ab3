#pragma once
/*
 * A module's file as the loader would lay it out, in memory of our own, read piece by piece as it
 * is asked for. What an ELF file claims about itself is checked before it is believed, its contents
 * never matter to anything but the stacks that go through it, and a file that changes or shrinks
 * under our hands gives other bytes or none, never a signal.
 *
 * Where there is no file to be had (the vdso, files deleted and out of reach) the source is the
 * process's own memory.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/elf/elf_load.h"
#include "base/map.h"

#define IMAGE_SEGMENTS 16
#define IMAGE_PIECE    16384u
#define IMAGE_MAX      (1u << 30) /* of addresses; larger modules are not read */

struct image_source {
	int fd;	       /* of the file; -1: memory */
	pid_t pid;     /* whose memory */
	uint64_t base; /* where in it the ELF header lies, and with it the first segment */
};

struct image {
	struct image_source source;
	struct elf_load segments[IMAGE_SEGMENTS]; /* addresses as the file has them, like all
						     addresses here */
	unsigned segment_count;
	struct elf_load code[IMAGE_SEGMENTS]; /* those of them that are */
	unsigned code_count;
	uint64_t load_start; /* whole pages of 4 KiB, which larger pages begin with, too */
	uint64_t load_end;
	uint64_t eh_frame_hdr; /* 0: none */
	uint64_t eh_frame_hdr_size;
	uint8_t *memory;  /* of [load_start, load_end): reserved, filled in pieces */
	uint64_t *filled; /* bit set of pieces */
	size_t bytes;	  /* of pieces that were filled */
	uint64_t used;	  /* when it was last asked; by whoever keeps it */
	struct map rows;  /* offset from load_start -> row, and what is known of it (there.h) */
};

/* Reads the headers. `source.fd` becomes the image's. 0; -ENOEXEC: no ELF file of this processor;
 * -EBADMSG: one that makes no sense; -ENOMEM; the errno of reading. */
int image_open(struct image *image, const struct image_source *source);
void image_close(struct image *image);

/* Memory of the image of which [offset, *length) is there, offsets from load_start; `length` is
 * made less if that is more than IMAGE_PIECE beyond `offset`, or can't be read. NULL: not even
 * `offset`. */
const uint8_t *image_memory(struct image *image, uint64_t offset, uint64_t *length);

/* `length` bytes at `offset`; NULL. */
const uint8_t *image_bytes(struct image *image, uint64_t offset, uint64_t length);

/* Gives back the memory of what was read; it is read again when it is asked for. */
void image_drop(struct image *image);
