#pragma once
/* Caches images of modules for all processes. Evicts the least recently used images when there are
 * too many. */
#include "agent/ebpf/image.h"
#include "agent/ebpf/maps.h"

struct image_entry {
	struct image image; /* first member */
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t changed_s; /* st_ctim */
	int64_t changed_ns;
	uint32_t users; /* modules of processes */
	bool shared;	/* reads a file; otherwise it reads the memory of one process */
};

struct images {
	struct image_entry **list;
	uint32_t count;
	uint32_t capacity;
	size_t bytes_max;
	uint64_t clock;
};

/* Returns the image of the module at `map` in the process: of its file if the file can be
 * identified for certain, or else of the process's memory if the ELF header lies at `base`. Returns
 * NULL if neither works, or if the module is no ELF file. Every get needs a put. */
struct image *images_get(struct images *images, pid_t pid, const struct process_map *map,
			 uint64_t base);
void images_put(struct images *images, struct image *image);

/* Evicts images that exceed the limits. Call this between walks. */
void images_trim(struct images *images);
size_t images_bytes(const struct images *images);
void images_done(struct images *images);
