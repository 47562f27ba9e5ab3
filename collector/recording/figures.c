/* Readings of /proc and mallinfo2 over time. figures.h describes the interface. */
#include "collector/columns/row_block.h"
#include "collector/recording/definitions.h"
#include "collector/recording/info.h"
#include "collector/recording/figures.h"
#include "collector/recording/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "proto/columns.h"
#include "collector/recording/scan.h"

#include "base/ban.h"

/* A list that thins itself out: it keeps every `stride`th reading. */
struct readings {
	void *list;
	size_t count, capacity, size; /* size: of an element */
	uint64_t stride, seen;
};

static void halve(struct readings *r)
{
	uint8_t *list = r->list;

	for (size_t i = 0; i < r->count / 2; i++)
		memcpy(list + i * r->size, list + 2 * i * r->size, r->size);
	r->count /= 2;
	r->stride *= 2;
}

static int figures_take(struct readings *r, const void *reading)
{
	if (r->seen++ % r->stride)
		return 0;
	if (r->count == FIGURES_KEPT_MAX)
		halve(r);
	if (r->count == r->capacity) {
		size_t capacity = r->capacity ? r->capacity * 2 : 256;
		void *list = reallocarray(r->list, capacity, r->size);

		if (!list)
			return -ENOMEM;
		r->list = list;
		r->capacity = capacity;
	}
	memcpy((uint8_t *)r->list + r->count++ * r->size, reading, r->size);
	return 0;
}

static int take_allocator(struct readings *r, const Heapcast__Allocator *m)
{
	const struct allocator_info info = allocator_reading(m);

	return figures_take(r, &info);
}

static int figures_walk(struct scan *scan, uint64_t size, const struct cancel *cancel,
			struct readings *figures, struct readings *allocator)
{
	struct figures_info now = {.detailed_ns = NO_TIME};
	struct scan_item item;
	int r;

	while ((r = scan_next(scan, size, &item)) == 1) {
		const Heapcast__Batch *b = item.batch;

		r = cancel_check(cancel);
		for (size_t i = 0; !r && i < b->n_figures; i++) {
			figures_next(&now, b->figures[i]);
			r = figures_take(figures, &now);
		}
		if (!r && b->allocator)
			r = take_allocator(allocator, b->allocator);
		if (r < 0)
			return r;
	}
	return r;
}

int figures_over_time(const char *path, const struct cancel *cancel,
		      struct figures_history *ret_history, struct err_text *err)
{
	cleanup(cleanup_close) int fd = recording_file(path, err);
	struct readings figures = {.size = sizeof(struct figures_info), .stride = 1};
	struct readings allocator = {.size = sizeof(struct allocator_info), .stride = 1};
	struct scan scan;
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	r = scan_init(&scan, fd, 0, NULL);
	if (!r)
		r = figures_walk(&scan, (uint64_t)st.st_size, cancel, &figures, &allocator);
	scan_done(&scan);
	if (r < 0) {
		free(figures.list);
		free(allocator.list);
		return err_set(err, r, "reading the figures in %s: %s", path, strerror(-r));
	}
	*ret_history = (struct figures_history){
		.figures = figures.list,
		.figures_count = figures.count,
		.allocator = allocator.list,
		.allocator_count = allocator.count,
	};
	return 0;
}

void figures_history_done(struct figures_history *history)
{
	free(history->figures);
	free(history->allocator);
	*history = (struct figures_history){0};
}
