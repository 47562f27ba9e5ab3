/* Definitions of a recording. definitions.h describes them. */
#include "collector/recording/definitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/number.h"
#include "base/saturated.h"
#include "base/words.h"
#include "proto/stack_columns.h"
#include "collector/columns/row_block.h"
#include "collector/recording/info.h"
#include "collector/recording/totals.h"
#include "base/ban.h"

static void process_done(struct process_info *p)
{
	free(p->name);
	free(p->executable);
	free(p->command_line);
	free(p->host);
	free(p->architecture);
	free(p->agent_version);
	labels_done(&p->labels);
	free(p->origin.format);
	free(p->origin.tool);
	free(p->origin.file);
	free(p->origin.note);
}

static void mark_done(struct mark_info *mark)
{
	free(mark->text);
	free(mark->by);
}

void definitions_done(struct definitions *d)
{
	process_done(&d->process);
	for (uint32_t i = 0; i < d->module_count; i++) {
		if (d->modules[i]) {
			free(d->modules[i]->path);
			free(d->modules[i]->file);
		}
		free(d->modules[i]);
	}
	for (uint32_t i = 0; i < d->thread_count; i++) {
		if (d->threads[i])
			free(d->threads[i]->name);
		free(d->threads[i]);
	}
	for (uint32_t i = 0; i < d->mark_count; i++)
		mark_done(&d->marks[i]);
	free(d->modules);
	free(d->threads);
	free(d->module_of_wire);
	nodes_done(&d->nodes);
	names_done(&d->names);
	free(d->gaps);
	free(d->parts);
	free(d->unrecorded);
	free(d->marks);
	*d = (struct definitions){0};
}

/* ---- process ---- */

/* Returns 0 or -ENOMEM. */
static int set_origin(struct origin_info *o, const Heapcast__Origin *m)
{
	if (!m)
		return 0;
	*o = (struct origin_info){
		.imported = true,
		.exact = m->exact,
		.wall_ns = m->wall_ns,
		.format = outside_text(m->format, strlen(m->format)),
		.tool = outside_text(m->tool, strlen(m->tool)),
		.file = outside_text(m->file.data, m->file.len),
		.note = outside_text(m->note, strlen(m->note)),
	};
	return o->format && o->tool && o->file && o->note ? 0 : -ENOMEM;
}

static int set_process(struct definitions *d, const Heapcast__Process *p)
{
	struct process_info info = {
		.pid = p->pid,
		.parent_pid = p->parent_pid,
		.uid = p->uid,
		.name = program_name(p),
		.executable = outside_text(p->executable.data, p->executable.len),
		.command_line = join_arguments(p),
		.host = outside_text(p->host, strlen(p->host)),
		.architecture = outside_text(p->architecture, strlen(p->architecture)),
		.agent_version = outside_text(p->agent_version, strlen(p->agent_version)),
		.pointer_bits = p->pointer_bits,
		.page_size = p->page_size,
		.images = p->image + 1,
		.start_wall_ns = p->start_wall_ns,
		.mode = (uint32_t)p->mode,
		.sample_interval = p->sample_interval,
		.cull_ns = p->cull_ns,
		.ran_before_ns = p->ran_before_ns,
		.ended = d->process.ended,
		.end_kind = d->process.end_kind,
		.end_status = d->process.end_status,
		.core_dumped = d->process.core_dumped,
		.end_source = d->process.end_source,
		.oom_counter = d->process.oom_counter,
		.rss_peak = d->process.rss_peak,
	};

	if (p->parent_stream.len == sizeof(info.parent.bytes)) {
		info.forked = true;
		memcpy(info.parent.bytes, p->parent_stream.data, sizeof(info.parent.bytes));
		info.parent_event = p->parent_event;
	}
	if (set_origin(&info.origin, p->origin) < 0 || labels_of(p, &info.labels) < 0 ||
	    !info.name || !info.executable || !info.command_line || !info.host ||
	    !info.architecture || !info.agent_version) {
		process_done(&info);
		return -ENOMEM;
	}
	if (d->process.executable && !strcmp(d->process.executable, info.executable)) {
		free(info.labels.build);
		info.labels.build = take_ptr(d->process.labels.build);
	}
	process_done(&d->process);
	d->process = info;
	return 0;
}

/* ---- threads ---- */

int definitions_thread(struct definitions *d, uint32_t number, struct thread_info **ret_thread)
{
	struct thread_info *t;

	if (!number || number > THREADS_MAX || number > d->thread_count + HOLE_MAX)
		return -EBADMSG;
	if (number > d->thread_count || !d->threads[number - 1]) {
		if (array_reserve(&d->threads, &d->thread_capacity, number, sizeof(*d->threads)) <
		    0)
			return -ENOMEM;
		t = calloc(1, sizeof(*t));
		if (!t || !(t->name = strdup(""))) {
			free(t);
			return -ENOMEM;
		}
		t->number = number;
		if (d->thread_count < number)
			d->thread_count = number;
		d->threads[number - 1] = t;
	}
	*ret_thread = d->threads[number - 1];
	return 0;
}

static int add_thread(struct definitions *d, const Heapcast__Thread *thread, struct err_text *err)
{
	struct thread_info *t;
	int r = definitions_thread(d, thread->number, &t);

	if (r == -EBADMSG)
		err_set(err, r, "a thread with the number %u", thread->number);
	if (r < 0)
		return r;
	t->tid = thread->tid;
	if (t->incarnation < d->incarnation)
		t->culled_before = t->culled;
	if (thread->earlier_delivered > t->delivered + t->culled + t->unarrived &&
	    t->incarnation < d->incarnation && d->ledger_incarnation) {
		uint64_t more = thread->earlier_delivered - t->delivered - t->culled - t->unarrived;

		t->unarrived += more;
		t->lost += more;
	}
	t->incarnation = d->incarnation;
	if (thread->started_ns || !t->started_ns)
		t->started_ns = thread->started_ns;
	t->ended_ns = thread->ended_ns;
	if (thread->name.len) {
		char *name = outside_text(thread->name.data, thread->name.len);

		if (!name)
			return -ENOMEM;
		free(t->name);
		t->name = name;
	}
	return 0;
}

/* ---- stacks ---- */

/* Defines nodes whose definition was lost by damage as truncated stacks. */
static int fill_hole(struct definitions *d, uint32_t first, struct err_text *err)
{
	struct stack_node lost = {.offset = HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED};
	int r = 0;

	if (first > d->nodes.wire_count + HOLE_MAX)
		return err_set(err, -EBADMSG, "stacks: nodes %u to %u were never defined",
			       d->nodes.wire_count + 1, first - 1);
	while (!r && d->nodes.wire_count + 1 < first)
		r = nodes_define(&d->nodes, lost);
	return r;
}

static int add_stacks(struct definitions *d, const Heapcast__Stacks *stacks, struct err_text *err)
{
	struct stacks_decoder decoder;
	struct stack_node node;
	uint32_t number, module;
	int r = stacks_decoder_init(&decoder, stacks, err);

	if (!r)
		r = fill_hole(d, stacks->first, err);
	while (!r && (r = stacks_decoder_next(&decoder, &number, &node, err)) == 1) {
		r = 0;
		if (number <= d->nodes.wire_count)
			continue;
		if (number > NODES_MAX)
			return err_set(err, -EBADMSG, "stacks: more than %u nodes", NODES_MAX);
		module = definitions_module_of_wire(d, node.module);
		if (node.module && (!module || module > d->module_count || !d->modules[module - 1]))
			return err_set(err, -EBADMSG,
				       "stacks: node %u lies in module %u, which is not defined",
				       number, node.module);
		node.module = module;
		r = nodes_define(&d->nodes, node);
		if (r == -EBADMSG)
			err_set(err, r, "stacks: the caller of node %u is not defined", number);
	}
	return r;
}

static uint32_t defined_module(const void *context, uint32_t number)
{
	const struct definitions *d = context;
	uint32_t module = definitions_module_of_wire(d, number);

	return module && module <= d->module_count && d->modules[module - 1] ? module : 0;
}

/* ---- gaps, marks, ledger, end ---- */

/* When GAPS_MAX gaps are kept, the last one stands for all that follow. */
static void widen_last_gap(struct gap_info *last, const struct gap_info *g)
{
	last->thread = 0;
	last->from = last->to = 0;
	last->reason = last->reason == g->reason ? last->reason : HEAPCAST__REASON__REASON_UNKNOWN;
	add_most(&last->events, g->events);
	add_most(&last->allocations, g->allocations);
	add_most(&last->frees, g->frees);
	add_most(&last->bytes, g->bytes);
	if (g->to_ns > last->to_ns)
		last->to_ns = g->to_ns;
}

int definitions_add_gap(struct definitions *d, const struct gap_info *gap)
{
	if (d->gap_count >= GAPS_MAX) {
		widen_last_gap(&d->gaps[d->gap_count - 1], gap);
		return 0;
	}
	if (array_reserve(&d->gaps, &d->gap_capacity, (uint64_t)d->gap_count + 1,
			  sizeof(*d->gaps)) < 0)
		return -ENOMEM;
	d->gaps[d->gap_count++] = *gap;
	return 0;
}

/*
 * Returns the gap before joining, if it was reported. A catch-up that was overtaken is followed by
 * another one, whose account includes that of the first.
 */
static struct gap_info *gap_before_join(const struct definitions *d)
{
	for (uint32_t i = 0; i < d->gap_count; i++)
		if (d->gaps[i].reason == HEAPCAST__REASON__REASON_JOINED_LATE)
			return &d->gaps[i];
	return NULL;
}

static int add_gap(struct definitions *d, const Heapcast__Gap *g)
{
	const struct gap_info gap = {
		.thread = g->thread,
		.reason = (uint32_t)g->reason,
		.from = g->from,
		.to = g->to,
		.allocations = g->allocations,
		.frees = g->frees,
		.bytes = g->bytes,
		.from_ns = g->from_ns,
		.to_ns = g->to_ns,
		.events = g->events,
	};
	struct gap_info *told;

	if (g->reason != HEAPCAST__REASON__REASON_JOINED_LATE)
		return definitions_add_gap(d, &gap);
	/* A collector joins once. Losses after that show in the accounts. */
	if (d->begun)
		return 0;
	told = gap_before_join(d);
	if (!told)
		return definitions_add_gap(d, &gap);
	*told = gap;
	return 0;
}

static int add_mark(struct definitions *d, const Heapcast__Mark *m)
{
	struct mark_info mark = {
		.time_ns = m->time_ns,
		.value = m->value,
		.kind = (uint32_t)m->kind,
		.thread = m->thread,
	};

	if (d->mark_count >= MARKS_MAX) {
		d->ledger.marks_left_out++;
		return 0;
	}
	mark.text = outside_text(m->text.data, m->text.len);
	mark.by = *m->by ? outside_text(m->by, strnlen(m->by, MARK_BY_MAX)) : NULL;
	if (!mark.text || (*m->by && !mark.by) ||
	    array_reserve(&d->marks, &d->mark_capacity, (uint64_t)d->mark_count + 1,
			  sizeof(*d->marks)) < 0) {
		mark_done(&mark);
		return -ENOMEM;
	}
	d->marks[d->mark_count++] = mark;
	return 0;
}

/*
 * The first ledger of a new agent says how much its predecessors had delivered. Events of these
 * that are not here were lost with them, and so were the gaps in the same batches. A collector
 * without an earlier ledger has joined late.
 */
static int definitions_take_over(struct definitions *d, const Heapcast__Ledger *l)
{
	struct ledger_info *known = &d->ledger;
	uint64_t more, gaps;
	struct gap_info gap = {.reason = HEAPCAST__REASON__REASON_AGENT_GONE};

	if (!d->ledger_incarnation) {
		known->before_join = l->before_join ? l->before_join : l->earlier_delivered;
		return 0;
	}
	d->culled_before = known->culled;
	more = less(l->earlier_delivered, known->delivered + known->culled + d->unarrived);
	gaps = less(l->earlier_lost, less(known->lost, d->unarrived));
	d->unarrived += more;
	if (!more && !gaps)
		return 0;
	gap.events = more + gaps;
	gap.from_ns = gap.to_ns = d->last_ns;
	return definitions_add_gap(d, &gap);
}

static int set_thread_ledgers(struct definitions *d, const Heapcast__Ledger *l,
			      struct err_text *err)
{
	struct reader threads = reader_of(l->thread.data, l->thread.len);
	struct reader produced = reader_of(l->thread_produced.data, l->thread_produced.len);
	struct reader delivered = reader_of(l->thread_delivered.data, l->thread_delivered.len);
	struct reader lost = reader_of(l->thread_lost.data, l->thread_lost.len);
	struct reader culled = reader_of(l->thread_culled.data, l->thread_culled.len);

	while (reader_more(&threads)) {
		uint64_t number = reader_varint(&threads);
		struct thread_info *t;
		int r = number <= THREADS_MAX ? definitions_thread(d, (uint32_t)number, &t)
					      : -EBADMSG;

		if (r == -EBADMSG)
			err_set(err, r, "the ledger speaks of a thread with the number %llu",
				(unsigned long long)number);
		if (r < 0)
			return r;
		t->produced = reader_varint(&produced);
		t->delivered = less(reader_varint(&delivered), t->unarrived + t->culled_before);
		t->culled = t->culled_before + (reader_more(&culled) ? reader_varint(&culled) : 0);
		t->lost = reader_varint(&lost) + t->unarrived;
	}
	if (reader_error(&threads) || reader_error(&produced) || reader_error(&delivered) ||
	    reader_error(&lost) || reader_error(&culled))
		return err_set(err, -EBADMSG, "the ledger's columns of threads are damaged");
	return 0;
}

static uint64_t more_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * An agent that takes over the ring does not know the unrecorded processes of its predecessors, so
 * the larger count is kept.
 */
static void set_unrecorded(struct ledger_info *to, const Heapcast__Ledger *l)
{
	to->unrecorded = more_of(to->unrecorded, l->unrecorded);
	to->unrecorded_uncounted = more_of(to->unrecorded_uncounted, l->unrecorded_uncounted);
	to->unrecorded_events = more_of(to->unrecorded_events, l->unrecorded_events);
	to->unrecorded_bytes = more_of(to->unrecorded_bytes, l->unrecorded_bytes);
	to->before_recording = more_of(to->before_recording, l->before_recording);
	to->not_begun = l->not_begun;
}

static int set_ledger(struct definitions *d, const Heapcast__Ledger *l, struct err_text *err)
{
	struct ledger_info *ledger = &d->ledger;
	int r = set_thread_ledgers(d, l, err);

	if (!r && d->incarnation > 1 && d->ledger_incarnation < d->incarnation)
		r = definitions_take_over(d, l);
	if (r < 0)
		return r;
	ledger->produced = l->produced;
	ledger->delivered = less(l->delivered, d->unarrived + d->culled_before);
	d->delivered = (struct delivered_counts){l->delivered_allocations, l->delivered_frees,
						 l->delivered_bytes};
	ledger->culled = l->culled + d->culled_before;
	ledger->not_sampled = l->not_sampled;
	ledger->lost = l->lost + d->unarrived;
	ledger->pending = l->pending;
	ledger->lost_allocations = l->lost_allocations;
	ledger->lost_frees = l->lost_frees;
	ledger->lost_bytes = l->lost_bytes;
	ledger->stacks_cut = l->stacks_cut;
	ledger->samples_refused = l->samples_refused;
	set_unrecorded(ledger, l);
	ledger->stacks_unknown = l->stacks_unknown;
	ledger->namespaces = l->namespaces;
	if (l->before_join && !d->begun && (!d->ledger_incarnation || !definitions_renewed(d)))
		ledger->before_join = l->before_join;
	d->ledger_incarnation = d->incarnation;
	return 0;
}

static void most(uint64_t *of, uint64_t value)
{
	*of = value > *of ? value : *of;
}

/* Processes beyond UNRECORDED_MAX are only in the account. */
static int add_unrecorded(struct definitions *d, const Heapcast__Unrecorded *u)
{
	struct unrecorded_info info = {.pid = u->pid,
				       .counted = u->counted,
				       .events = u->events,
				       .allocations = u->allocations,
				       .frees = u->frees,
				       .bytes = u->bytes};

	words_clean(info.name, sizeof(info.name), u->name.data, u->name.len);
	if (d->unrecorded_count >= UNRECORDED_MAX)
		return 0;
	if (array_reserve(&d->unrecorded, &d->unrecorded_capacity,
			  (uint64_t)d->unrecorded_count + 1, sizeof(*d->unrecorded)) < 0)
		return -ENOMEM;
	d->unrecorded[d->unrecorded_count++] = info;
	return 0;
}

static void set_end(struct definitions *d, const Heapcast__End *end)
{
	d->process.ended = true;
	d->process.end_kind = (uint32_t)end->kind;
	d->process.end_status = end->status;
	d->process.core_dumped = end->core_dumped;
	d->process.end_source = (uint32_t)end->source;
	d->process.oom_counter = (uint32_t)end->oom_counter;
	d->process.rss_peak = end->rss_peak;
	most(&d->figures_most.rss_peak, end->rss_peak);
}

/* ---- figures ---- */

static void set_most(struct figures_info *most_of, const struct figures_info *f)
{
	most_of->time_ns = f->time_ns;
	most_of->detailed_ns = f->detailed_ns;
	most(&most_of->rss, f->rss);
	most(&most_of->rss_peak, f->rss_peak);
	most(&most_of->pss, f->pss);
	most(&most_of->anonymous, f->anonymous);
	most(&most_of->swap, f->swap);
	most(&most_of->address_space, f->address_space);
	most(&most_of->dirty, f->dirty);
	most(&most_of->clean, f->clean);
	most(&most_of->minor_faults, f->minor_faults);
	most(&most_of->major_faults, f->major_faults);
}

void figures_next(struct figures_info *f, const Heapcast__Figures *m)
{
	f->time_ns = m->time_ns;
	f->rss = m->rss;
	f->rss_peak = m->rss_peak;
	f->anonymous = m->anonymous;
	f->swap = m->swap;
	f->address_space = m->address_space;
	f->minor_faults = m->minor_faults;
	f->major_faults = m->major_faults;
	if (m->detailed) {
		f->detailed_ns = m->time_ns;
		f->pss = m->pss;
		f->dirty = m->dirty;
		f->clean = m->clean;
	}
}

static void set_figures(struct definitions *d, const Heapcast__Figures *m)
{
	figures_next(&d->figures, m);
	set_most(&d->figures_most, &d->figures);
}

struct allocator_info allocator_reading(const Heapcast__Allocator *m)
{
	return (struct allocator_info){
		.time_ns = m->time_ns,
		.took_ns = m->took_ns,
		.arena = m->arena,
		.hblkhd = m->hblkhd,
		.uordblks = m->uordblks,
		.fordblks = m->fordblks,
		.keepcost = m->keepcost,
		.ordblks = m->ordblks,
		.hblks = m->hblks,
	};
}

void definitions_init(struct definitions *d)
{
	*d = (struct definitions){
		.figures = {.time_ns = NO_TIME, .detailed_ns = NO_TIME},
		.figures_most = {.time_ns = NO_TIME, .detailed_ns = NO_TIME},
		.allocator = {.time_ns = NO_TIME},
	};
}

int definitions_add(struct definitions *d, const Heapcast__Batch *batch, struct err_text *err)
{
	int r;

	definitions_renew(d, batch->incarnation);
	r = definitions_check_modules(d, batch, err);
	if (!r && batch->process)
		r = set_process(d, batch->process);
	if (!r)
		r = labels_take_build(&d->process.labels, batch, d->process.executable);
	for (size_t i = 0; !r && i < batch->n_module; i++)
		r = definitions_add_module(d, batch->module[i], err);
	for (size_t i = 0; !r && i < batch->n_unload; i++)
		definitions_unload(d, batch->unload[i]);
	for (size_t i = 0; !r && i < batch->n_thread; i++)
		r = add_thread(d, batch->thread[i], err);
	if (!r && batch->stacks)
		r = add_stacks(d, batch->stacks, err);
	if (!r && batch->names)
		r = names_add(&d->names, batch->names, defined_module, d, err);
	for (size_t i = 0; !r && i < batch->n_gap; i++)
		r = add_gap(d, batch->gap[i]);
	for (size_t i = 0; !r && i < batch->n_unrecorded; i++)
		r = add_unrecorded(d, batch->unrecorded[i]);
	for (size_t i = 0; !r && i < batch->n_mark; i++)
		r = add_mark(d, batch->mark[i]);
	if (!r && batch->ledger)
		r = set_ledger(d, batch->ledger, err);
	for (size_t i = 0; !r && i < batch->n_figures; i++)
		set_figures(d, batch->figures[i]);
	if (!r && batch->allocator)
		d->allocator = allocator_reading(batch->allocator);
	if (!r && batch->end)
		set_end(d, batch->end);
	if (!r && batch->time_ns > d->last_ns)
		d->last_ns = batch->time_ns;
	d->begun |= !r && !batch->catch_up;
	return r;
}
