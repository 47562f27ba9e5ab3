#pragma once
/* What a recording has beside its answers, added up like these: every row and every number of its
 * account, what defines its stacks, and what is known of its process. */
#include <stdlib.h>
#include <string.h>

#include "collector/recording/completeness.h"
#include "collector/recording/figures.h"
#include "collector/recording/maps.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "proto/stack_columns.h"
#include "proto/culled.h"
#include "tests/unit/query/ask_digest.h"

/* Structs of nothing but numbers, without gaps. */
#define ask_digest_numbers(d, s)                                                                   \
	do {                                                                                       \
		uint64_t numbers_[sizeof(*(s)) / 8];                                               \
                                                                                                   \
		static_assert(sizeof(*(s)) % 8 == 0, "numbers");                                   \
		memcpy(numbers_, (s), sizeof(numbers_));                                           \
		for (size_t i_ = 0; i_ < sizeof(numbers_) / 8; i_++)                               \
			ask_digest(d, numbers_[i_]);                                               \
	} while (0)

static inline void ask_recording_process(const struct process_info *p, uint64_t *d)
{
	const uint64_t numbers[] = {p->pid,	     p->parent_pid,	 p->uid,
				    p->pointer_bits, p->page_size,	 p->images,
				    p->mode,	     p->sample_interval, p->cull_ns,
				    p->ended,	     p->end_kind,	 p->end_status,
				    p->core_dumped,  p->end_source,	 p->oom_counter,
				    p->rss_peak,     p->ran_before_ns,	 p->forked,
				    p->parent_event, p->start_wall_ns,	 p->origin.imported,
				    p->origin.exact, p->origin.wall_ns};
	const char *const texts[] = {p->name, p->executable,   p->command_line,
				     p->host, p->architecture, p->agent_version};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		ask_digest(d, numbers[i]);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		ask_digest_text(d, texts[i]);
	if (!p->origin.imported)
		return;
	ask_digest_text(d, p->origin.format);
	ask_digest_text(d, p->origin.tool);
	ask_digest_text(d, p->origin.file);
	ask_digest_text(d, p->origin.note);
}

static inline void ask_recording_module(const struct module_info *m, uint64_t *d)
{
	const uint64_t numbers[] = {
		m->number,    m->print,	       m->bias,		  m->start,
		m->end,	      m->code_address, m->code_size,	  m->code_offset,
		m->loaded_ns, m->unloaded_ns,  m->build_id_length};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		ask_digest(d, numbers[i]);
	for (uint32_t i = 0; i < m->build_id_length; i++)
		ask_digest(d, m->build_id[i]);
	ask_digest_text(d, m->path);
	ask_digest_text(d, module_file(m));
}

static inline void ask_recording_thread(const struct thread_info *t, uint64_t *d)
{
	const uint64_t numbers[] = {t->number,	 t->tid,	 t->started_ns,	   t->ended_ns,
				    t->produced, t->delivered,	 t->culled,	   t->lost,
				    t->stored,	 t->incarnation, t->culled_before, t->unarrived,
				    t->marked_ns};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		ask_digest(d, numbers[i]);
	ask_digest_text(d, t->name);
}

static inline void ask_recording_definitions(const struct recording *r, uint64_t *d)
{
	ask_recording_process(recording_process(r), d);
	ask_digest(d, recording_modules(r));
	for (uint32_t i = 1; i <= recording_modules(r); i++)
		if (recording_module(r, i))
			ask_recording_module(recording_module(r, i), d);
	ask_digest(d, recording_threads(r));
	for (uint32_t i = 1; i <= recording_threads(r); i++)
		if (recording_thread(r, i))
			ask_recording_thread(recording_thread(r, i), d);
	ask_digest(d, recording_nodes(r));
	for (uint32_t i = 1; i <= recording_nodes(r); i++) {
		const struct stack_node *n = recording_node(r, i);
		uint32_t first = 0, count = 0;

		ask_digest(d, n->parent);
		ask_digest(d, n->module);
		ask_digest(d, n->offset);
		ask_digest(d, (uint64_t)recording_named(r, n->module, n->offset, &first, &count));
		for (uint32_t k = first; k < first + count; k++) {
			struct named_frame f = recording_named_frame(r, k);

			ask_digest_frame(d, f.function, f.file, NULL, f.line);
		}
	}
}

static inline void ask_recording_lists(const struct recording *r, uint64_t *d)
{
	ask_digest(d, recording_gaps(r));
	for (uint32_t i = 0; i < recording_gaps(r); i++)
		ask_digest_numbers(d, recording_gap(r, i));
	ask_digest(d, recording_marks(r));
	for (uint32_t i = 0; i < recording_marks(r); i++) {
		const struct mark_info *m = recording_mark(r, i);

		ask_digest(d, m->time_ns);
		ask_digest(d, m->value);
		ask_digest(d, m->kind);
		ask_digest(d, m->thread);
		ask_digest_text(d, m->text);
		ask_digest_text(d, m->by);
	}
	ask_digest(d, recording_other_events(r));
	for (uint32_t i = 0; i < recording_other_events(r); i++)
		ask_digest_call(d, recording_other_event(r, i));
	ask_digest(d, recording_unrecorded_count(r));
	for (uint32_t i = 0; i < recording_unrecorded_count(r); i++) {
		const struct unrecorded_info *u = recording_unrecorded(r, i);

		ask_digest(d, u->events);
		ask_digest(d, u->allocations);
		ask_digest(d, u->frees);
		ask_digest(d, u->bytes);
		ask_digest(d, u->pid);
		ask_digest(d, u->counted);
		ask_digest_text(d, u->name);
	}
}

static inline void ask_recording_culled(const struct recording *r, uint64_t *d)
{
	ask_digest_numbers(d, recording_culled_totals(r));
	ask_digest(d, recording_culled_count(r));
	for (uint32_t i = 0; i < recording_culled_count(r); i++) {
		const struct culled_row *c = recording_culled(r, i);
		const uint64_t numbers[] = {c->thread, c->stack,       c->lifetime,   c->blocks,
					    c->bytes,  c->reallocated, c->size_least, c->size_most,
					    c->weight, c->first_ns,    c->last_ns};

		for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
			ask_digest(d, numbers[k]);
	}
}

static inline void ask_recording_account(const struct recording *r, uint64_t *d)
{
	struct completeness c;
	struct thinned_info thinned = recording_thinned(r);

	ask_digest_numbers(d, recording_ledger(r));
	ask_digest_numbers(d, recording_pairing(r));
	ask_digest_numbers(d, recording_figures(r));
	ask_digest_numbers(d, recording_figures_most(r));
	ask_digest_numbers(d, recording_allocator(r));
	ask_digest_numbers(d, &thinned);
	ask_digest(d, recording_survivors(r));
	ask_digest(d, recording_end_ns(r));
	ask_digest(d, recording_watermark_ns(r));
	ask_digest(d, recording_adds_up(r, NULL));
	recording_completeness(r, &c);
	ask_digest(d, c.adds_up);
	ask_digest(d, c.complete);
	ask_digest(d, c.tail_unknown);
	ask_digest_text(d, c.line);
}

static inline int ask_recording_rows(const struct recording *r, uint64_t *d)
{
	struct row_reader *reader;
	int e = row_reader_new(r, &reader);

	if (e)
		return e;
	ask_digest(d, recording_rows(r));
	for (uint32_t b = 0; b < recording_blocks(r); b++) {
		const struct row_block *block = row_reader_block(reader, b, ROWS_ALL, NULL);

		if (!block) {
			row_reader_free(reader);
			return -EIO;
		}
		ask_digest_numbers(d, &block->min);
		ask_digest_numbers(d, &block->max);
		for (uint32_t i = 0; i < block->count; i++)
			ask_digest_row(d, block, i);
	}
	row_reader_free(reader);
	return 0;
}

/* What is read of the file again, as it was at a moment. */
static inline int ask_recording_file(const struct recording *r, uint64_t at_ns, uint64_t *d)
{
	struct figures_history history;
	struct maps_state maps;
	uint64_t damaged;
	int e = figures_over_time(recording_path(r), NULL, &history, NULL);

	if (e)
		return e;
	for (size_t i = 0; i < history.figures_count; i++)
		ask_digest_numbers(d, &history.figures[i]);
	for (size_t i = 0; i < history.allocator_count; i++)
		ask_digest_numbers(d, &history.allocator[i]);
	figures_history_done(&history);
	e = maps_at(recording_path(r), at_ns, &maps, &damaged, NULL);
	if (e)
		return e == -ENOENT ? 0 : e;
	ask_digest(d, damaged);
	ask_digest(d, maps.steps);
	ask_digest(d, maps.unknown);
	ask_digest(d, maps.time_ns);
	ask_digest(d, maps.address_space);
	ask_digest_map_usage(d, &maps.total);
	for (size_t i = 0; i < maps.count; i++) {
		const struct map_region *m = &maps.region[i];
		const uint64_t numbers[] = {m->start,	m->end,	       m->offset,  m->inode,
					    m->major,	m->minor,      m->flags,   m->mapped_ns,
					    m->used_ns, m->changed_ns, m->peak_rss};

		for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
			ask_digest(d, numbers[k]);
		ask_digest_text(d, m->name);
		ask_digest_map_usage(d, &m->usage);
	}
	maps_state_done(&maps);
	return 0;
}

static inline int ask_recording(const struct recording *r, uint64_t *d)
{
	int e = ask_recording_rows(r, d);

	ask_recording_definitions(r, d);
	ask_recording_lists(r, d);
	ask_recording_culled(r, d);
	ask_recording_account(r, d);
	return e;
}
