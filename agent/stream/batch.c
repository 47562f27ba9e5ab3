/* Packs a stream's lists into frames. See batch.h. */
#include "agent/stream/batch.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/core/board.h"
#include "agent/stream/stream.h"
#include "agent/core/clock.h"
#include "heapcast.pb-c.h"
#include "proto/frame.h"
#include "base/ban.h"

#define CATCH_UP_NODES 1500
#define ARGUMENTS_MAX  256

int packer_init(struct packer *p, struct arena *arena, size_t message_size, size_t scratch_size)
{
	uint8_t *memory = arena_take(arena, message_size + FRAME_HEADROOM);

	*p = (struct packer){.message_size = message_size};
	if (!memory)
		return -ENOMEM;
	p->message = memory + FRAME_HEADROOM;
	p->scratch = arena_part(arena, scratch_size);
	p->encoder = frame_encoder_new();
	return p->scratch.memory && p->encoder ? 0 : -ENOMEM;
}

void packer_done(struct packer *p)
{
	frame_encoder_free(p->encoder);
	p->encoder = NULL;
}

int batch_init(struct batch *b, struct arena *arena, const struct budget_place *most)
{
	b->state = arena_take(arena, most->state);
	b->memory = arena_take(arena, most->batch);
	return b->memory && b->state ? 0 : -ENOMEM;
}

void batch_shape(struct batch *b, const struct budget_place *place)
{
	b->size = place->batch;
	b->nodes_max = (uint32_t)(place->nodes / STACKS_NODE_MAX);
	b->definition_bytes_max = place->definitions;
	events_encoder_init(&b->events, b->memory, place->columns, b->state, place->state,
			    BATCH_EVENTS_MAX, BATCH_TICK_NS);
	batch_clear(b);
}

void batch_clear(struct batch *b)
{
	events_encoder_clear(&b->events);
	b->definition_bytes = 0;
	b->gaps = b->marks = b->text_length = 0;
	b->opened_ns = 0;
}

bool batch_take(struct batch *b, size_t bytes)
{
	if (b->definition_bytes + bytes > b->definition_bytes_max)
		return false;
	b->definition_bytes += bytes;
	return true;
}

/* Takes scratch memory for a piece of a message. The scratch is large enough for the fullest
 * batch. */
static void *take(struct packer *p, size_t size)
{
	void *memory = arena_take(&p->scratch, size ? size : 1);

	assert(memory);
	return memory;
}

static ProtobufCBinaryData batch_bytes_of(const void *data, size_t length)
{
	return (ProtobufCBinaryData){.len = length, .data = (uint8_t *)(uintptr_t)data};
}

/* Returns an array of `count` pointers, which point to `count` structs behind it. */
static void **rows(struct packer *p, size_t count, size_t size)
{
	void **pointers = take(p, count * sizeof(void *));
	uint8_t *memory = take(p, count * size);

	for (size_t i = 0; i < count; i++)
		pointers[i] = memory + i * size;
	return pointers;
}

static void put_process(const struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	Heapcast__Process *m = take(p, sizeof(*m));
	const struct target_info *t = &s->target;
	struct utsname *host = take(p, sizeof(*host));
	size_t offset = 0;

	heapcast__process__init(m);
	m->pid = (uint32_t)t->pid;
	m->parent_pid = (uint32_t)t->parent;
	m->uid = t->uid;
	m->executable = batch_bytes_of(t->executable, strlen(t->executable));
	m->argument = take(p, ARGUMENTS_MAX * sizeof(*m->argument));
	while (offset < t->arguments_length && m->n_argument < ARGUMENTS_MAX) {
		size_t length = strnlen(t->arguments + offset, t->arguments_length - offset);

		m->argument[m->n_argument++] = batch_bytes_of(t->arguments + offset, length);
		offset += length + 1;
	}
	uname(host);
	m->host = host->nodename;
	m->architecture = (char *)(uintptr_t)t->architecture;
	m->pointer_bits = t->pointer_bits;
	m->big_endian = t->big_endian;
	m->page_size = t->page_size;
	m->start_wall_ns = s->start_wall_ns;
	m->agent_version = (char *)(uintptr_t)HEAPCAST_VERSION;
	m->agent = batch_bytes_of(s->agent_id, STREAM_ID_SIZE);
	m->name = batch_bytes_of(target_name(t), strlen(target_name(t)));
	m->ran_before_ns = s->ran_before_ns;
	m->capture = (Heapcast__Capture)s->source->ops->kind;
	m->mode = (Heapcast__Mode)s->mode;
	m->sample_interval = m->mode == HEAPCAST__MODE__MODE_SAMPLE ? s->sample_interval : 0;
	if (s->has_parent)
		m->parent_stream = batch_bytes_of(s->parent_stream, STREAM_ID_SIZE);
	m->parent_event = s->parent_event;
	m->image = s->image;
	m->frees_have_stacks = s->frees_have_stacks;
	m->protocol = PROTOCOL_VERSION;
	m->cull_ns = s->cull.time_ns;
	m->flight_ns = s->flight.window_ns;
	m->cgroup = batch_bytes_of(t->cgroup, strlen(t->cgroup));
	m->board = (char *)(uintptr_t)board_name();
	m->tag = take(p, TAGS_MAX * sizeof(*m->tag));
	for (const char *tag = NULL; (tag = tags_next(&s->tags, tag));)
		m->tag[m->n_tag++] = batch_bytes_of(tag, strlen(tag));
	batch->process = m;
}

static void fill_module(struct packer *p, const struct module *from, uint32_t number,
			Heapcast__Module *m)
{
	heapcast__module__init(m);
	m->number = number;
	m->path = batch_bytes_of(from->path, from->path_length);
	m->build_id = batch_bytes_of(from->build_id, from->build_id_length);
	m->bias = from->bias;
	m->start = from->start;
	m->end = from->end;
	m->loaded_ns = from->loaded_ns;
	m->print = from->print;
	m->n_segment = from->segment_count;
	m->segment = (Heapcast__Segment **)rows(p, m->n_segment, sizeof(Heapcast__Segment));
	for (unsigned i = 0; i < from->segment_count; i++) {
		heapcast__segment__init(m->segment[i]);
		m->segment[i]->address = from->segment[i].address;
		m->segment[i]->size = from->segment[i].size;
		m->segment[i]->file_offset = from->segment[i].file_offset;
		m->segment[i]->flags = (uint32_t)from->segment[i].flags;
	}
}

static void put_modules(const struct stream *s, struct packer *p, uint32_t first, uint32_t count,
			Heapcast__Batch *batch)
{
	batch->n_module = count;
	batch->module = (Heapcast__Module **)rows(p, count, sizeof(Heapcast__Module));
	for (uint32_t i = 0; i < count; i++)
		fill_module(p, &s->modules.entry[first + i], first + i + 1, batch->module[i]);
}

static void fill_unload(const struct modules *m, uint32_t index, Heapcast__Unload *unload)
{
	heapcast__unload__init(unload);
	unload->module = index + 1;
	unload->time_ns = m->entry[index].told_ns;
}

static void put_unloads(struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	uint32_t most =
		s->modules.unloads < BATCH_UNLOADS_MAX ? s->modules.unloads : BATCH_UNLOADS_MAX;

	if (!most)
		return;
	batch->unload = (Heapcast__Unload **)rows(p, most, sizeof(Heapcast__Unload));
	for (uint32_t i = 0; i < s->modules.count && batch->n_unload < most; i++) {
		struct module *e = &s->modules.entry[i];

		if (e->ended_ns == e->told_ns)
			continue;
		modules_told(&s->modules, e);
		fill_unload(&s->modules, i, batch->unload[batch->n_unload++]);
	}
}

static void fill_thread(const struct thread *from, Heapcast__Thread *m)
{
	heapcast__thread__init(m);
	m->number = from->number;
	m->tid = from->tid;
	m->name = batch_bytes_of(from->name, strlen(from->name));
	m->started_ns = from->started_ns;
	m->ended_ns = from->ended_ns;
	m->earlier_delivered = from->earlier_delivered;
	m->earlier_lost = from->earlier_lost;
}

static void batch_put_threads(struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	batch->thread = (Heapcast__Thread **)rows(p, s->threads.news, sizeof(Heapcast__Thread));
	threads_each(&s->threads, t)
	{
		if (!t->news)
			continue;
		fill_thread(t, batch->thread[batch->n_thread++]);
		t->news = false;
	}
	s->threads.news = 0;
}

/* Packs `count` nodes, from the protocol's number `first` on. */
static void batch_put_stacks(const struct stream *s, struct packer *p, uint32_t first,
			     uint32_t count, Heapcast__Batch *batch)
{
	size_t size = (size_t)count * STACKS_NODE_MAX;
	struct stacks_encoder encoder;
	struct stack_node node;

	if (!count)
		return;
	stacks_encoder_init(&encoder, take(p, size), size, first);
	for (uint32_t i = 0; i < count; i++) {
		stacks_get(&s->stacks, first + i, &node);
		stacks_encoder_put(&encoder, &node);
	}
	batch->stacks = take(p, sizeof(*batch->stacks));
	stacks_encoder_fill(&encoder, batch->stacks);
}

static void put_events(struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	if (!s->batch.events.count)
		return;
	batch->events = take(p, sizeof(*batch->events));
	events_encoder_fill(&s->batch.events, batch->events);
}

static void put_gaps(const struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	batch->n_gap = s->batch.gaps;
	batch->gap = (Heapcast__Gap **)rows(p, s->batch.gaps, sizeof(Heapcast__Gap));
	for (uint32_t i = 0; i < s->batch.gaps; i++) {
		const struct batch_gap *from = &s->batch.gap[i];
		Heapcast__Gap *m = batch->gap[i];

		heapcast__gap__init(m);
		m->thread = from->thread;
		m->from = from->from;
		m->to = from->to;
		m->allocations = from->lost.allocations;
		m->frees = from->lost.frees;
		m->bytes = from->lost.bytes;
		m->reason = (Heapcast__Reason)from->reason;
		m->from_ns = from->from_ns;
		m->to_ns = from->to_ns;
		m->events = from->lost.events;
	}
}

static void put_marks(const struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	batch->n_mark = s->batch.marks;
	batch->mark = (Heapcast__Mark **)rows(p, s->batch.marks, sizeof(Heapcast__Mark));
	for (uint32_t i = 0; i < s->batch.marks; i++) {
		const struct batch_mark *from = &s->batch.mark[i];
		Heapcast__Mark *m = batch->mark[i];

		heapcast__mark__init(m);
		m->time_ns = from->time_ns;
		m->kind = (Heapcast__MarkKind)from->kind;
		m->value = from->value;
		m->text = batch_bytes_of(s->batch.text + from->text_offset, from->text_length);
		m->thread = from->thread;
		m->place = from->place;
		if (from->by_offset)
			m->by = (char *)(uintptr_t)s->batch.text + from->by_offset - 1;
	}
}

/* Packs the counts of threads whose counts have changed. */
static void put_thread_counts(struct stream *s, struct packer *p, Heapcast__Ledger *m)
{
	size_t room = (size_t)s->threads.capacity * VARINT_MAX;
	ProtobufCBinaryData *columns[] = {
		&m->thread,	 &m->thread_produced,	 &m->thread_delivered,
		&m->thread_lost, &m->thread_not_sampled, &m->thread_culled};
	unsigned count = stream_holds(s) ? 6 : 5;
	uint8_t *at[6];

	for (unsigned i = 0; i < count; i++)
		at[i] = columns[i]->data = take(p, room);
	threads_each(&s->threads, t)
	{
		if (!t->counts_news)
			continue;
		at[0] = varint_put(at[0], t->number);
		at[1] = varint_put(at[1], t->counts.produced);
		at[2] = varint_put(at[2], t->counts.delivered);
		at[3] = varint_put(at[3], t->counts.lost);
		at[4] = varint_put(at[4], t->counts.not_sampled);
		if (count > 5)
			at[5] = varint_put(at[5], t->counts.culled);
		t->counts_news = false;
	}
	for (unsigned i = 0; i < count; i++)
		columns[i]->len = (size_t)(at[i] - columns[i]->data);
}

/* Packs the unrecorded processes. They are few and short, so they are not charged to the batch. */
static void put_unrecorded(struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	batch->unrecorded =
		(Heapcast__Unrecorded **)rows(p, s->unrecorded_count, sizeof(Heapcast__Unrecorded));
	for (uint32_t i = 0; i < s->unrecorded_count; i++) {
		const struct unrecorded *from = &s->unrecorded[i];
		Heapcast__Unrecorded *m = batch->unrecorded[batch->n_unrecorded++];

		heapcast__unrecorded__init(m);
		m->pid = from->pid;
		m->name = batch_bytes_of(from->name, strnlen(from->name, sizeof(from->name)));
		m->counted = from->counted;
		m->events = from->events;
		m->allocations = from->allocations;
		m->frees = from->frees;
		m->bytes = from->bytes;
	}
}

static void put_delivered(Heapcast__Ledger *m, const struct spool_account *account)
{
	m->delivered = account->events;
	m->culled = account->culled;
	m->delivered_allocations = account->allocations;
	m->delivered_frees = account->frees;
	m->delivered_bytes = account->bytes;
}

static Heapcast__Ledger *batch_put_ledger(struct stream *s, struct packer *p,
					  Heapcast__Batch *batch)
{
	Heapcast__Ledger *m = take(p, sizeof(*m));
	struct stream_ledger l = stream_ledger(s);

	heapcast__ledger__init(m);
	m->produced = l.produced;
	m->not_sampled = l.not_sampled;
	m->lost = l.lost;
	m->pending = l.pending;
	m->lost_allocations = s->lost.allocations;
	m->lost_frees = s->lost.frees;
	m->lost_bytes = s->lost.bytes;
	m->stacks_cut = s->stacks_cut;
	m->samples_refused = s->samples_refused;
	m->before_recording = s->before;
	m->not_begun = s->unready && !s->image;
	m->unrecorded = s->unrecorded_sum.pid;
	m->unrecorded_uncounted = s->uncounted;
	m->unrecorded_events = s->unrecorded_sum.events;
	m->unrecorded_bytes = s->unrecorded_sum.bytes;
	m->stacks_unknown = s->stacks_unknown;
	m->namespaces = s->namespaces;
	m->earlier_delivered = s->earlier_delivered;
	m->earlier_lost = s->earlier_lost;
	put_delivered(m, &s->delivered);
	batch->ledger = m;
	return m;
}

static void batch_put_head(const struct stream *s, Heapcast__Batch *batch)
{
	heapcast__batch__init(batch);
	batch->stream = batch_bytes_of(s->id, sizeof(s->id));
	batch->incarnation = s->incarnation;
	batch->time_ns = stream_now(s);
	batch->wall_ns = clock_wall_ns();
	batch->watermark_ns = stream_watermark(s) / BATCH_TICK_NS * BATCH_TICK_NS;
}

static void put_end(const struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	Heapcast__End *m = take(p, sizeof(*m));

	heapcast__end__init(m);
	m->time_ns = s->end_ns;
	m->kind = (Heapcast__EndKind)s->end.kind;
	m->status = s->end.status;
	m->core_dumped = s->end.core_dumped;
	m->source = (Heapcast__EndSource)s->end.source;
	m->oom_counter = (Heapcast__OomCounter)s->end.oom_counter;
	m->rss_peak = s->end.rss_peak;
	batch->end = m;
}

static long pack(struct packer *p, const Heapcast__Batch *batch, uint8_t *out, size_t size)
{
	if (heapcast__batch__get_packed_size(batch) > p->message_size)
		return -EMSGSIZE;
	return frame_encode(p->encoder, p->message, heapcast__batch__pack(batch, p->message), out,
			    size);
}

long batch_pack(struct stream *s, struct packer *p, bool end)
{
	uint32_t fresh = s->stacks.nodes - s->stacks.sent,
		 nodes = fresh < s->batch.nodes_max ? fresh : s->batch.nodes_max;
	Heapcast__Batch batch;
	long length;

	arena_clear(&p->scratch);
	batch_put_head(s, &batch);
	batch.number = s->spool.next;
	if (s->process_news)
		put_process(s, p, &batch);
	put_modules(s, p, s->modules.sent, s->modules.count - s->modules.sent, &batch);
	put_unloads(s, p, &batch);
	batch_put_threads(s, p, &batch);
	batch_put_stacks(s, p, s->stacks.base + s->stacks.sent + 1, nodes, &batch);
	put_events(s, p, &batch);
	put_gaps(s, p, &batch);
	put_marks(s, p, &batch);
	if (stream_holds(s))
		s->delivered.culled += sums_put(&s->sums, &s->stacks, &p->scratch,
						end || s->renewal_wanted, &batch);
	batch_put_observed(s, p, &batch);
	put_unrecorded(s, p, &batch);
	put_thread_counts(s, p, batch_put_ledger(s, p, &batch));
	s->ledger_told = batch.ledger->produced;
	if (end)
		put_end(s, p, &batch);
	length = pack(p, &batch, s->batch.memory, s->batch.size);
	s->process_news = false;
	s->unrecorded_count = 0;
	s->modules.sent = s->modules.count;
	s->stacks.sent += nodes;
	batch_clear(&s->batch);
	return length;
}

static void catch_up_unloads(struct stream *s, struct packer *p, uint32_t first, uint32_t count,
			     Heapcast__Batch *batch)
{
	batch->unload = (Heapcast__Unload **)rows(p, count, sizeof(Heapcast__Unload));
	for (uint32_t i = first; i < first + count; i++)
		if (s->modules.entry[i].told_ns != MODULE_THERE)
			fill_unload(&s->modules, i, batch->unload[batch->n_unload++]);
}

static void catch_up_threads(struct stream *s, struct packer *p, uint32_t first, uint32_t count,
			     Heapcast__Batch *batch)
{
	batch->thread = (Heapcast__Thread **)rows(p, count, sizeof(Heapcast__Thread));
	for (uint32_t i = first; i < first + count; i++)
		if (s->threads.entry[i].number)
			fill_thread(&s->threads.entry[i], batch->thread[batch->n_thread++]);
}

/* Says who has the batches before `next`. */
static void catch_up_parts(const struct stream *s, struct packer *p, const struct catch_up *c,
			   Heapcast__Batch *batch)
{
	static const uint8_t unknown[STREAM_ID_SIZE];

	batch->part = (Heapcast__Part **)rows(p, s->parts, sizeof(Heapcast__Part));
	for (uint32_t i = 0; i < s->parts && s->part[i].upto < c->next; i++) {
		const struct stream_part *from = &s->part[i];
		Heapcast__Part *m = batch->part[batch->n_part++];

		heapcast__part__init(m);
		if (memcmp(from->collector, unknown, sizeof(unknown)))
			m->collector = batch_bytes_of(from->collector, STREAM_ID_SIZE);
		m->host = (char *)(uintptr_t)from->host;
		m->upto = from->upto;
		m->events = from->events;
	}
}

/* Packs the counts of the events that a new subscriber has missed. */
static void catch_up_account(struct stream *s, struct packer *p, const struct catch_up *c,
			     Heapcast__Batch *batch)
{
	const struct spool_account *gone = &c->gone;
	Heapcast__Ledger *m = batch_put_ledger(s, p, batch);
	Heapcast__Gap *gap;

	put_delivered(m, gone);
	m->pending = m->produced - m->delivered - m->culled - m->not_sampled - m->lost;
	if (!c->join || !gone->events)
		return;
	m->before_join = gone->events;
	batch->gap = (Heapcast__Gap **)rows(p, 1, sizeof(*gap));
	batch->n_gap = 1;
	gap = batch->gap[0];
	heapcast__gap__init(gap);
	gap->reason = HEAPCAST__REASON__REASON_JOINED_LATE;
	gap->events = gone->events;
	gap->allocations = gone->allocations;
	gap->frees = gone->frees;
	gap->bytes = gone->bytes;
	gap->to_ns = batch->watermark_ns;
}

enum catch_up_stage { STAGE_PROCESS, STAGE_MODULES, STAGE_THREADS, STAGE_STACKS, STAGE_DONE };

/* Returns the number of definitions in a stage, and sets *ret_each to the number in one part. */
static uint32_t stage_total(const struct stream *s, const struct catch_up *c, uint32_t *ret_each)
{
	switch (c->stage) {
	case STAGE_PROCESS:
		*ret_each = 1;
		return 1;
	case STAGE_MODULES:
		*ret_each = BATCH_MODULES_MAX;
		return s->modules.sent;
	case STAGE_THREADS:
		*ret_each = BATCH_THREADS_MAX;
		return s->threads.capacity;
	default:
		*ret_each = CATCH_UP_NODES;
		return c->gone.nodes;
	}
}

static void put_stage(struct stream *s, struct packer *p, const struct catch_up *c, uint32_t count,
		      Heapcast__Batch *batch)
{
	switch (c->stage) {
	case STAGE_PROCESS:
		put_process(s, p, batch);
		catch_up_account(s, p, c, batch);
		catch_up_parts(s, p, c, batch);
		break;
	case STAGE_MODULES:
		put_modules(s, p, c->index, count, batch);
		catch_up_unloads(s, p, c->index, count, batch);
		break;
	case STAGE_THREADS:
		catch_up_threads(s, p, c->index, count, batch);
		break;
	default:
		batch_put_stacks(s, p, c->index + 1, count, batch);
	}
}

struct catch_up catch_up_begin(const struct spool *spool, bool join)
{
	return (struct catch_up){.join = join, .next = spool_oldest(spool), .gone = spool->evicted};
}

struct catch_up catch_up_behind(const struct spool *spool, uint64_t number, bool join)
{
	return (struct catch_up){
		.join = join, .next = number + 1, .gone = spool_account_at(spool, number)};
}

struct catch_up catch_up_at(uint64_t next, const struct spool_account *gone)
{
	return (struct catch_up){.join = true, .next = next, .gone = *gone};
}

long batch_pack_catch_up(struct stream *s, struct packer *p, struct catch_up *c, uint8_t *out,
			 size_t size)
{
	uint32_t each, total, count;
	Heapcast__Batch batch;

	while (c->stage < STAGE_DONE && c->index >= stage_total(s, c, &each)) {
		c->stage++;
		c->index = 0;
	}
	if (c->stage == STAGE_DONE)
		return 0;
	total = stage_total(s, c, &each);
	count = total - c->index < each ? total - c->index : each;
	arena_clear(&p->scratch);
	batch_put_head(s, &batch);
	batch.catch_up = true;
	batch.next = c->next;
	batch.watermark_ns = c->gone.time_ns / BATCH_TICK_NS * BATCH_TICK_NS;
	put_stage(s, p, c, count, &batch);
	c->index += count;
	return pack(p, &batch, out, size);
}
