/*
 * Writes the text that heaptrack_interpret writes, and that heaptrack_print and the heaptrack GUI
 * read (format version 2: names end with the line). Numbers are hexadecimal. Strings, instruction
 * pointers, traces and allocation infos are numbered from 1 (infos from 0) in the order of their
 * lines.
 *
 *	v 10100 2		version of heaptrack and of the format
 *	X COMMAND		command line
 *	I PAGESIZE PAGES	of the machine; 0: not known
 *	s TEXT
 *	i IP MODULE [FUNCTION FILE LINE]...	innermost first, followed by the functions that it
 *						was inlined into; IP lies in the call
 *	t IP PARENT		a frame and the trace of its caller; 0: none
 *	a SIZE TRACE
 *	+ INFO, - INFO		a block, and its end
 *	c MS, R PAGES		time passed, and resident memory then
 *
 * A sampled block is written with the bytes that it stands for. A realloc is an end and a new
 * block. The text is written in steps, so that the memory needed is that of the blocks in use.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/formats/write/writer.h"
#include "collector/formats/write/put.h"
#include "collector/query/sweep/events.h"
#include "collector/query/query.h"
#include "collector/recording/figures.h"
#include "proto/stack_columns.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define TICK_NS 10000000 /* minimum time between `c` lines, as in heaptrack itself */
/* Recent pairs of size and trace, which are found again. Other pairs are written again, with the
 * same meaning. */
#define INFOS_RECENT 65536

struct info {
	uint64_t size, number;
	uint32_t trace; /* trace + 1; 0: unused entry */
};

struct heaptrack_export {
	struct view *view;
	const struct recording *recording;
	struct query_events *events;
	struct figures_history figures;
	size_t figures_at;
	bool begun, ended;
	uint64_t told_ns;
	struct map strings;  /* the view's texts, by their address */
	struct map pointers; /* by address and module */
	uint32_t *trace_of;  /* by node; 0: not written yet */
	uint32_t nodes, traces;
	uint64_t string_count, pointer_count, info_count;
	struct info *recent;
	struct map live; /* row -> info */
};

static void heaptrack_end(void *state)
{
	struct heaptrack_export *e = state;

	if (!e)
		return;
	query_events_free(e->events);
	figures_history_done(&e->figures);
	map_done(&e->strings);
	map_done(&e->pointers);
	map_done(&e->live);
	free(e->trace_of);
	free(e->recent);
	free(e);
}

static int begin(const struct writing *w, void **ret_state, struct err_text *err)
{
	struct heaptrack_export *e;
	int r = filter_narrow(w->filter, w->view, w->value, w->at_ns, err);

	if (r < 0)
		return r;
	e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	e->view = w->view;
	e->recording = view_recording(w->view);
	e->nodes = recording_nodes(e->recording);
	e->trace_of = calloc((size_t)e->nodes + 1, sizeof(*e->trace_of));
	e->recent = calloc(INFOS_RECENT, sizeof(*e->recent));
	r = e->trace_of && e->recent ? 0 : err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = figures_over_time(recording_path(e->recording), &w->filter->cancel, &e->figures,
				      err);
	if (!r)
		r = query_events_new(w->view, w->filter, 0, &e->events, err);
	if (r < 0) {
		heaptrack_end(e);
		return r;
	}
	*ret_state = e;
	return 0;
}

/* ---- names ---- */

/* Returns the string's number, or 0 for NULL. The view stores each text once, so its address
 * identifies it. */
static uint64_t string_number(struct heaptrack_export *e, const char *text, struct buf *out)
{
	bool is_new;
	uint64_t *number;

	if (!text)
		return 0;
	number = map_put(&e->strings, (uint64_t)(uintptr_t)text, &is_new);
	if (!number) {
		out->error = -ENOMEM;
		return 0;
	}
	if (!is_new)
		return *number;
	*number = ++e->string_count;
	buf_string(out, "s ");
	for (const char *p = text; *p; p++)
		buf_byte(out, (uint8_t)*p < ' ' ? ' ' : (uint8_t)*p);
	buf_byte(out, '\n');
	return e->string_count;
}

static void heaptrack_put_frame(struct heaptrack_export *e, const struct view_frame *frame,
				struct buf *line, struct buf *out)
{
	const char *name = frame->function || !frame->address ? frame->name : NULL;
	uint64_t function = string_number(e, name, out), file = string_number(e, frame->file, out);

	if (function)
		buf_printf(line, " %" PRIx64 " %" PRIx64 " %x", function, file, frame->line);
}

/* Returns the number of a node's instruction pointer. The key includes the module, because two
 * modules may have had the same address one after the other. */
static uint64_t pointer_number(struct heaptrack_export *e, uint32_t node, struct buf *out)
{
	const struct stack_node *n = recording_node(e->recording, node);
	struct view_frame frame = view_frame(e->view, node, 0);
	uint64_t key = (frame.address ? frame.address : n->offset) ^ (uint64_t)n->module << 47;
	cleanup(buf_done) struct buf line = {0};
	uint32_t count = view_frame_count(e->view, node);
	bool is_new;
	uint64_t *number = map_put(&e->pointers, key, &is_new);

	if (!number) {
		out->error = -ENOMEM;
		return 0;
	}
	if (!is_new)
		return *number;
	*number = ++e->pointer_count;
	buf_printf(&line, "i %" PRIx64 " %" PRIx64, frame.address ? frame.address - 1 : 0,
		   string_number(e, frame.module, out));
	for (uint32_t i = 0; i < count; i++) {
		frame = view_frame(e->view, node, i);
		heaptrack_put_frame(e, &frame, &line, out);
	}
	buf_byte(&line, '\n');
	if (buf_error(&line))
		out->error = buf_error(&line);
	buf_append(out, line.data, line.length);
	return e->pointer_count;
}

/* ---- traces ---- */

/* Writes the part of the path from the root to `node` that is not written yet. Returns the number
 * of the trace. */
static uint32_t trace_number(struct heaptrack_export *e, uint32_t node, struct buf *out)
{
	uint32_t parent = 0;

	if (!node || node > e->nodes)
		return 0;
	for (;;) {
		uint32_t at = node, above;

		/* Finds the outermost unwritten node, whose caller was written or which has none. A
		 * path is walked at most once per node. */
		for (; !e->trace_of[at]; at = above) {
			const struct stack_node *n = recording_node(e->recording, at);

			above = n && n->parent < at ? n->parent : 0;
			parent = above ? e->trace_of[above] : 0;
			if (!above || parent)
				break;
		}
		if (e->trace_of[at])
			return e->trace_of[at];
		buf_printf(out, "t %" PRIx64 " %x\n", pointer_number(e, at, out), parent);
		e->trace_of[at] = ++e->traces;
		if (at == node || buf_error(out))
			return e->trace_of[at];
	}
}

static uint64_t info_number(struct heaptrack_export *e, uint64_t size, uint32_t trace,
			    struct buf *out)
{
	uint64_t hash = (size * 0x9e3779b97f4a7c15u ^ trace * 0xc2b2ae3d27d4eb4fu) >> 20;
	struct info *info = &e->recent[hash % INFOS_RECENT];

	if (info->trace != trace + 1 || info->size != size) {
		buf_printf(out, "a %" PRIx64 " %x\n", size, trace);
		*info = (struct info){size, e->info_count++, trace + 1};
	}
	return info->number;
}

/* ---- events ---- */

static void heaptrack_put_head(struct heaptrack_export *e, struct buf *out)
{
	const struct process_info *process = recording_process(e->recording);
	const char *command = process->command_line ? process->command_line : "";

	buf_string(out, "v 10100 2\n");
	put_incomplete(out, "# ", e->recording, "\n");
	buf_string(out, "X ");
	for (; *command; command++)
		buf_byte(out, (uint8_t)*command < ' ' ? ' ' : (uint8_t)*command);
	buf_printf(out, "\nI %x 0\n", process->page_size ? process->page_size : 4096);
	e->begun = true;
}

static void tell_time(struct heaptrack_export *e, uint64_t now, struct buf *out)
{
	const struct figures_info *figures = e->figures.figures;
	uint32_t page = recording_process(e->recording)->page_size;

	e->told_ns = now;
	buf_printf(out, "c %" PRIx64 "\n", now / 1000000);
	for (; e->figures_at < e->figures.figures_count && figures[e->figures_at].time_ns <= now;
	     e->figures_at++)
		buf_printf(out, "R %" PRIx64 "\n",
			   figures[e->figures_at].rss / (page ? page : 4096));
}

static void tell_birth(struct heaptrack_export *e, const struct block_event *event, struct buf *out)
{
	uint64_t info = info_number(e, event->weight, trace_number(e, event->stack, out), out);
	bool is_new;
	uint64_t *live = map_put(&e->live, event->row, &is_new);

	if (!live) {
		out->error = -ENOMEM;
		return;
	}
	*live = info;
	buf_printf(out, "+ %" PRIx64 "\n", info);
}

static void tell_death(struct heaptrack_export *e, const struct block_event *event, struct buf *out)
{
	uint64_t info;

	if (map_remove(&e->live, event->row, &info))
		buf_printf(out, "- %" PRIx64 "\n", info);
}

static int some(void *state, size_t bytes, struct buf *out, struct err_text *err)
{
	struct heaptrack_export *e = state;
	struct block_event event;
	int r = 1;

	if (!e->begun)
		heaptrack_put_head(e, out);
	while (!e->ended && out->length < bytes && !buf_error(out)) {
		r = query_events_next(e->events, &event, err);
		if (r < 0)
			return r;
		e->ended = !r;
		if (!r)
			break;
		if (event.time_ns >= e->told_ns + TICK_NS)
			tell_time(e, event.time_ns, out);
		if (event.is_death)
			tell_death(e, &event, out);
		else
			tell_birth(e, &event, out);
	}
	if (e->ended)
		tell_time(e, recording_end_ns(e->recording), out);
	if (buf_error(out))
		return err_set(err, buf_error(out), "out of memory");
	return !e->ended;
}

const struct format_writer heaptrack_writer = {.begin = begin, .some = some, .free = heaptrack_end};
