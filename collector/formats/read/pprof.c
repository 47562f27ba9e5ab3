/*
 * Imports pprof profiles (profile.proto of google/pprof, mostly packed with gzip): those of Go, of
 * many other tools, and of our own export.
 *
 * 	sample_type  alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes, in
 * 		     any order, or some of them
 * 	sample	     locations, the innermost first; a value of each type; labels
 * 	period	     bytes between samples, where the values are estimates
 *
 * The freed blocks are the allocated blocks minus those in use. Some samplers, such as Go's, have
 * already scaled their values up. Then the number of samples behind a value is computed again, so
 * that estimates come with their error. A set of labels becomes a thread, with the set as its
 * label.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/array.h"
#include "base/intern.h"
#include "collector/formats/read/importer.h"
#include "collector/formats/read/mapped.h"
#include "collector/formats/read/pprof_tables.h"
#include "base/ban.h"

#define PROFILE_MAX (256u << 20) /* bytes, unpacked */
#define TYPES_MAX   64
#define LABEL_MAX   1024
/* Limit for distinct sets of labels. Each set becomes a thread, and a text of at most LABEL_MAX
 * bytes. */
#define LABEL_SETS_MAX (1u << 16)
#define TEXT_MAX       4096 /* bytes of a name or path; the rest is cut off */
#define NO_TYPE	       UINT32_MAX

struct profile {
	struct importer *im;
	struct pprof p;
	struct buf data;
	struct mapped mapped;
	struct intern taken;  /* places, by module and offset */
	struct intern labels; /* sets of labels; thread number = number of the set + 1 */
	uint32_t live_blocks, live_bytes, blocks,
		bytes; /* indices of the types in a sample; NO_TYPE: the type is absent */
	bool sampled;
	uint64_t *stack;
	uint32_t stack_count, stack_capacity;
	uint64_t numbered;   /* number of places so far that got a number instead of an address */
	uint64_t unlabelled; /* samples whose set of labels exceeds LABEL_SETS_MAX */
};

static void profile_done(struct profile *f)
{
	pprof_done(&f->p);
	buf_done(&f->data);
	mapped_done(&f->mapped);
	intern_done(&f->taken);
	intern_done(&f->labels);
	free(f->stack);
}

static int no_memory(struct profile *f)
{
	return err_set(f->im->err, -ENOMEM, "no memory to import");
}

/* Returns a copy of the text, which the caller frees, or NULL without memory. */
static char *copy_text(const struct profile *f, uint64_t number)
{
	struct pprof_text t = pprof_text(&f->p, number);

	return strndup(t.data, t.length < TEXT_MAX ? t.length : TEXT_MAX);
}

/* ---- types ---- */

static uint32_t find_type(const struct profile *f, const char *const *names, const char *unit)
{
	for (; *names; names++)
		for (uint32_t i = 0; i < f->p.type_count; i++)
			if (pprof_text_is(&f->p, f->p.types[i].type, *names) &&
			    pprof_text_is(&f->p, f->p.types[i].unit, unit))
				return i;
	return NO_TYPE;
}

/* Chooses the profile's default type, or else the last one, if no type is in bytes. */
static void take_other_type(struct profile *f)
{
	struct pprof_text type, unit;
	uint32_t chosen = f->p.type_count - 1;

	for (uint32_t i = 0; f->p.default_type && i < f->p.type_count; i++)
		if (f->p.types[i].type == f->p.default_type)
			chosen = i;
	f->live_bytes = chosen;
	type = pprof_text(&f->p, f->p.types[chosen].type);
	unit = pprof_text(&f->p, f->p.types[chosen].unit);
	importer_note(f->im, "no profile of memory: what stands here as bytes are %.*s, in %.*s",
		      (int)(type.length < 40 ? type.length : 40), type.data,
		      (int)(unit.length < 40 ? unit.length : 40), unit.data);
}

static int find_types(struct profile *f)
{
	static const char *const live_blocks[] = {"inuse_objects", "objects", NULL},
				 *const live_bytes[] = {"inuse_space", "space", NULL},
				 *const blocks[] = {"alloc_objects", "allocations", NULL},
				 *const bytes[] = {"alloc_space", NULL};

	if (!f->p.type_count || f->p.type_count > TYPES_MAX)
		return err_set(f->im->err, -EBADMSG, "%s: a profile of %u types of values",
			       source_name(f->im->source), f->p.type_count);
	f->live_blocks = find_type(f, live_blocks, "count");
	f->live_bytes = find_type(f, live_bytes, "bytes");
	f->blocks = find_type(f, blocks, "count");
	f->bytes = find_type(f, bytes, "bytes");
	f->sampled = f->p.period > 1 && pprof_text_is(&f->p, f->p.period_type.unit, "bytes");
	if (f->live_bytes == NO_TYPE && f->bytes == NO_TYPE)
		take_other_type(f);
	else if (f->live_bytes == NO_TYPE)
		importer_note(
			f->im,
			"it tells what was allocated, and not what is in use: all counts as freed");
	if (f->blocks == NO_TYPE && f->live_blocks == NO_TYPE) {
		importer_note(f->im, "how many blocks there were is not known: one a line");
		f->sampled = false;
	}
	importer_note(f->im,
		      "sums a backtrace, no times: what was in use at the peak is not known");
	return 0;
}

/* ---- places ---- */

static int read_mappings(struct profile *f)
{
	for (uint32_t i = 0; i < f->p.mapping_count; i++) {
		const struct pprof_mapping *m = &f->p.mappings[i];
		cleanup(cleanup_free) char *path = copy_text(f, m->file);
		struct mapping mapping = {.start = m->start,
					  .end = m->limit,
					  .offset = m->offset,
					  .path = path,
					  .number = i + 1};

		mapping.build_id_length = pprof_build_id(&f->p, m->build_id, mapping.build_id,
							 sizeof(mapping.build_id));
		if (!path || mapped_add(&f->mapped, &mapping) < 0)
			return no_memory(f);
	}
	if (mapped_sort(&f->mapped) < 0)
		return no_memory(f);
	mapped_note(&f->mapped, f->im);
	return 0;
}

/* Reads the lines of a location, innermost first. */
static int read_lines(struct profile *f, const struct pprof_location *l,
		      struct composer_frame *frames, char **texts, unsigned *ret_count)
{
	struct reader message = l->message;
	struct wire_field field, of_line;
	unsigned count = 0;
	int r;

	while ((r = wire_next(&message, &field)) == 1 && count < NAMES_FRAMES_MAX) {
		uint64_t function = 0, line = 0, *index;

		if (field.number != 4 || field.type != 2)
			continue;
		while ((r = wire_next(&field.bytes, &of_line)) == 1) {
			if (of_line.number == 1)
				function = of_line.value;
			else if (of_line.number == 2)
				line = of_line.value;
		}
		if (r < 0)
			break;
		index = map_get(&f->p.function_ids, function);
		if (!index)
			continue;
		texts[2 * count] = copy_text(f, f->p.functions[*index - 1].name);
		texts[2 * count + 1] = copy_text(f, f->p.functions[*index - 1].file);
		frames[count] = (struct composer_frame){texts[2 * count], texts[2 * count + 1],
							line > UINT32_MAX ? 0 : (uint32_t)line};
		count++;
	}
	*ret_count = count;
	return r < 0 ? err_set(f->im->err, r, "%s: a damaged location", source_name(f->im->source))
		     : 0;
}

/* Finds the place of a location in the recording. A location without an address gets a number
 * instead, and so does a second location at the same place. */
static int pprof_place_of(struct profile *f, struct pprof_location *l, bool named)
{
	uint64_t *mapping = map_get(&f->p.mapping_ids, l->mapping);
	uint32_t known = f->taken.count, taken = 0;
	int r = 0;

	/* A place is a return address. A profile's address lies in the call, one byte lower. */
	if (l->address && l->address < UINT64_MAX - 1) {
		r = mapped_place_in(&f->mapped, f->im->composer, mapping ? (uint32_t)*mapping : 0,
				    l->address + 1, &l->module, &l->offset);
		taken = r < 0 ? 0 : intern_pair(&f->taken, l->module, l->offset);
	}
	if (r < 0)
		return r;
	if (taken <= known || (!l->module && (named || l->offset < COMPOSER_FIRST_PLACE))) {
		l->module = 0;
		l->offset = (UINT64_C(1) << 63) + f->numbered++;
	}
	return 0;
}

/* Recognizes "[libx.so+0x1234]", the name that our own export gives to a place without a name. The
 * place stays unnamed. */
static bool is_place(const char *name, uint64_t address)
{
	const char *plus = name && name[0] == '[' ? strrchr(name, '+') : NULL;
	char *at = (char *)(uintptr_t)(plus ? plus + 1 : "");
	uint64_t offset;

	return text_hex(&at, &offset) && offset == address + 1 && !strcmp(at, "]");
}

static int place_location(struct profile *f, struct pprof_location *l)
{
	struct composer_frame frames[NAMES_FRAMES_MAX];
	char *texts[2 * NAMES_FRAMES_MAX] = {NULL};
	unsigned count = 0, named;
	int r = read_lines(f, l, frames, texts, &count);

	named = count == 1 && is_place(frames[0].function, l->address) ? 0 : count;
	if (!r)
		r = pprof_place_of(f, l, named);
	if (!r && (named || !l->module))
		r = importer_name(f->im, l->module, l->offset, frames, named);
	l->placed = true;
	for (unsigned i = 0; i < 2 * count; i++)
		free(texts[i]);
	return r;
}

/* ---- samples ---- */

static int put_location(struct profile *f, uint64_t id)
{
	if (f->stack_count == IMPORT_STACK_MAX)
		return importer_bad_line(f->im, "a stack of more than %u frames", IMPORT_STACK_MAX);
	if (array_reserve(&f->stack, &f->stack_capacity, (uint64_t)f->stack_count + 1,
			  sizeof(*f->stack)) < 0)
		return no_memory(f);
	f->stack[f->stack_count++] = id;
	return 0;
}

static int node_of_stack(struct profile *f, uint32_t *ret_node)
{
	uint32_t node = 0;
	int r = 0;

	for (uint32_t i = f->stack_count; !r && i-- > 0;) {
		uint64_t *index = map_get(&f->p.location_ids, f->stack[i]);
		struct pprof_location *l = index ? &f->p.locations[*index - 1] : NULL;

		if (!l)
			return importer_bad_line(f->im, "at a location that is not defined");
		if (!l->placed)
			r = place_location(f, l);
		if (!r)
			r = composer_node(f->im->composer, node, l->module, l->offset, &node);
	}
	*ret_node = node;
	return r;
}

static int read_label(struct profile *f, struct reader message, struct buf *out)
{
	struct wire_field field;
	uint64_t key = 0, text = 0;
	struct pprof_text k, t;
	int r;

	while ((r = wire_next(&message, &field)) == 1) {
		if (field.number == 1)
			key = field.value;
		else if (field.number == 2)
			text = field.value;
	}
	/* Numeric labels are left out: most are sizes of blocks, which are known anyway. */
	if (r < 0 || !text || out->length > LABEL_MAX)
		return r;
	k = pprof_text(&f->p, key);
	t = pprof_text(&f->p, text);
	if (out->length)
		buf_byte(out, ' ');
	buf_append(out, k.data, k.length < LABEL_MAX ? k.length : LABEL_MAX);
	buf_byte(out, '=');
	buf_append(out, t.data, t.length < LABEL_MAX ? t.length : LABEL_MAX);
	return 0;
}

/* Returns the thread that stands for a set of labels. Thread 1 has no labels. */
static int pprof_thread_of(struct profile *f, struct buf *labels, uint32_t *ret_thread)
{
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT;
	uint32_t before = f->labels.count, number;
	int r;

	*ret_thread = 1;
	if (!labels->length)
		return 0;
	if (labels->length > LABEL_MAX)
		labels->length = LABEL_MAX;
	if (buf_error(labels))
		return no_memory(f);
	if (before == LABEL_SETS_MAX) {
		number = intern_find(&f->labels, labels->data, labels->length);
		f->unlabelled += !number;
		*ret_thread = number + 1;
		return 0;
	}
	number = intern_bytes(&f->labels, labels->data, labels->length);
	if (!number)
		return no_memory(f);
	*ret_thread = number + 1;
	if (number <= before)
		return 0;
	thread.number = mark.thread = *ret_thread;
	thread.name = mark.text = (ProtobufCBinaryData){labels->length, labels->data};
	mark.kind = HEAPCAST__MARK_KIND__MARK_LABEL;
	r = composer_thread(f->im->composer, &thread);
	return r ? r : composer_mark(f->im->composer, &mark);
}

static uint64_t pprof_value_of(const uint64_t *values, uint32_t type)
{
	return type == NO_TYPE ? 0 : values[type];
}

/* Adds the samples behind values that were scaled up. */
static int put_scaled(struct profile *f, uint32_t thread, uint32_t node, uint64_t blocks,
		      uint64_t bytes, bool freed)
{
	double factor = importer_unsample(blocks, bytes, (double)f->p.period),
	       raw = (double)blocks / factor + 0.5;
	uint64_t count = raw < 1 ? 1 : (uint64_t)raw;

	if (!blocks)
		return 0;
	return importer_samples(f->im, thread, node, count,
				(uint64_t)((double)bytes / (double)blocks * (double)count + 0.5),
				(double)bytes, freed);
}

static int pprof_put(struct profile *f, uint32_t thread, uint32_t node, uint64_t blocks,
		     uint64_t bytes, bool freed)
{
	if (!blocks && bytes)
		blocks = 1; /* the number is not known */
	return f->sampled ? put_scaled(f, thread, node, blocks, bytes, freed)
			  : importer_blocks(f->im, thread, node, blocks, bytes, freed);
}

static int put_values(struct profile *f, uint32_t thread, uint32_t node, const uint64_t *values)
{
	uint64_t live_blocks = pprof_value_of(values, f->live_blocks),
		 live_bytes = pprof_value_of(values, f->live_bytes),
		 blocks = pprof_value_of(values, f->blocks),
		 bytes = pprof_value_of(values, f->bytes);
	int r = 0;

	for (uint32_t i = 0; i < f->p.type_count; i++)
		if (values[i] > INT64_MAX)
			return importer_bad_line(
				f->im, "a value below 0: a difference of profiles is no profile");
	if (blocks >= live_blocks && bytes >= live_bytes)
		r = pprof_put(f, thread, node, blocks - live_blocks, bytes - live_bytes, true);
	return r ? r : pprof_put(f, thread, node, live_blocks, live_bytes, false);
}

static int read_values(struct profile *f, const struct wire_field *field, uint64_t *values,
		       uint32_t *count)
{
	struct reader packed = {0};
	uint64_t value;

	while (wire_numbers(field, &packed, &value)) {
		if (*count < f->p.type_count)
			values[*count] = value;
		++*count;
	}
	return reader_error(&packed);
}

static int read_locations(struct profile *f, const struct wire_field *field)
{
	struct reader packed = {0};
	uint64_t id;
	int r = 0;

	while (!r && wire_numbers(field, &packed, &id))
		r = put_location(f, id);
	return r ? r : reader_error(&packed);
}

static int read_sample(struct profile *f, struct reader message)
{
	cleanup(buf_done) struct buf labels = {0};
	uint64_t values[TYPES_MAX] = {0};
	struct wire_field field;
	uint32_t count = 0, node = 0, thread = 0;
	int r;

	f->stack_count = 0;
	while ((r = wire_next(&message, &field)) == 1) {
		r = 0;
		if (field.number == 1)
			r = read_locations(f, &field);
		else if (field.number == 2)
			r = read_values(f, &field, values, &count);
		else if (field.number == 3)
			r = read_label(f, field.bytes, &labels);
		if (r < 0)
			break;
	}
	if (r < 0 && !f->im->err->text[0])
		return importer_bad_line(f->im, "damaged");
	if (!r && count != f->p.type_count)
		return importer_bad_line(f->im, "%u values of %u types", count, f->p.type_count);
	if (!r)
		r = pprof_thread_of(f, &labels, &thread);
	if (!r)
		r = node_of_stack(f, &node);
	return r ? r : put_values(f, thread, node, values);
}

static int read_samples(struct profile *f)
{
	struct reader all = reader_of(f->data.data, f->data.length);
	struct wire_field field;
	int r;

	f->im->place_name = "sample";
	while ((r = wire_next(&all, &field)) == 1) {
		if (field.number != 2)
			continue;
		f->im->place++;
		r = read_sample(f, field.bytes);
		if (r < 0)
			return r;
	}
	return r;
}

static int pprof_begin(struct profile *f)
{
	const struct pprof_mapping *first = f->p.mapping_count ? f->p.mappings : NULL;
	cleanup(cleanup_free) char *program = copy_text(f, first ? first->file : 0);
	const struct importer_process process = {
		.executable = program && *program ? program : NULL,
		.sampled = f->sampled,
		.interval = f->p.period,
		.wall_ns = f->p.time_ns > INT64_MAX ? 0 : f->p.time_ns,
	};

	return importer_begin(f->im, &process);
}

static int read_pprof(struct importer *im)
{
	cleanup(profile_done) struct profile f = {.im = im};
	int r = source_all(im->source, PROFILE_MAX, &f.data, im->err);

	if (r < 0)
		return r;
	r = pprof_read(f.data.data, f.data.length, &f.p, im->err);
	if (r < 0)
		return err_prefix(im->err, r, "%s", source_name(im->source));
	r = find_types(&f);
	if (!r)
		r = read_mappings(&f);
	if (!r)
		r = pprof_begin(&f);
	if (!r)
		r = read_samples(&f);
	if (f.unlabelled)
		importer_note(im,
			      "%llu samples are without their labels: there are more than %u sets "
			      "of them",
			      (unsigned long long)f.unlabelled, LABEL_SETS_MAX);
	return r;
}

/* The fields of a profile that hold a message, bytes or a string. All others are numbers. */
#define FIELDS_OF_BYTES (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 11)
#define FIELD_COMMENT	13 /* numbers, packed or not */
#define FIELDS		16
#define FIELD_STRING	6

static bool is_message(struct reader bytes)
{
	struct wire_field inner;
	int r;

	while ((r = wire_next(&bytes, &inner)) == 1 && inner.number < FIELDS)
		;
	return !r;
}

static bool is_field(const struct wire_field *f)
{
	bool bytes = f->number < FIELDS && FIELDS_OF_BYTES >> f->number & 1;

	return f->number < FIELDS &&
	       (f->type == (bytes ? 2 : 0) || (f->type == 2 && f->number == FIELD_COMMENT));
}

/* Recognizes a profile by all fields that lie completely in `head`. The first fields differ from
 * tool to tool. Other binary data may look like one valid field, but hardly like two and the
 * beginning of a third. */
static bool is_pprof(const uint8_t *head, size_t length)
{
	struct reader all = reader_of(head, length);
	struct wire_field f;
	unsigned whole = 0;
	int r;

	if (!importer_is_binary(head, length))
		return false;
	while ((r = wire_next(&all, &f)) == 1) {
		if (!is_field(&f))
			return false;
		if (f.type == 2 && f.number != FIELD_STRING && f.number != FIELD_COMMENT &&
		    !is_message(f.bytes))
			return false;
		whole++;
	}
	/* The last field may continue behind `head`. */
	return r ? whole >= 2 && is_field(&f) : whole;
}

const struct format_reader pprof_reader = {is_pprof, read_pprof};
