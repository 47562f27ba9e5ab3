/* Implements the image cache. See images.h. */
#include "agent/ebpf/images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ebpf/mapped.h"
#include "base/array.h"
#include "base/cleanup.h"

#define UNUSED_MAX 64 /* images without users that are kept */

static bool is_file(const struct image_entry *entry, const struct stat *st)
{
	return entry->shared && entry->device == st->st_dev && entry->inode == st->st_ino &&
	       entry->size == (uint64_t)st->st_size && entry->changed_s == st->st_ctim.tv_sec &&
	       entry->changed_ns == st->st_ctim.tv_nsec;
}

/* The image owns `fd` from now on, and closes it on errors. */
static struct image_entry *images_add(struct images *images, const struct image_source *source,
				      const struct stat *st)
{
	struct image_entry *entry = calloc(1, sizeof(*entry));

	if (!entry || array_reserve(&images->list, &images->capacity, images->count + 1,
				    sizeof(struct image_entry *))) {
		if (source->fd >= 0)
			close(source->fd);
		free(entry);
		return NULL;
	}
	if (image_open(&entry->image, source)) {
		free(entry);
		return NULL;
	}
	if (st) {
		entry->shared = true;
		entry->device = st->st_dev;
		entry->inode = st->st_ino;
		entry->size = (uint64_t)st->st_size;
		entry->changed_s = st->st_ctim.tv_sec;
		entry->changed_ns = st->st_ctim.tv_nsec;
	}
	images->list[images->count++] = entry;
	return entry;
}

struct image *images_get(struct images *images, pid_t pid, const struct process_map *map,
			 uint64_t base)
{
	struct image_source source = {.fd = -1, .pid = pid, .base = base};
	struct image_entry *entry = NULL;
	struct stat st;

	source.fd = mapped_open(pid, map);
	if (source.fd >= 0 && fstat(source.fd, &st) < 0) {
		close(source.fd);
		source.fd = -1;
	}
	for (uint32_t i = 0; source.fd >= 0 && !entry && i < images->count; i++)
		if (is_file(images->list[i], &st))
			entry = images->list[i];
	if (entry) {
		close(source.fd);
	} else if (source.fd >= 0) {
		entry = images_add(images, &source, &st);
	} else {
		source.fd = -1;
		entry = images_add(images, &source, NULL);
	}
	if (!entry)
		return NULL;
	entry->users++;
	entry->image.used = ++images->clock;
	return &entry->image;
}

static void images_drop(struct images *images, uint32_t index)
{
	image_close(&images->list[index]->image);
	free(images->list[index]);
	images->list[index] = images->list[--images->count];
}

void images_put(struct images *images, struct image *image)
{
	struct image_entry *entry = (struct image_entry *)(void *)image;
	uint32_t unused = 0, oldest = 0;

	entry->users--;
	for (uint32_t i = 0; i < images->count; i++) {
		if (images->list[i]->users)
			continue;
		if (!images->list[i]->shared) {
			images_drop(images, i--);
			continue;
		}
		if (!unused++ || images->list[i]->image.used < images->list[oldest]->image.used)
			oldest = i;
	}
	if (unused > UNUSED_MAX)
		images_drop(images, oldest);
}

size_t images_bytes(const struct images *images)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < images->count; i++)
		bytes += images->list[i]->image.bytes;
	return bytes;
}

void images_trim(struct images *images)
{
	while (images_bytes(images) > images->bytes_max) {
		struct image *oldest = NULL;

		for (uint32_t i = 0; i < images->count; i++) {
			struct image *image = &images->list[i]->image;

			if (image->bytes && (!oldest || image->used < oldest->used))
				oldest = image;
		}
		image_drop(oldest);
	}
}

void images_done(struct images *images)
{
	while (images->count)
		images_drop(images, 0);
	free(images->list);
	memset(images, 0, sizeof(*images));
}
