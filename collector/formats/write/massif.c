/*
 * Writes the output format of valgrind's massif, which ms_print, massif-visualizer and others read:
 * snapshots of the memory in use over time, and the peak. Some snapshots have a tree of callers,
 * from the allocating function outwards.
 *
 *	desc: ...
 *	cmd: COMMAND
 *	time_unit: ms
 *	snapshot=0
 *	time=0
 *	mem_heap_B=BYTES
 *	mem_heap_extra_B=0
 *	mem_stacks_B=0
 *	heap_tree=empty, detailed or peak
 *	nCHILDREN: BYTES (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *	 nCHILDREN: BYTES 0xADDRESS: FUNCTION (FILE:LINE)
 *	 n0: BYTES in N places, all below massif's threshold (1.00%)
 *
 * A reader stops at a line that has more bytes than the whole. So the figures and the tree of a
 * detailed snapshot come from one answer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/saturated.h"
#include "collector/columns/row_block.h"
#include "collector/formats/write/writer.h"
#include "collector/formats/write/put.h"
#include "collector/answers/walk.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define SNAPSHOTS      64
#define DETAILED_EVERY 10
/* A smaller part of a snapshot gets no line of its own. */
#define THRESHOLD_PARTS 100

struct massif {
	struct view *view;
	const struct filter *filter;
	struct buf *out;
	struct err_text *err;
	uint32_t number; /* number of the next snapshot */
};

/* Appends a name. Replaces what would begin a comment of the format or end a line. */
static void massif_put_name(struct buf *out, const char *text)
{
	size_t from = out->length;

	put_utf8(out, text);
	for (size_t i = from; i < out->length; i++)
		if (out->data[i] == '#')
			out->data[i] = '?';
}

static void put_snapshot(struct massif *m, uint64_t time_ns, uint64_t bytes, const char *tree)
{
	buf_printf(m->out,
		   "#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
		   "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		   m->number++, time_ns / 1000000, bytes, tree);
}

/* ---- trees ---- */

static void indent(struct buf *out, uint32_t depth)
{
	while (depth--)
		buf_byte(out, ' ');
}

static void put_place(struct massif *m, const struct tree_node *n)
{
	uint64_t address = view_frame(m->view, n->node, n->frame).address;

	buf_printf(m->out, " 0x%" PRIX64 ": ", address);
	massif_put_name(m->out, n->function ? n->function : "???");
	if (n->file || n->module) {
		buf_string(m->out, n->file ? " (" : " (in ");
		massif_put_name(m->out, n->file ? n->file : n->module);
		if (n->file && n->line)
			buf_printf(m->out, ":%u", n->line);
		buf_byte(m->out, ')');
	}
}

/* The children that are too small for lines of their own. */
struct rest {
	uint64_t bytes;
	uint32_t count, shown;
};

static struct rest rest_of(const struct tree *tree, uint32_t node, uint64_t least)
{
	struct rest rest = {0};

	for (uint32_t i = tree->nodes[node].first_child; i; i = tree->nodes[i].next_sibling) {
		if (tree->nodes[i].bytes >= least) {
			rest.shown++;
			continue;
		}
		rest.count++;
		add_most(&rest.bytes, tree->nodes[i].bytes);
	}
	return rest;
}

static void massif_put_line(struct massif *m, const struct tree *tree, uint32_t node,
			    uint32_t depth, const struct rest *rest)
{
	const struct tree_node *n = &tree->nodes[node];

	indent(m->out, depth);
	buf_printf(m->out, "n%u: %" PRIu64, rest->shown + (rest->count > 0), n->bytes);
	if (node)
		put_place(m, n);
	else
		buf_string(m->out,
			   " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
	buf_byte(m->out, '\n');
}

/* Writes the line of these children, behind the last child that has a line. */
static void massif_put_rest(struct massif *m, const struct rest *rest, uint32_t depth)
{
	if (!rest->count)
		return;
	indent(m->out, depth + 1);
	buf_printf(m->out, "n0: %" PRIu64 " in %u place%s below massif's threshold (%.2f%%)\n",
		   rest->bytes, rest->count, rest->count == 1 ? "," : "s, all",
		   100.0 / THRESHOLD_PARTS);
}

static void put_lines(struct massif *m, const struct tree *tree, struct walk *walk,
		      struct rest *rests, uint64_t least)
{
	uint32_t node = 0, depth = 0;

	do {
		rests[walk->depth] = rest_of(tree, node, least);
		massif_put_line(m, tree, node, walk->depth, &rests[walk->depth]);
		depth = walk->depth;
		node = walk_next(walk);
		while (node && tree->nodes[node].bytes < least)
			node = walk_over(walk);
		for (; depth + 1 > walk->depth; depth--) {
			massif_put_rest(m, &rests[depth], depth);
			if (!depth)
				break;
		}
	} while (node);
}

static int put_tree(struct massif *m, const struct tree *tree, uint64_t least)
{
	struct walk walk;
	struct rest *rests = NULL;
	int error = walk_init(&walk, tree);

	if (!error)
		rests = calloc((size_t)walk.deepest + 2, sizeof(*rests));
	if (!error && !rests)
		error = -ENOMEM;
	if (!error)
		put_lines(m, tree, &walk, rests, least);
	free(rests);
	walk_done(&walk);
	return error;
}

static int put_detailed(struct massif *m, enum value value, uint64_t at_ns, uint64_t time_ns,
			const char *kind)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(tree_done) struct tree callers = {0};
	struct filter filter = *m->filter; /* borrows the filter's texts */
	uint64_t least;
	int r;

	if (filter.hide == HIDE_DEFAULT) /* massif's readers have rules of their own */
		filter.hide = HIDE_NONE;
	r = query_tree(m->view, &filter, value, at_ns, &tree, m->err);
	if (r < 0)
		return r;
	least = tree.nodes[0].bytes / THRESHOLD_PARTS;
	least = least ? least : 1;
	r = tree_reversed(&tree, least, UINT64_MAX, UINT32_MAX, &callers);
	if (r < 0)
		return r;
	put_snapshot(m, time_ns, callers.nodes[0].bytes, kind);
	return put_tree(m, &callers, least);
}

/* ---- over time ---- */

static int put_bucket(struct massif *m, const struct timeline *t, uint32_t i)
{
	const struct timeline_bucket *b = &t->list[i];
	uint64_t end = i + 1 < t->count ? t->list[i + 1].start_ns : t->to_ns;

	if ((i + 1) % DETAILED_EVERY == 0)
		return put_detailed(m, VALUE_IN_USE, end ? end - 1 : 0, end, "detailed");
	put_snapshot(m, end, b->bytes, "empty");
	return 0;
}

static int put_over_time(struct massif *m, uint64_t peak_ns)
{
	cleanup(timeline_done) struct timeline timeline = {0};
	const struct timeline_question question = {.to_ns = NO_TIME, .buckets = SNAPSHOTS};
	bool peak_told = false;
	int r = query_timeline(m->view, m->filter, &question, &timeline, m->err);

	if (!r)
		put_snapshot(m, 0, 0, "empty");
	for (uint32_t i = 0; !r && i < timeline.count; i++) {
		uint64_t end = i + 1 < timeline.count ? timeline.list[i + 1].start_ns : NO_TIME;

		if (!peak_told && peak_ns < end) {
			r = put_detailed(m, VALUE_PEAK, NO_TIME, peak_ns, "peak");
			peak_told = true;
		}
		if (!r)
			r = put_bucket(m, &timeline, i);
	}
	return r;
}

static int find_peak(struct massif *m, uint64_t *ret_ns)
{
	struct report report;
	int r = query_report(m->view, m->filter, &report, m->err);

	if (!r)
		*ret_ns = report.peak_ns;
	return r;
}

/* Writes what was in use from the start to the end, with the peak. If the user chose another value,
 * writes what it counts at its moment. */
static int write_massif(const struct writing *w, struct buf *out, struct err_text *err)
{
	const struct recording *recording = view_recording(w->view);
	const char *command = recording_process(recording)->command_line;
	struct massif m = {.view = w->view, .filter = w->filter, .out = out, .err = err};
	uint64_t peak_ns = 0;
	int r;

	buf_string(out, "desc: heapcast " HEAPCAST_VERSION);
	put_incomplete(out, ". ", recording, "");
	buf_string(out, "\ncmd: ");
	massif_put_name(out, command && *command ? command : "?");
	buf_string(out, "\ntime_unit: ms\n");
	if (w->value_given) {
		uint64_t end_ns = recording_end_ns(recording);

		r = put_detailed(&m, w->value, w->at_ns, w->at_ns < end_ns ? w->at_ns : end_ns,
				 "detailed");
	} else {
		r = find_peak(&m, &peak_ns);
		r = r ? r : put_over_time(&m, peak_ns);
	}
	r = r ? r : buf_error(out);
	return r == -ENOMEM ? err_set(err, r, "no memory for the snapshots") : r;
}

const struct format_writer massif_writer = {.write = write_massif};
