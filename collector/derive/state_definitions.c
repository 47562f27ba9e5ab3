/* The part of a recording's state that holds its definitions: the process, modules, threads,
 * stacks, names, gaps and figures. */
#include "collector/derive/state_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/stack_columns.h"
#include "collector/recording/info.h"
#include "collector/derive/recording_parts.h"
#include "base/ban.h"

static void code_process(struct coder *c, struct process_info *p)
{
	code_u32(c, &p->pid);
	code_u32(c, &p->parent_pid);
	code_u32(c, &p->uid);
	code_text(c, &p->name);
	code_text(c, &p->executable);
	code_text(c, &p->command_line);
	code_text(c, &p->host);
	code_text(c, &p->architecture);
	code_text(c, &p->agent_version);
	code_text(c, &p->labels.board);
	code_text(c, &p->labels.cgroup);
	code_text(c, &p->labels.build);
	code_text(c, &p->labels.tags);
	code_u32(c, &p->pointer_bits);
	code_u32(c, &p->page_size);
	code_u32(c, &p->images);
	code_u64(c, &p->start_wall_ns);
	code_u32(c, &p->mode);
	code_u64(c, &p->sample_interval);
	code_u64(c, &p->cull_ns);
	code_bool(c, &p->ended);
	code_u32(c, &p->end_kind);
	code_u32(c, &p->end_status);
	code_bool(c, &p->core_dumped);
	code_u32(c, &p->end_source);
	code_u32(c, &p->oom_counter);
	code_u64(c, &p->rss_peak);
	code_u64(c, &p->ran_before_ns);
	code_bool(c, &p->forked);
	code_bytes(c, p->parent.bytes, sizeof(p->parent.bytes));
	code_u64(c, &p->parent_event);
	code_bool(c, &p->origin.imported);
	code_bool(c, &p->origin.exact);
	code_text(c, &p->origin.format);
	code_text(c, &p->origin.tool);
	code_text(c, &p->origin.file);
	code_text(c, &p->origin.note);
	code_u64(c, &p->origin.wall_ns);
	if (p->origin.imported &&
	    !(p->origin.format && p->origin.tool && p->origin.file && p->origin.note))
		code_refuse(c);
}

static void code_module(struct coder *c, struct module_info *m)
{
	code_text(c, &m->path);
	code_text(c, &m->file);
	code_u32(c, &m->build_id_length);
	code_bytes(c, m->build_id, sizeof(m->build_id));
	code_u32(c, &m->print);
	code_u64(c, &m->bias);
	code_u64(c, &m->start);
	code_u64(c, &m->end);
	code_u64(c, &m->code_address);
	code_u64(c, &m->code_size);
	code_u64(c, &m->code_offset);
	code_u64(c, &m->loaded_ns);
	code_u64(c, &m->unloaded_ns);
	if (!m->path || m->build_id_length > sizeof(m->build_id) || m->start > m->end)
		code_refuse(c);
}

static void code_thread(struct coder *c, struct thread_info *t)
{
	code_u32(c, &t->tid);
	code_text(c, &t->name);
	code_u64(c, &t->started_ns);
	code_u64(c, &t->ended_ns);
	code_u64(c, &t->produced);
	code_u64(c, &t->delivered);
	code_u64(c, &t->culled);
	code_u64(c, &t->culled_before);
	code_u64(c, &t->lost);
	code_u32(c, &t->incarnation);
	code_u64(c, &t->unarrived);
	code_u64(c, &t->stored);
	code_u64(c, &t->marked_ns);
	code_u64(c, &t->thinned_interval);
	if (!t->name)
		code_refuse(c);
}

/* Codes a list of pointers; NULL stays NULL. Both kinds of elements have a member `number`. */
#define CODE_POINTERS(c, list, count, capacity, code)                                              \
	do {                                                                                       \
		if (!code_array(c, &(list), &(count), &(capacity), sizeof(*(list))))               \
			break;                                                                     \
		for (uint32_t i = 0; i < (count) && !state_failed(c); i++) {                       \
			bool there = (list)[i];                                                    \
                                                                                                   \
			code_bool(c, &there);                                                      \
			if (!there)                                                                \
				continue;                                                          \
			if (!(c)->out && !((list)[i] = calloc(1, sizeof(*(list)[i]))))             \
				(c)->error = -ENOMEM;                                              \
			if (state_failed(c))                                                       \
				break;                                                             \
			(list)[i]->number = i + 1;                                                 \
			code(c, (list)[i]);                                                        \
		}                                                                                  \
	} while (0)

/* Checks that the parent is an earlier node and the module is known. */
static bool node_fits(const struct definitions *d, const struct stack_node *node, uint32_t index)
{
	return node->parent <= index &&
	       (!node->module || (node->module <= d->module_count && d->modules[node->module - 1]));
}

static void code_nodes(struct coder *c, struct definitions *d)
{
	struct nodes *n = &d->nodes;
	uint64_t last = 0;

	if (code_array(c, &n->list, &n->count, &n->capacity, sizeof(*n->list)))
		for (uint32_t i = 0; i < n->count && !state_failed(c); i++) {
			uint64_t difference = zigzag((int64_t)(n->list[i].offset - last));

			code_u32(c, &n->list[i].parent);
			code_u32(c, &n->list[i].module);
			code_u64(c, &difference);
			last = n->list[i].offset = last + (uint64_t)unzigzag(difference);
			if (!node_fits(d, &n->list[i], i))
				code_refuse(c);
		}
	if (code_array(c, &n->by_wire, &n->wire_count, &n->wire_capacity, sizeof(*n->by_wire)))
		for (uint32_t i = 0; i < n->wire_count && !state_failed(c); i++) {
			uint64_t difference = zigzag((int64_t)n->by_wire[i] - (int64_t)i);

			code_u64(c, &difference);
			n->by_wire[i] = (uint32_t)(i + (uint64_t)unzigzag(difference));
			if (!n->by_wire[i] || n->by_wire[i] > n->count)
				code_refuse(c);
		}
}

/* Codes all texts as they are in memory. */
static void code_name_texts(struct coder *c, struct names *n)
{
	uint64_t length = n->text.length;
	const uint8_t *from;

	code_u64(c, &length);
	if (c->out) {
		buf_append(c->out, n->text.data, length);
		return;
	}
	from = reader_bytes(&c->in, length);
	if (from && length && from[length - 1])
		code_refuse(c);
	for (uint64_t at = 0; from && at < length && !state_failed(c);) {
		size_t one = strlen((const char *)from + at);

		c->error = names_put_text(n, (const char *)from + at, one);
		at += one + 1;
	}
}

static void code_name_frame(struct coder *c, struct names *n, struct name_frame frame)
{
	code_u32(c, &frame.function);
	code_u32(c, &frame.file);
	code_u32(c, &frame.line);
	if (!c->out && !state_failed(c))
		c->error = names_put_frame(n, frame);
}

static void code_names(struct coder *c, struct definitions *d)
{
	struct names *n = &d->names;
	uint32_t places = n->place_count;

	code_name_texts(c, n);
	code_u32(c, &n->text_base);
	code_u32(c, &places);
	for (uint32_t i = 0; i < places && !state_failed(c); i++) {
		struct names_place place = {0};

		if (c->out)
			place = n->places[i];
		code_u32(c, &place.module);
		code_u64(c, &place.offset);
		code_u32(c, &place.count);
		for (uint32_t k = 0; k < place.count && !state_failed(c); k++)
			code_name_frame(
				c, n, c->out ? n->frames[place.first + k] : (struct name_frame){0});
		if (!c->out && !state_failed(c))
			c->error = place.module > d->module_count
					   ? -EBADMSG
					   : names_put_place(n, place.module, place.offset,
							     place.count);
	}
	if (n->text_base > n->text_count)
		code_refuse(c);
}

static void code_gap(struct coder *c, struct gap_info *g)
{
	code_u32(c, &g->thread);
	code_u32(c, &g->reason);
	code_u64(c, &g->from);
	code_u64(c, &g->to);
	code_u64(c, &g->allocations);
	code_u64(c, &g->frees);
	code_u64(c, &g->bytes);
	code_u64(c, &g->from_ns);
	code_u64(c, &g->to_ns);
	code_u64(c, &g->events);
}

static void code_part(struct coder *c, struct part_info *p)
{
	char *host = c->out ? p->host : NULL;

	code_bytes(c, p->collector.bytes, sizeof(p->collector.bytes));
	code_text(c, &host);
	code_u32(c, &p->incarnation);
	code_u64(c, &p->from);
	code_u64(c, &p->upto);
	code_u64(c, &p->events);
	code_bool(c, &p->lacking);
	if (c->out || !host)
		return;
	snprintf(p->host, sizeof(p->host), "%s", host);
	free(host);
}

static void code_unrecorded(struct coder *c, struct unrecorded_info *u)
{
	char *name = c->out ? u->name : NULL;

	code_u64(c, &u->events);
	code_u64(c, &u->allocations);
	code_u64(c, &u->frees);
	code_u64(c, &u->bytes);
	code_u32(c, &u->pid);
	code_bool(c, &u->counted);
	code_text(c, &name);
	if (c->out || !name)
		return;
	snprintf(u->name, sizeof(u->name), "%s", name);
	free(name);
}

static void code_mark(struct coder *c, struct mark_info *m)
{
	code_u64(c, &m->time_ns);
	code_u64(c, &m->value);
	code_u32(c, &m->kind);
	code_u32(c, &m->thread);
	code_text(c, &m->text);
	code_text(c, &m->by);
	if (!m->text)
		code_refuse(c);
}

void code_definitions(struct coder *c, struct definitions *d)
{
	code_process(c, &d->process);
	CODE_POINTERS(c, d->modules, d->module_count, d->module_capacity, code_module);
	CODE_POINTERS(c, d->threads, d->thread_count, d->thread_capacity, code_thread);
	code_nodes(c, d);
	code_names(c, d);
	if (code_array(c, &d->gaps, &d->gap_count, &d->gap_capacity, sizeof(*d->gaps)))
		for (uint32_t i = 0; i < d->gap_count && !state_failed(c); i++)
			code_gap(c, &d->gaps[i]);
	if (code_array(c, &d->parts, &d->part_count, &d->part_capacity, sizeof(*d->parts)))
		for (uint32_t i = 0; i < d->part_count && !state_failed(c); i++)
			code_part(c, &d->parts[i]);
	if (code_array(c, &d->unrecorded, &d->unrecorded_count, &d->unrecorded_capacity,
		       sizeof(*d->unrecorded)))
		for (uint32_t i = 0; i < d->unrecorded_count && !state_failed(c); i++)
			code_unrecorded(c, &d->unrecorded[i]);
	if (code_array(c, &d->marks, &d->mark_count, &d->mark_capacity, sizeof(*d->marks)))
		for (uint32_t i = 0; i < d->mark_count && !state_failed(c); i++)
			code_mark(c, &d->marks[i]);
	if (code_array(c, &d->module_of_wire, &d->wire_module_count, &d->wire_module_capacity,
		       sizeof(*d->module_of_wire)))
		for (uint32_t i = 0; i < d->wire_module_count; i++) {
			code_u32(c, &d->module_of_wire[i]);
			if (d->module_of_wire[i] > d->module_count)
				code_refuse(c);
		}
	code_u32(c, &d->module_recent);
	code_u32(c, &d->incarnation);
	code_u32(c, &d->ledger_incarnation);
	code_u64(c, &d->last_ns);
	code_u64(c, &d->unarrived);
	code_bool(c, &d->begun);
	code_u64(c, &d->culled_before);
	code_words(c, &d->ledger);
	code_words(c, &d->delivered);
	code_words(c, &d->figures);
	code_words(c, &d->figures_most);
	code_words(c, &d->allocator);
	if (d->module_count > MODULES_MAX || d->thread_count > THREADS_MAX ||
	    d->module_recent > d->module_count)
		code_refuse(c);
}
