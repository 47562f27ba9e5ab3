/* Reads the two ends of a recording. See glance.h. */
#include "collector/recording/glance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collector/recording/file.h"
#include "collector/recording/scan.h"
#include "collector/recording/totals.h"
#include "collector/recording/written.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define TAIL_BYTES (128 << 10) /* the frame with the end is small */
#define TRIES_MAX  32	       /* places in the tail that look like the beginning of a frame */

static const uint8_t magic[] = {0x04, 0x22, 0x4d, 0x18};

static int take_process(const Heapcast__Batch *batch, struct glance *g)
{
	cleanup(cleanup_free) char *name = NULL;

	if (!batch->process)
		return -EBADMSG;
	name = program_name(batch->process);
	if (!name)
		return -ENOMEM;
	snprintf(g->program, sizeof(g->program), "%s", name);
	g->pid = batch->process->pid;
	g->start_wall_ns = batch->process->start_wall_ns;
	if (batch->process->origin)
		g->state = GLANCE_IMPORTED;
	return 0;
}

static void take_end(const Heapcast__Batch *batch, struct glance *g)
{
	if (batch->time_ns > g->last_ns)
		g->last_ns = batch->time_ns;
	for (size_t i = 0; i < batch->n_figures; i++)
		if (batch->figures[i]->rss_peak > g->rss_peak)
			g->rss_peak = batch->figures[i]->rss_peak;
	if (!batch->end)
		return;
	if (batch->end->rss_peak > g->rss_peak)
		g->rss_peak = batch->end->rss_peak;
	g->end_kind = batch->end->kind;
	g->end_status = batch->end->status;
	if (g->state != GLANCE_IMPORTED)
		g->state = GLANCE_ENDED;
}

/* Takes the frame at `offset`, if one is there. Returns 1, 0 if there is none, or a negative errno.
 */
static int glance_frame(int fd, uint64_t offset, uint64_t size, struct glance *g, bool is_first)
{
	struct scan_item item;
	struct scan scan;
	int r = scan_init(&scan, fd, offset, NULL);

	if (!r)
		r = scan_next(&scan, size, &item);
	if (r == 1 && item.offset != offset)
		r = 0;
	if (r == 1 && is_first)
		r = take_process(item.batch, g) < 0 ? -EBADMSG : 1;
	if (r == 1)
		take_end(item.batch, g);
	scan_done(&scan);
	return r;
}

/* Searches backwards for the last frame. The magic number may also occur within a frame. */
static int glance_tail(int fd, uint64_t size, struct glance *g)
{
	cleanup(cleanup_free) uint8_t *tail = malloc(TAIL_BYTES);
	uint64_t from = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
	ssize_t n = tail ? pread(fd, tail, TAIL_BYTES, (off_t)from) : -1;
	unsigned tries = 0;

	if (n < 0)
		return tail ? -errno : -ENOMEM;
	for (ssize_t at = n - (ssize_t)sizeof(magic); at >= 0 && tries < TRIES_MAX; at--) {
		int r;

		if (memcmp(tail + at, magic, sizeof(magic)) != 0)
			continue;
		tries++;
		r = glance_frame(fd, from + (uint64_t)at, size, g, false);
		if (r)
			return r < 0 ? r : 0;
	}
	return 0;
}

int glance_at(const char *path, struct glance *ret_glance)
{
	cleanup(cleanup_close) int fd = recording_file(path, NULL);
	struct glance g = {.state = GLANCE_BROKEN_OFF};
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	r = glance_frame(fd, 0, (uint64_t)st.st_size, &g, true);
	if (r == 1)
		r = glance_tail(fd, (uint64_t)st.st_size, &g);
	else if (!r)
		r = -EBADMSG;
	if (r < 0)
		return r;
	if (g.state == GLANCE_BROKEN_OFF && recording_is_written(fd))
		g.state = GLANCE_GROWING;
	*ret_glance = g;
	return 0;
}
