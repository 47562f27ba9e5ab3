/*
 * Rewrites a recording with pseudonyms. A table covers the fields (anonymise_fields.h); this file
 * covers the columns: addresses of events and regions, offsets of stacks, names of regions.
 * Function names are included (told_names.h), embedded files (brought.h) are not. Modules, nodes
 * and threads keep their numbers, and so do all figures that refer to them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "collector/recording/info.h"
#include "collector/rewrite/anonymise_fields.h"
#include "collector/rewrite/brought.h"
#include "collector/rewrite/copy.h"
#include "collector/recording/maps_step.h"
#include "collector/rewrite/anonymise.h"
#include "collector/rewrite/told_names.h"
#include "proto/columns.h"
#include "proto/field.h"
#include "proto/names.h"
#include "proto/stack_columns.h"
#include "base/ban.h"

#define SHIFT_MOST    16 /* the offset of addresses is a multiple of 64 KiB */
#define DEVICE	      ((uint64_t)8 << 20 | 1)
#define FIRST_ADDRESS 4096 /* first address in module 0; lower offsets are PseudoFrames */

/* A module on the wire, of the current agent. */
struct known_module {
	bool defined, kept;
	struct pseudonym_offsets offsets;
};

struct anonymise {
	struct copy copy;
	const struct anonymise_settings *settings;
	struct pseudonyms names;
	struct anonymise_fields fields;
	struct known_module *modules; /* [number - 1] */
	uint32_t module_count, module_capacity;
	struct told_names told;
	struct buf stacks, columns[11], region_names;
	Heapcast__Events events;
};

static void anonymise_done(struct anonymise *a)
{
	copy_close(&a->copy);
	anonymise_fields_done(&a->fields);
	free(a->modules);
	told_names_done(&a->told);
	buf_done(&a->stacks);
	buf_done(&a->region_names);
	for (size_t i = 0; i < sizeof(a->columns) / sizeof(a->columns[0]); i++)
		buf_done(&a->columns[i]);
}

/* ---- modules ---- */

/* Reads the original message. */
static int note_module(struct anonymise *a, const Heapcast__Module *m)
{
	const ProtobufCBinaryData *name = m->build_id.len ? &m->build_id : &m->path;
	struct known_module *module;

	if (array_reserve(&a->modules, &a->module_capacity, m->number, sizeof(*a->modules)) < 0)
		return -ENOMEM;
	while (a->module_count < m->number)
		a->modules[a->module_count++] = (struct known_module){0};
	module = &a->modules[m->number - 1];
	module->defined = true;
	module->kept = anonymise_keeps(&a->fields, m);
	pseudonym_offsets_init(&a->names, name->data, name->len, m->start - m->bias,
			       m->end - m->bias, &module->offsets);
	return 0;
}

static const struct known_module *anonymise_module_of(const struct anonymise *a, uint32_t number)
{
	static const struct known_module none;

	return number && number <= a->module_count ? &a->modules[number - 1] : &none;
}

static uint64_t other_offset(struct anonymise *a, uint32_t module, uint64_t offset)
{
	const struct known_module *m = anonymise_module_of(a, module);

	if (!module)
		return offset < FIRST_ADDRESS ? offset : pseudonym_address(&a->names, offset);
	return m->kept || !m->defined ? offset : pseudonym_offset(&m->offsets, offset);
}

/* ---- function names ---- */

static uint32_t tell_function(struct anonymise *a, const char *function, bool kept)
{
	const struct anonymise_settings *s = a->settings;
	char word[PSEUDONYM_SIZE], *disguise = NULL;
	uint32_t number;

	if (!function || !*function)
		return 0;
	if (kept)
		return told_names_text(&a->told, function);
	pseudonym_word(&a->names, "fn_", function, strlen(function), word);
	if (s->disguise)
		disguise = s->disguise(s->context, function, word);
	number = told_names_text(&a->told, disguise ? disguise : word);
	free(disguise);
	return number;
}

static uint32_t tell_file(struct anonymise *a, const char *file, bool kept)
{
	const char *other = file && *file ? file : NULL;

	if (other && !kept)
		other = anonymise_path(&a->fields, file, strlen(file));
	a->told.short_of_memory |= file && *file && !other;
	return other ? told_names_text(&a->told, other) : 0;
}

static int anonymise_tell_place(void *context, uint32_t here, const struct stack_node *node)
{
	struct anonymise *a = context;
	const struct known_module *module = anonymise_module_of(a, node->module);
	struct name_frame frames[NAMES_FRAMES_MAX];
	struct named_frame frame;
	uint32_t count = 0;

	while (count < NAMES_FRAMES_MAX &&
	       a->settings->frame(a->settings->context, here, count, &frame)) {
		frames[count++] =
			(struct name_frame){tell_function(a, frame.function, module->kept),
					    tell_file(a, frame.file, module->kept), frame.line};
	}
	if (count && !frames[0].function)
		count = 0;
	/* A symbol file may name places in a kept module later. */
	if (!count && module->kept)
		return 0;
	return told_names_place(&a->told, node->module, other_offset(a, node->module, node->offset),
				frames, count);
}

/* ---- columns ---- */

static int other_stacks(struct anonymise *a, const Heapcast__Stacks *from, Heapcast__Stacks *to,
			struct err_text *err)
{
	size_t size = from->parent.len * STACKS_NODE_MAX;
	struct stacks_decoder decoder;
	struct stacks_encoder encoder;
	struct stack_node node;
	uint32_t number;
	int r = stacks_decoder_init(&decoder, from, err);

	buf_clear(&a->stacks);
	if (!buf_reserve(&a->stacks, size))
		return -ENOMEM;
	stacks_encoder_init(&encoder, a->stacks.data, size, from->first);
	while (!r && (r = stacks_decoder_next(&decoder, &number, &node, err)) == 1) {
		node.offset = other_offset(a, node.module, node.offset);
		r = stacks_encoder_put(&encoder, &node);
	}
	if (!r)
		stacks_encoder_fill(&encoder, to);
	return r;
}

static int other_events(struct anonymise *a, struct err_text *err)
{
	struct decoded *d = &a->copy.decoded;

	for (uint32_t i = 0; i < d->event_count; i++) {
		struct event *e = &d->events[i];

		if (e->class == EVENT_CLASS_CALL)
			continue;
		e->address = pseudonym_address(&a->names, e->address);
		e->old_address = pseudonym_address(&a->names, e->old_address);
	}
	return copy_encode(&a->copy, &a->events, err);
}

/*
 * Starts stay ascending: all addresses move by the same offset except those in the kernel's half,
 * which are higher.
 */
static void anonymise_put_start(struct anonymise *a, struct buf *to, uint64_t start, uint32_t shift,
				uint64_t *page)
{
	uint64_t next = pseudonym_address(&a->names, start) >> shift;

	buf_varint(to, next - *page);
	*page = next;
}

/* Keeps names that the kernel gives. All other names are paths. */
static int other_region_names(struct anonymise *a, Heapcast__Maps *m)
{
	const char *at = (const char *)m->names.data, *end = at + m->names.len;

	buf_clear(&a->region_names);
	while (at < end) {
		size_t length = strnlen(at, (size_t)(end - at));
		const char *other = anonymise_path(&a->fields, at, length);

		if (!other)
			return -ENOMEM;
		buf_append(&a->region_names, other, strnlen(other, MAPS_NAME_MAX));
		buf_byte(&a->region_names, 0);
		at += length + 1;
	}
	m->names = field_of(&a->region_names);
	return buf_error(&a->region_names);
}

static uint64_t other_inode(struct anonymise *a, uint64_t device, uint64_t inode)
{
	const uint64_t file[2] = {htole64(device), htole64(inode)};

	return inode ? 1 + (uint32_t)pseudonym_number(&a->names, "inode", file, sizeof(file)) : 0;
}

enum { GONE, START, DEVICES, INODES, USED };

static void put_step(struct anonymise *a, const struct maps_step *s, uint32_t shift)
{
	uint64_t gone = 0, start = 0, used = 0;

	for (size_t i = 0; i < s->gone_count; i++)
		anonymise_put_start(a, &a->columns[GONE], s->gone[i], shift, &gone);
	for (size_t i = 0; i < s->region_count; i++) {
		const struct maps_region_row *row = &s->region[i];

		anonymise_put_start(a, &a->columns[START], row->start, shift, &start);
		buf_varint(&a->columns[DEVICES], row->device ? DEVICE : 0);
		buf_varint(&a->columns[INODES], other_inode(a, row->device, row->inode));
	}
	for (size_t i = 0; i < s->used_count; i++)
		anonymise_put_start(a, &a->columns[USED], s->used[i].start, shift, &used);
}

/* Replaces the step in place. An invalid step is dropped, as a reader would do. */
static int other_maps(struct anonymise *a, Heapcast__Maps **maps)
{
	struct maps_step step = {0};
	Heapcast__Maps *m = *maps;
	int r = m->page_shift > SHIFT_MOST ? -EBADMSG : maps_step_decode(m, &step, NULL);

	for (unsigned i = GONE; i <= USED; i++)
		buf_clear(&a->columns[i]);
	if (!r) {
		put_step(a, &step, m->page_shift);
		r = other_region_names(a, m);
	}
	maps_step_done(&step);
	for (unsigned i = GONE; !r && i <= USED; i++)
		r = buf_error(&a->columns[i]);
	m->base.n_unknown_fields = 0;
	m->gone = field_of(&a->columns[GONE]);
	m->start = field_of(&a->columns[START]);
	m->device = field_of(&a->columns[DEVICES]);
	m->inode = field_of(&a->columns[INODES]);
	m->used = field_of(&a->columns[USED]);
	if (r == -EBADMSG) {
		*maps = NULL;
		return 0;
	}
	return r;
}

/* ---- batches ---- */

/* Replaces the parts that anonymise_message does not handle, and puts them back afterwards. */
static int other_parts(struct anonymise *a, Heapcast__Batch *batch, Heapcast__Stacks *stacks,
		       struct err_text *err)
{
	Heapcast__Maps *maps = batch->maps;
	Heapcast__Stacks *from = batch->stacks;
	bool events = a->copy.decoded.event_count;
	int r = 0;

	batch->events = NULL;
	batch->stacks = NULL;
	batch->maps = NULL;
	batch->names = NULL;
	batch->link = NULL;
	for (size_t i = 0; !r && i < batch->n_module; i++)
		r = note_module(a, batch->module[i]);
	if (!r && from)
		r = other_stacks(a, from, stacks, err);
	if (!r && maps)
		r = other_maps(a, &maps);
	if (!r && events)
		r = other_events(a, err);
	if (!r)
		r = anonymise_message(&a->fields, &batch->base);
	batch->events = events ? &a->events : NULL;
	batch->stacks = from ? stacks : NULL;
	batch->maps = maps;
	return r;
}

static int anonymise_put_batch(struct anonymise *a, struct err_text *err)
{
	/* The batch is in the copy's memory, which no other code uses meanwhile. */
	Heapcast__Batch batch = *a->copy.decoded.item.batch;
	Heapcast__Stacks *original = batch.stacks;
	Heapcast__Stacks stacks;
	int r;

	if (brought_only(&batch))
		return 0;
	if (told_names_begin(&a->told, batch.incarnation))
		a->module_count = 0; /* the new agent numbers its modules from 1 */
	r = other_parts(a, &batch, &stacks, err);
	if (!r)
		r = a->names.error;
	if (!r)
		r = copy_put(&a->copy, &batch, err);
	if (!r && original)
		r = told_names_of_stacks(&a->told, &a->copy, original, &batch, anonymise_tell_place,
					 a, err);
	anonymise_fields_clear(&a->fields);
	return r;
}

int recording_anonymise(const char *path, const struct anonymise_settings *settings,
			struct err_text *err)
{
	struct anonymise a = {.settings = settings};
	int r = copy_open(&a.copy, path, &settings->copy, err);

	a.fields = (struct anonymise_fields){
		.names = &a.names, .keeps = settings->keeps, .context = settings->context};
	if (!r)
		r = pseudonyms_init(&a.names, settings->salt, settings->salt_length, err);
	while (!r && (r = copy_next(&a.copy, err)) == 1)
		r = anonymise_put_batch(&a, err);
	if (r < 0 && err && !err->text[0])
		err_set(err, r, "anonymising %s: %s", path, strerror(-r));
	anonymise_done(&a);
	return r;
}
