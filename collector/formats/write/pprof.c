/*
 * Writes pprof's profile, as `go tool pprof` and other tools read it: a gzipped protobuf message,
 * profile.proto of github.com/google/pprof. The message is written field by field, without a tree
 * of objects in memory.
 *
 *	Profile   1 sample_type 2 sample 3 mapping 4 location 5 function 6 string_table (the first
 *		  is "") 9 time_nanos 10 duration_nanos 11 period_type 12 period 13 comment 14
 *		  default_sample_type
 *	ValueType 1 type  2 unit
 *	Sample	  1 location_id, innermost first  2 value  3 label
 *	Label	  1 key  2 str  3 num
 *	Mapping	  1 id 2 memory_start 3 memory_limit 4 file_offset 5 filename 6 build_id 7
 *		  has_functions 8 has_filenames 9 has_line_numbers 10 has_inline_frames
 *	Location  1 id  2 mapping_id  3 address  4 line, innermost of inlined functions first
 *	Line	  1 function_id  2 line  3 column
 *	Function  1 id  2 name  3 system_name  4 filename
 *
 * Texts are indices into string_table. Addresses are those in the file, and a mapping is the file's
 * executable segment. So a program has the same locations in every run, and pprof can look up names
 * in the file that are missing here. A location is one address, inside the call instruction.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/formats/write/writer.h"
#include "collector/query/hidden.h"
#include "collector/formats/write/put.h"
#include "collector/formats/write/heap_value.h"
#include "collector/formats/write/protobuf.h"
#include "collector/query/match/intern.h"
#include "collector/query/query.h"
#include "collector/recording/completeness.h"
#include "proto/stack_columns.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

struct pprof {
	struct view *view;
	const struct recording *recording;
	enum filter_hide hide;
	struct buf out, part, inner, text;
	struct intern strings, functions, locations;
	bool *shown; /* by location: it has something to show */
	uint32_t shown_capacity;
	struct mapping *mappings; /* by module */
};

/* Tells pprof which properties all locations of a module have. pprof does not look these up in the
 * file. */
struct mapping {
	/* used: the mapping has a location. The others: some location lacks the property. */
	bool used, no_function, no_file, no_line;
};

static void pprof_done(struct pprof *p)
{
	buf_done(&p->out);
	buf_done(&p->part);
	buf_done(&p->inner);
	buf_done(&p->text);
	intern_done(&p->strings);
	intern_done(&p->functions);
	intern_done(&p->locations);
	free(p->shown);
	free(p->mappings);
}

static void out_of_memory(struct pprof *p)
{
	p->out.error = -ENOMEM;
}

/* Returns the index of the text in the string table. */
static uint64_t string_of(struct pprof *p, const char *text)
{
	uint32_t number;

	if (!text || !*text)
		return 0;
	buf_clear(&p->text);
	put_utf8(&p->text, text);
	number = buf_text(&p->text) ? intern_text(&p->strings, buf_text(&p->text)) : 0;
	if (!number)
		out_of_memory(p);
	return number;
}

/* ---- locations ---- */

static uint32_t function_of(struct pprof *p, const struct view_frame *frame)
{
	uint64_t name = string_of(p, frame->name), file = string_of(p, frame->file);
	uint32_t known = p->functions.count, number = intern_pair(&p->functions, name, file);

	if (!number)
		out_of_memory(p);
	if (number <= known)
		return number;
	buf_clear(&p->part);
	protobuf_u64(&p->part, 1, number);
	protobuf_u64(&p->part, 2, name);
	protobuf_u64(&p->part, 3, frame->raw_function ? string_of(p, frame->raw_function) : name);
	protobuf_u64(&p->part, 4, file);
	protobuf_message(&p->out, 5, &p->part);
	return number;
}

/* Writes field `line` of a location for each function there. Code without a function gets the name
 * of its place; otherwise pprof would join all locations of a file that have no name. */
static bool put_lines(struct pprof *p, uint32_t node, uint32_t module, struct buf *lines)
{
	struct mapping *mapping = &p->mappings[module];
	uint32_t count = view_frame_count(p->view, node);
	cleanup(buf_done) struct buf line = {0};
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		struct view_frame frame = view_frame(p->view, node, i);

		if (view_frame_hidden(&frame, p->hide))
			continue;
		any = mapping->used = true;
		mapping->no_function |= !frame.function;
		mapping->no_file |= !frame.file;
		mapping->no_line |= !frame.line;
		buf_clear(&line);
		protobuf_u64(&line, 1, function_of(p, &frame));
		protobuf_u64(&line, 2, frame.line);
		protobuf_u64(&line, 3, frame.column);
		protobuf_message(lines, 4, &line);
	}
	if (buf_error(&line))
		out_of_memory(p);
	return any;
}

static void put_location(struct pprof *p, uint32_t number, uint32_t node,
			 const struct stack_node *n)
{
	const struct module_info *module = recording_module(p->recording, n->module);
	cleanup(buf_done) struct buf location = {0};
	uint64_t address = module ? n->offset : view_frame(p->view, node, 0).address;

	protobuf_u64(&location, 1, number);
	if (module)
		protobuf_u64(&location, 2, n->module);
	protobuf_u64(&location, 3, address ? address - 1 : 0);
	p->shown[number] = put_lines(p, node, module ? n->module : 0, &location);
	if (p->shown[number])
		protobuf_message(&p->out, 4, &location);
	if (buf_error(&location))
		out_of_memory(p);
}

/* Returns the location's number, or 0 if there is nothing to show. */
static uint32_t location_of(struct pprof *p, uint32_t node, const struct stack_node *n)
{
	uint32_t known = p->locations.count,
		 number = intern_pair(&p->locations, n->module, n->offset);

	if (!number || array_reserve(&p->shown, &p->shown_capacity, (uint64_t)number + 1,
				     sizeof(*p->shown)) < 0) {
		out_of_memory(p);
		return 0;
	}
	if (number > known)
		put_location(p, number, node, n);
	return p->shown[number] ? number : 0;
}

/* ---- samples ---- */

/* Writes the locations, innermost first. A parent's number is below its child's, so the walk
 * ends. */
static void pprof_put_stack(struct pprof *p, uint32_t node)
{
	buf_clear(&p->inner);
	while (node) {
		const struct stack_node *n = recording_node(p->recording, node);
		uint32_t location = n ? location_of(p, node, n) : 0;

		if (location)
			protobuf_varint(&p->inner, location);
		node = n && n->parent < node ? n->parent : 0;
	}
}

static void put_label(struct pprof *p, struct buf *sample, const char *key, const char *text,
		      uint64_t number)
{
	buf_clear(&p->part);
	protobuf_u64(&p->part, 1, string_of(p, key));
	protobuf_u64(&p->part, 2, string_of(p, text));
	protobuf_u64(&p->part, 3, number);
	protobuf_message(sample, 3, &p->part);
}

static void pprof_put_thread(struct pprof *p, struct buf *sample, uint32_t number)
{
	const struct thread_info *thread = recording_thread(p->recording, number);
	char text[40];

	if (!thread)
		return;
	snprintf(text, sizeof(text), "thread %u", number);
	put_label(p, sample, "thread", thread->name[0] ? thread->name : text, 0);
	put_label(p, sample, "tid", NULL, thread->tid);
}

/* Caps a number, because the format's numbers are signed. */
static uint64_t signed_most(uint64_t number)
{
	return number < INT64_MAX ? number : INT64_MAX;
}

static void put_sample(struct pprof *p, const struct thread_group *g)
{
	cleanup(buf_done) struct buf sample = {0};

	pprof_put_stack(p, g->node);
	protobuf_message(&sample, 1, &p->inner);
	buf_clear(&p->inner);
	protobuf_varint(&p->inner, signed_most(g->allocated.blocks));
	protobuf_varint(&p->inner, signed_most(g->allocated.bytes));
	protobuf_varint(&p->inner, signed_most(g->value.blocks));
	protobuf_varint(&p->inner, signed_most(g->value.bytes));
	protobuf_message(&sample, 2, &p->inner);
	pprof_put_thread(p, &sample, g->thread);
	protobuf_message(&p->out, 2, &sample);
	if (buf_error(&sample))
		out_of_memory(p);
}

/* ---- mappings ---- */

static void put_mapping(struct pprof *p, const struct module_info *m)
{
	const struct mapping *mapping = &p->mappings[m->number];
	struct heap_segment s = heap_segment_of(p->recording, m);
	char build_id[2 * sizeof(m->build_id) + 1] = "";

	for (uint32_t i = 0; i < m->build_id_length && i < sizeof(m->build_id); i++)
		snprintf(build_id + 2 * i, 3, "%02x", m->build_id[i]);
	buf_clear(&p->part);
	protobuf_u64(&p->part, 1, m->number);
	protobuf_u64(&p->part, 2, s.start);
	protobuf_u64(&p->part, 3, s.end);
	protobuf_u64(&p->part, 4, s.file_offset);
	protobuf_u64(&p->part, 5, string_of(p, m->path));
	protobuf_u64(&p->part, 6, string_of(p, build_id));
	protobuf_u64(&p->part, 7, mapping->used && !mapping->no_function);
	protobuf_u64(&p->part, 8, mapping->used && !mapping->no_file);
	protobuf_u64(&p->part, 9, mapping->used && !mapping->no_line);
	protobuf_u64(&p->part, 10, mapping->used && !mapping->no_line); /* both come from DWARF */
	protobuf_message(&p->out, 3, &p->part);
}

/* Writes the mappings, the program's first: pprof takes the first mapping for the program. */
static void put_mappings(struct pprof *p)
{
	const char *program = recording_process(p->recording)->executable;
	uint32_t count = recording_modules(p->recording), first = 0;

	for (uint32_t n = 1; n <= count && !first; n++) {
		const struct module_info *m = recording_module(p->recording, n);

		if (m && program && !strcmp(m->path, program))
			first = n;
	}
	if (first)
		put_mapping(p, recording_module(p->recording, first));
	for (uint32_t n = 1; n <= count; n++)
		if (n != first && recording_module(p->recording, n))
			put_mapping(p, recording_module(p->recording, n));
}

/* ---- head ---- */

static void put_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	buf_clear(&p->part);
	protobuf_u64(&p->part, 1, string_of(p, type));
	protobuf_u64(&p->part, 2, string_of(p, unit));
	protobuf_message(&p->out, field, &p->part);
}

static void pprof_put_head(struct pprof *p, enum value value)
{
	const struct process_info *process = recording_process(p->recording);
	const char *now = value == VALUE_FREED ? "temporary" : "inuse";
	struct completeness completeness;
	char objects[32], space[32];

	snprintf(objects, sizeof(objects), "%s_objects", now);
	snprintf(space, sizeof(space), "%s_space", now);
	put_type(p, 1, "alloc_objects", "count");
	put_type(p, 1, "alloc_space", "bytes");
	put_type(p, 1, objects, "count");
	put_type(p, 1, space, "bytes");
	protobuf_u64(&p->out, 9, process->start_wall_ns);
	protobuf_u64(&p->out, 10, recording_end_ns(p->recording));
	put_type(p, 11, "space", "bytes");
	protobuf_u64(&p->out, 12, process->sample_interval ? process->sample_interval : 1);
	recording_completeness(p->recording, &completeness);
	if (completeness.line[0])
		protobuf_u64(&p->out, 13, string_of(p, completeness.line));
	protobuf_u64(&p->out, 13, string_of(p, "heapcast " HEAPCAST_VERSION));
	if (process->command_line)
		protobuf_u64(&p->out, 13, string_of(p, process->command_line));
	protobuf_u64(&p->out, 14, string_of(p, value == VALUE_ALLOCATED ? "alloc_space" : space));
}

static void put_strings(struct pprof *p)
{
	protobuf_text(&p->out, 6, "");
	for (uint32_t i = 1; i <= p->strings.count; i++)
		protobuf_text(&p->out, 6, intern_get(&p->strings, i));
}

static int put_profile(struct pprof *p, const struct filter *filter, enum value value,
		       uint64_t at_ns, struct err_text *err)
{
	cleanup(thread_groups_done) struct thread_groups groups = {0};
	int r = query_thread_groups(p->view, filter, heap_value(value), at_ns, &groups, err);

	if (r < 0)
		return r;
	p->mappings = calloc((size_t)recording_modules(p->recording) + 1, sizeof(*p->mappings));
	if (!p->mappings)
		return -ENOMEM;
	pprof_put_head(p, value);
	for (size_t i = 0; i < groups.count && !buf_error(&p->out); i++)
		put_sample(p, &groups.list[i]);
	put_mappings(p);
	put_strings(p);
	return buf_error(&p->part)    ? buf_error(&p->part)
	       : buf_error(&p->inner) ? buf_error(&p->inner)
				      : buf_error(&p->out);
}

static int write_pprof(const struct writing *w, struct buf *out, struct err_text *err)
{
	cleanup(pprof_done) struct pprof p = {
		.view = w->view,
		.recording = view_recording(w->view),
		.hide = w->filter->hide ? w->filter->hide : HIDE_NONE,
	};
	int r = put_profile(&p, w->filter, w->value, w->at_ns, err);

	if (!r)
		r = put_gzip(out, p.out.data, p.out.length);
	return r == -ENOMEM ? err_set(err, r, "no memory for the profile") : r;
}

const struct format_writer pprof_writer = {.write = write_pprof};
