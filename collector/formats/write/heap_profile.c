/*
 * Writes heap profiles as text with addresses, which jeprof and google-pprof look up in the
 * program's files.
 *
 *	jemalloc (heap_v2)			gperftools
 *	heap_v2/0				heap profile: N: BYTES [ N: BYTES] @ heapprofile
 *	  t*: N: BYTES [N: BYTES]
 *	  t1: N: BYTES [N: BYTES] NAME
 *	@ ADDRESS ADDRESS...			  N: BYTES [N: BYTES] @ ADDRESS ADDRESS...
 *	  t*: N: BYTES [N: BYTES]
 *	  t1: N: BYTES [N: BYTES]
 *
 *	MAPPED_LIBRARIES:			MAPPED_LIBRARIES:
 *	START-END r-xp OFFSET 00:00 0 PATH	...
 *
 * The first pair of numbers is what was in use, the second what was allocated. Addresses are return
 * addresses, innermost first. The number behind heap_v2 is the sampling interval, by which a reader
 * would scale the numbers up again; 0 means that they are final. Frames without an address, which
 * no unwinder yielded, are left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/saturated.h"
#include "collector/formats/write/writer.h"
#include "collector/formats/write/heap_value.h"
#include "collector/formats/write/put.h"
#include "collector/query/query.h"
#include "proto/stack_columns.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

enum heap_dialect { HEAP_JEMALLOC, HEAP_GPERFTOOLS };

struct numbers {
	uint64_t blocks, bytes, all_blocks, all_bytes;
};

static void heap_profile_add(struct numbers *into, const struct thread_group *g)
{
	add_most(&into->blocks, g->value.blocks);
	add_most(&into->bytes, g->value.bytes);
	add_most(&into->all_blocks, g->allocated.blocks);
	add_most(&into->all_bytes, g->allocated.bytes);
}

static void put_numbers(struct buf *out, struct numbers n)
{
	buf_printf(out, "%" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64 "]", n.blocks, n.bytes,
		   n.all_blocks, n.all_bytes);
}

/* Appends the addresses. A stack without any gets the address 0, so that its numbers count. */
static void put_addresses(struct view *view, uint32_t node, struct buf *out)
{
	const struct recording *recording = view_recording(view);
	bool any = false;

	buf_byte(out, '@');
	while (node) {
		const struct stack_node *n = recording_node(recording, node);
		uint64_t address = view_frame(view, node, 0).address;

		if (address)
			buf_printf(out, " 0x%" PRIx64, address);
		any |= address != 0;
		node = n && n->parent < node ? n->parent : 0;
	}
	buf_string(out, any ? "\n" : " 0x0\n");
}

static void put_jemalloc(struct view *view, const struct thread_group *list, size_t count,
			 struct numbers sum, struct buf *out)
{
	put_addresses(view, list->node, out);
	buf_string(out, "  t*: ");
	put_numbers(out, sum);
	buf_byte(out, '\n');
	for (size_t i = 0; i < count; i++) {
		struct numbers one = {0};

		heap_profile_add(&one, &list[i]);
		buf_printf(out, "  t%u: ", list[i].thread);
		put_numbers(out, one);
		buf_byte(out, '\n');
	}
}

static void put_gperftools(struct view *view, uint32_t node, struct numbers sum, struct buf *out)
{
	buf_string(out, "  ");
	put_numbers(out, sum);
	buf_byte(out, ' ');
	put_addresses(view, node, out);
}

/* Appends the total of a thread, and its name. */
static void heap_profile_put_thread(const struct thread_info *thread, uint32_t number,
				    struct numbers sum, struct buf *out)
{
	buf_printf(out, "  t%u: ", number);
	put_numbers(out, sum);
	if (thread->name[0]) {
		buf_byte(out, ' ');
		put_utf8(out, thread->name);
	}
	buf_byte(out, '\n');
}

static void heap_profile_put_threads(const struct recording *recording,
				     const struct thread_groups *groups, struct buf *out)
{
	uint32_t count = recording_threads(recording);
	cleanup(cleanup_free) struct numbers *sums = calloc((size_t)count + 1, sizeof(*sums));

	if (!sums) {
		out->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < groups->count; i++)
		if (groups->list[i].thread <= count)
			heap_profile_add(&sums[groups->list[i].thread], &groups->list[i]);
	for (uint32_t n = 1; n <= count; n++) {
		const struct thread_info *thread = recording_thread(recording, n);

		if (thread && sums[n].all_blocks)
			heap_profile_put_thread(thread, n, sums[n], out);
	}
}

static void heap_profile_put_head(const struct recording *recording,
				  const struct thread_groups *groups, enum heap_dialect dialect,
				  struct buf *out)
{
	struct numbers total = {0};

	for (size_t i = 0; i < groups->count; i++)
		heap_profile_add(&total, &groups->list[i]);
	if (dialect == HEAP_JEMALLOC) {
		buf_string(out, "heap_v2/0\n  t*: ");
		put_numbers(out, total);
		buf_byte(out, '\n');
		heap_profile_put_threads(recording, groups, out);
		return;
	}
	buf_printf(out,
		   "heap profile: %" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64
		   "] @ heapprofile\n",
		   total.blocks, total.bytes, total.all_blocks, total.all_bytes);
}

/* Appends the stacks. Groups of the same backtrace are adjacent. */
static void heap_profile_put_stacks(struct view *view, const struct thread_groups *groups,
				    enum heap_dialect dialect, struct buf *out)
{
	for (size_t i = 0, n; i < groups->count && !buf_error(out); i += n) {
		const struct thread_group *list = &groups->list[i];
		struct numbers sum = {0};

		for (n = 0; i + n < groups->count && list[n].node == list->node; n++)
			heap_profile_add(&sum, &list[n]);
		if (dialect == HEAP_JEMALLOC)
			put_jemalloc(view, list, n, sum, out);
		else
			put_gperftools(view, list->node, sum, out);
	}
}

/* Appends the modules as lines of /proc/PID/maps. Control characters in a path become '?', because
 * a newline would begin a new line. */
static void put_mappings(const struct recording *recording, struct buf *out)
{
	buf_string(out, "\nMAPPED_LIBRARIES:\n");
	for (uint32_t n = 1; n <= recording_modules(recording); n++) {
		const struct module_info *m = recording_module(recording, n);
		struct heap_segment s;

		if (!m)
			continue;
		s = heap_segment_of(recording, m);
		buf_printf(out, "%" PRIx64 "-%" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ",
			   m->bias + s.start, m->bias + s.end, s.file_offset);
		for (const char *p = m->path; *p; p++)
			buf_byte(out, (uint8_t)*p < ' ' ? '?' : (uint8_t)*p);
		buf_byte(out, '\n');
	}
}

static int write_heap(const struct writing *w, enum heap_dialect dialect, struct buf *out,
		      struct err_text *err)
{
	const struct recording *recording = view_recording(w->view);
	cleanup(thread_groups_done) struct thread_groups groups = {0};
	int r = query_thread_groups(w->view, w->filter, heap_value(w->value), w->at_ns, &groups,
				    err);

	if (r < 0)
		return r;
	/* jeprof and google-pprof print a %warn line, and continue reading. */
	put_incomplete(out, "%warn ", recording, "\n");
	heap_profile_put_head(recording, &groups, dialect, out);
	heap_profile_put_stacks(w->view, &groups, dialect, out);
	put_mappings(recording, out);
	return buf_error(out) ? err_set(err, buf_error(out), "no memory for the profile") : 0;
}

static int write_jemalloc(const struct writing *writing, struct buf *out, struct err_text *err)
{
	return write_heap(writing, HEAP_JEMALLOC, out, err);
}

static int write_gperftools(const struct writing *writing, struct buf *out, struct err_text *err)
{
	return write_heap(writing, HEAP_GPERFTOOLS, out, err);
}

const struct format_writer jemalloc_writer = {.write = write_jemalloc};
const struct format_writer gperftools_writer = {.write = write_gperftools};
