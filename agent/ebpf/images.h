#pragma once
/* Modules' images, kept for all processes: those that were unused longest go when there are too
 * many. */
#include "agent/ebpf/image.h"
#include "agent/ebpf/maps.h"

struct image_entry {
	struct image image; /* first */
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t changed_s; /* st_ctim */
	int64_t changed_ns;
	uint32_t users; /* modules of processes */
	bool shared;	/* by file; else of one process's memory */
};

struct images {
	struct image_entry **list;
	uint32_t count;
	uint32_t capacity;
	size_t bytes_max;
	uint64_t clock;
};

/* The image of what is mapped at `map` in the process: its file, if that can be found for certain;
 * else, where the ELF header lies at `base`, the process's memory. NULL: neither, or it is no ELF
 * file. Every get is followed by a put. */
struct image *images_get(struct images *images, pid_t pid, const struct process_map *map,
			 uint64_t base);
void images_put(struct images *images, struct image *image);

/* Keeps what was read within bounds; between walks. */
void images_trim(struct images *images);
size_t images_bytes(const struct images *images);
void images_done(struct images *images);
