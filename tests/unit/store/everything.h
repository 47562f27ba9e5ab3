#pragma once
/*
 * A recording with something of everything that one can hold, for tests that rewrite it: two
 * agents, an exec, all that is observed, sums, a gap, names, pieces of a file; blocks of all
 * spaces, some of them doubtful. everything_build makes it.
 */
#include "base/crc32.h"
#include "proto/culled.h"
#include "proto/event.h"
#include "proto/names.h"
#include "tests/unit/store/builder.h"

#define SECOND 1000000000ull

static struct builder b;

/* Numbers that differ, in all fields that hold one. */
static void number(ProtobufCMessage *message, uint32_t base)
{
	const ProtobufCMessageDescriptor *d = message->descriptor;

	for (unsigned i = 0; i < d->n_fields; i++) {
		uint8_t *member = (uint8_t *)message + d->fields[i].offset;
		uint32_t small = base + d->fields[i].id;
		uint64_t large = (uint64_t)small << 20;

		if (d->fields[i].label == PROTOBUF_C_LABEL_REPEATED)
			continue;
		if (d->fields[i].type == PROTOBUF_C_TYPE_UINT32)
			memcpy(member, &small, sizeof(small));
		if (d->fields[i].type == PROTOBUF_C_TYPE_UINT64)
			memcpy(member, &large, sizeof(large));
	}
}

static ProtobufCBinaryData text(const char *value)
{
	return builder_bytes(value, strlen(value));
}

/* What a batch of definitions refers to. */
struct definitions_sent {
	Heapcast__Process process;
	Heapcast__Origin origin;
	Heapcast__Module module[5], *modules[5];
	Heapcast__Segment segment, *segments[1];
	Heapcast__Thread thread[3], *threads[3];
	Heapcast__Stacks stacks;
	struct names_encoder names_encoder;
	Heapcast__Names names;
	ProtobufCBinaryData arguments[2];
	uint8_t nodes[512];
};

static void define_process(struct definitions_sent *d, uint32_t image)
{
	static char host[] = "board-7", machine[] = "armv7l", version[] = "Built by hand",
		    format[] = "heaptrack", tool[] = "heaptrack 1.4", note[] = "a note";

	heapcast__process__init(&d->process);
	heapcast__origin__init(&d->origin);
	number(&d->process.base, 100);
	number(&d->origin.base, 200);
	d->process.executable = text("/opt/firm/bin/app");
	d->process.name = text("app");
	d->arguments[0] = text("app");
	d->arguments[1] = text("--secret");
	d->process.argument = d->arguments;
	d->process.n_argument = 2;
	d->process.host = host;
	d->process.architecture = machine;
	d->process.agent_version = version;
	d->process.agent = text("agent's own id 1");
	d->process.parent_stream = text("short");
	d->process.image = image;
	d->process.cull_ns = image ? 5 * SECOND : 0;
	d->process.flight_ns = 0;
	d->process.protocol = 1;
	d->process.parent_pid = 0;
	d->origin.format = format;
	d->origin.tool = tool;
	d->origin.file = text("/home/me/app.zst");
	d->origin.note = note;
	d->process.origin = &d->origin;
}

static void define_modules(struct definitions_sent *d)
{
	static const char *const paths[] = {"/opt/firm/bin/app", "/usr/lib/libc.so.6",
					    "/opt/firm/lib/libkept.so", "linux-vdso.so.1",
					    "/opt/firm/lib/libold.so (deleted)"};

	heapcast__segment__init(&d->segment);
	number(&d->segment.base, 50);
	d->segments[0] = &d->segment;
	for (uint32_t i = 0; i < 5; i++) {
		Heapcast__Module *m = &d->module[i];

		heapcast__module__init(m);
		d->modules[i] = m;
		m->number = i + 1;
		m->path = text(paths[i]);
		if (i % 2 == 0)
			m->build_id = text(&"build id of twenty bytes"[i]);
		m->bias = 0x10000 * i;
		m->start = m->bias + 0x1000;
		m->end = m->start + (i == 1 ? 0x800 : 0x3000);
		m->loaded_ns = 10 + i;
		m->print = i == 1 || i == 2 ? 77 + i : 0;
		m->segment = d->segments;
		m->n_segment = 1;
	}
}

static void define_threads(struct definitions_sent *d, uint32_t from)
{
	static const char *const names[] = {"main", "worker of orders", ""};

	for (uint32_t i = 0; i < 3; i++) {
		heapcast__thread__init(&d->thread[i]);
		d->threads[i] = &d->thread[i];
		d->thread[i].number = i + 1;
		d->thread[i].tid = 4711 + i;
		d->thread[i].name = text(names[i]);
		d->thread[i].started_ns = from + i;
		d->thread[i].ended_ns = i == 2 ? from + SECOND : 0;
	}
}

static void define_stacks(struct definitions_sent *d, uint32_t first)
{
	static const struct stack_node nodes[] = {
		{.parent = 0, .module = 1, .offset = 0x1000},
		{.parent = 1, .module = 1, .offset = 0x3fff},
		{.parent = 2, .module = 1, .offset = 0x4000}, /* behind its end */
		{.parent = 2, .module = 2, .offset = 0x1010},
		{.parent = 1, .module = 3, .offset = 0x1234},
		{.parent = 0, .module = 0, .offset = 1}, /* no place */
		{.parent = 0, .module = 0, .offset = 4095},
		{.parent = 7, .module = 0, .offset = 4096}, /* an address */
		{.parent = 8, .module = 0, .offset = 0xffffffffff600000},
		{.parent = 5, .module = 4, .offset = 0x1100},
		{.parent = 2, .module = 5, .offset = 0x1000},
		{.parent = 0, .module = 1, .offset = 0xfff},   /* before its start */
		{.parent = 11, .module = 1, .offset = 0x1000}, /* known already */
	};
	struct stacks_encoder encoder;

	stacks_encoder_init(&encoder, d->nodes, sizeof(d->nodes), first);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		struct stack_node node = nodes[i];

		node.parent += node.parent ? first - 1 : 0;
		node.offset += first > 1 && node.module ? 1 : 0;
		assert_int_equal(stacks_encoder_put(&encoder, &node), 0);
	}
	stacks_encoder_fill(&encoder, &d->stacks);
}

static void define_names(struct definitions_sent *d, uint32_t first)
{
	const struct name_frame frames[] = {{first, first + 1, 7}, {first + 2, 0, 0}};

	names_encoder_clear(&d->names_encoder, first);
	names_encoder_text(&d->names_encoder, "inner", 5);
	names_encoder_text(&d->names_encoder, "inner.c", 7);
	names_encoder_text(&d->names_encoder, "outer", 5);
	names_encoder_place(&d->names_encoder, 1, 0x1000 + first, frames, 2);
	names_encoder_place(&d->names_encoder, 1, 0x2000 + first, NULL, 0);
	assert_int_equal(names_encoder_fill(&d->names_encoder, &d->names), 0);
}

static struct definitions_sent sent;

static void define(Heapcast__Batch *batch, uint32_t image, uint32_t first, uint32_t first_text)
{
	define_process(&sent, image);
	define_modules(&sent);
	define_threads(&sent, 1000 * first);
	define_stacks(&sent, first);
	define_names(&sent, first_text);
	batch->process = &sent.process;
	batch->module = sent.modules;
	batch->n_module = 5;
	batch->thread = sent.threads;
	batch->n_thread = 3;
	batch->stacks = &sent.stacks;
	batch->names = &sent.names;
}

/* What is observed. Pages are of 4 KiB; a region of a file, one of none, one of the kernel's. */
static Heapcast__Maps *maps_step(bool valid)
{
	static Heapcast__Maps m;
	static uint8_t start[] = {0x10, 0x20, 5}, size[] = {2, 1, 1}, flags[] = {1, 3, 3},
		       offset[] = {7, 0, 0}, device[] = {3, 0, 0}, inode[] = {9, 0, 4},
		       name[] = {1, 0, 2}, used[] = {0x10, 0x20}, gone[] = {9, 0x40},
		       total[] = {12, 1, 2, 3, 4, 5, 6, 7, 8}, figure[8][2];
	static char names[] = "/opt/firm/data.bin\0[heap]\0[anon:cache of keys]";
	ProtobufCBinaryData *const figures[] = {&m.rss,		 &m.pss,	   &m.shared_clean,
						&m.shared_dirty, &m.private_clean, &m.private_dirty,
						&m.anonymous,	 &m.swap};

	heapcast__maps__init(&m);
	number(&m.base, 300);
	m.page_shift = valid ? 12 : 17;
	m.first_name = 1;
	m.names = builder_bytes(names, sizeof(names));
	m.gone = builder_bytes(gone, sizeof(gone));
	m.start = builder_bytes(start, sizeof(start));
	m.size = builder_bytes(size, sizeof(size));
	m.flags = builder_bytes(flags, sizeof(flags));
	m.offset = builder_bytes(offset, sizeof(offset));
	m.device = builder_bytes(device, sizeof(device));
	m.inode = builder_bytes(inode, sizeof(inode));
	m.name = builder_bytes(name, sizeof(name));
	m.used = builder_bytes(used, sizeof(used));
	for (unsigned i = 0; i < 8; i++) {
		figure[i][0] = (uint8_t)(i + 1);
		figure[i][1] = (uint8_t)(i + 20);
		*figures[i] = builder_bytes(figure[i], 2);
	}
	m.total = builder_bytes(total, sizeof(total));
	return &m;
}

static void observe(Heapcast__Batch *batch, bool valid)
{
	static Heapcast__Figures figures, *list[] = {&figures};
	static Heapcast__Allocator allocator;
	static Heapcast__Unrecorded unrecorded, *unrecordeds[] = {&unrecorded};

	heapcast__figures__init(&figures);
	heapcast__allocator__init(&allocator);
	heapcast__unrecorded__init(&unrecorded);
	number(&figures.base, 400);
	number(&allocator.base, 500);
	number(&unrecorded.base, 600);
	unrecorded.name = text("helper");
	batch->figures = list;
	batch->n_figures = 1;
	batch->allocator = &allocator;
	batch->unrecorded = unrecordeds;
	batch->n_unrecorded = 1;
	batch->maps = maps_step(valid);
}

/* Marks of a thread say behind how many events of the batch they came. */
static void mark_places(Heapcast__Batch *batch)
{
	static const uint32_t places[] = {0, 1, 3, 4, 100, 0};
	static Heapcast__Mark mark[6], *marks[6];
	static char by[] = "collector desk (10.0.0.1)";

	for (uint32_t i = 0; i < 6; i++) {
		heapcast__mark__init(&mark[i]);
		marks[i] = &mark[i];
		mark[i].time_ns = 1000 + i;
		mark[i].kind = i == 4 ? HEAPCAST__MARK_KIND__MARK_DELIVERY
				      : HEAPCAST__MARK_KIND__MARK_TEXT;
		mark[i].place = places[i];
		mark[i].value = i;
		mark[i].thread = i % 3;
		mark[i].text = text(i == 4 ? "crash" : "a phase");
	}
	mark[0].by = by;
	batch->mark = marks;
	batch->n_mark = 6;
}

static void cull(Heapcast__Batch *batch)
{
	static Heapcast__Culled culled;
	static uint8_t memory[3 * CULLED_ROW_MAX];
	struct culled_encoder encoder;

	culled_encoder_init(&encoder, memory, 3, 1000);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(culled_encoder_put(
					 &encoder, &(struct culled_row){.thread = 1 + i % 2,
									.stack = i,
									.lifetime = (uint8_t)i,
									.blocks = 3 + i,
									.bytes = 100 * (3 + i),
									.size_least = 100,
									.size_most = 100,
									.weight = i ? 512 : 0,
									.first_ns = 2000 + 1000 * i,
									.last_ns = 5000}),
				 0);
	culled_encoder_fill(&encoder, &culled);
	culled.early = 2;
	batch->culled = &culled;
	b.culled_events += culled.allocations + culled.frees;
}

static void miss(Heapcast__Batch *batch)
{
	static Heapcast__Gap gap, *gaps[] = {&gap};

	heapcast__gap__init(&gap);
	gap.thread = 1;
	gap.from = 9;
	gap.to = 12;
	gap.events = 4;
	gap.allocations = 3;
	gap.frees = 1;
	gap.bytes = 333;
	gap.reason = HEAPCAST__REASON__REASON_RING_FULL;
	batch->gap = gaps;
	batch->n_gap = 1;
	b.lost += 4;
}

/* A piece of a file of `total` bytes. */
static void bring(Heapcast__Batch *batch, uint64_t offset, uint64_t total, const char *data)
{
	static Heapcast__Link link;
	static Heapcast__FilePiece piece;
	static uint32_t crc;

	heapcast__link__init(&link);
	heapcast__file_piece__init(&piece);
	piece.build_id = text("a file's id");
	piece.total = total;
	piece.identity = 3;
	piece.offset = offset;
	piece.data = text(data);
	piece.crc = crc = crc32_add(offset ? crc : 0, piece.data.data, piece.data.len);
	link.file = &piece;
	batch->link = &link;
}

static Heapcast__Batch next_batch(uint64_t time_ns)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	batch.stream = builder_bytes(b.id, sizeof(b.id));
	batch.incarnation = b.incarnation;
	batch.number = ++b.number;
	batch.time_ns = batch.watermark_ns = time_ns;
	batch.wall_ns = time_ns ? 1700000000 * SECOND + time_ns : 0;
	return batch;
}

/* Frames the batch with the events that were put in since, and a ledger. */
static void close_batch(Heapcast__Batch *batch)
{
	struct builder_ledger ledger;
	Heapcast__Events events;

	if (b.events.count) {
		events_encoder_fill(&b.events, &events);
		batch->events = &events;
	}
	builder_ledger(&b, &ledger);
	ledger.message.stacks_cut = 5;
	batch->ledger = batch->catch_up ? NULL : &ledger.message;
	builder_frame(&b, batch);
	events_encoder_clear(&b.events);
}

static void definitions_again(uint64_t time_ns, uint32_t image, bool pieces)
{
	Heapcast__Batch batch = next_batch(time_ns);

	batch.number = 0;
	batch.catch_up = true;
	batch.next = b.number--;
	if (pieces)
		bring(&batch, 6, 12, "second");
	else
		define(&batch, image, 1, 1);
	close_batch(&batch);
}

static void put(unsigned kind, uint32_t thread, uint64_t time_ns, uint64_t address, uint64_t size,
		uint32_t stack)
{
	builder_event(&b, &(struct event){.kind = (uint8_t)kind,
					  .thread = thread,
					  .time_ns = time_ns,
					  .address = address,
					  .size = size,
					  .stack = stack});
}

static void put_realloc(uint32_t thread, uint64_t time_ns, uint64_t call_ns, uint64_t old,
			uint64_t address, uint64_t size)
{
	builder_event(&b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_REALLOC,
					  .thread = thread,
					  .time_ns = time_ns,
					  .call_time_ns = call_ns,
					  .old_address = old,
					  .address = address,
					  .size = size,
					  .stack = 2});
}

enum { MALLOC = 1, MMAP = 12, POOL = 14, FREE = 32, MUNMAP = 36, POOL_FREE = 37, MALLOPT = 48 };

/* Blocks that live for 1, 2, 3... us; some are reallocated, some in other spaces, some doubtful. */
static void put_lives(uint64_t from)
{
	for (uint64_t i = 0; i < 6; i++) {
		put(MALLOC, 1 + i % 3, from + 10000 * i, 0x10000 + 64 * i, 10 * i,
		    1 + (uint32_t)i % 5);
		put(FREE, 1 + i % 2, from + 10000 * i + 1000 * (i + 1), 0x10000 + 64 * i, 0, 1);
	}
	put(MALLOC, 2, from + 70000, 0x20000, 100, 3);
	put_realloc(2, from + 75000, 2000, 0x20000, 0x20100, 200);
	put_realloc(2, from + 76000, 0, 0x20100, 0, 300); /* failed */
	put_realloc(2, from + 79000, 1000, 0x20100, 0x20200, 400);
	put(FREE, 2, from + 80000, 0x20200, 0, 2);
	put(FREE, 1, from + 81000, 0x30000, 0, 2); /* nobody's */
	put(MALLOC, 1, from + 82000, 0x30000, 8, 2);
	put(FREE, 1, from + 83000, 0x30000, 0, 2);
	put(MALLOC, 1, from + 84000, 0x40000, 9, 2);
	put(MALLOC, 2, from + 85000, 0x40000, 10, 2); /* another one there */
	put(FREE, 1, from + 86000, 0x40000, 0, 2);
	put(MMAP, 1, from + 87000, 0x50000, 0x1000, 2);
	put(MUNMAP, 1, from + 88000, 0x50000, 0x1000, 2);
	put(POOL, 1, from + 89000, 0x60000, 5, 2);
	put(POOL_FREE, 1, from + 90000, 0x60000, 0, 2);
	put(MALLOPT, 1, from + 91000, event_call_pack(3, 1), 77, 0);
	put(MALLOC, 9, from + 92000, 0x70000, 11, 2); /* a thread that nobody defined */
	put(FREE, 9, from + 93000, 0x70000, 0, 2);
	put(MALLOC, 1, from + 94000, 0x80000, 1ull << 40, 2); /* too large for sums */
	put(FREE, 1, from + 95000, 0x80000, 0, 2);
	put(MALLOC, 1, from + 96000, 0xffffffff80000000, 12, 2);
	put(FREE, 1, from + 97000, 0xffffffff80000000, 0, 2);
}

static void put_sampled(uint64_t from)
{
	assert_int_equal(events_encoder_weigh(&b.events), 0);
	for (uint64_t i = 0; i < 4; i++)
		builder_event(&b, &(struct event){.kind = MALLOC,
						  .thread = 1,
						  .time_ns = from + 1000 * i,
						  .address = 0x90000 + 64 * i,
						  .size = 32,
						  .weight = i % 2 ? 4096 : 0,
						  .stack = 4});
	put(FREE, 2, from + 6000, 0x90000, 0, 1);
	put(FREE, 2, from + 7000, 0x90040, 0, 1);
}

static void exec_image(Heapcast__Batch *batch)
{
	static Heapcast__Mark exec, *marks[] = {&exec};

	heapcast__mark__init(&exec);
	exec.kind = HEAPCAST__MARK_KIND__MARK_EXEC;
	exec.time_ns = batch->time_ns;
	batch->mark = marks;
	batch->n_mark = 1;
	define_process(&sent, 1);
	batch->process = &sent.process;
}

static void first_agent(void)
{
	Heapcast__Batch batch = next_batch(SECOND);

	define(&batch, 0, 1, 1);
	observe(&batch, true);
	put_lives(1000);
	close_batch(&batch);

	batch = next_batch(2 * SECOND - 1);
	mark_places(&batch);
	put_lives(SECOND);
	close_batch(&batch);

	put_sampled(2 * SECOND); /* which may close a batch itself */
	batch = next_batch(3 * SECOND - 1);
	cull(&batch);
	miss(&batch);
	bring(&batch, 0, 12, "first ");
	close_batch(&batch);
	definitions_again(3 * SECOND, 0, true);

	batch = next_batch(3 * SECOND);
	put(MALLOC, 1, 3 * SECOND - 5000, 0xa0000, 1, 1); /* until the exec */
	put(FREE, 1, 3 * SECOND - 4000, 0x90080, 0, 1);
	observe(&batch, false);
	close_batch(&batch);

	batch = next_batch(4 * SECOND);
	exec_image(&batch);
	put_lives(3 * SECOND + 1000);
	close_batch(&batch);
}

/* The last frame once more. */
static void repeat_frame(void)
{
	size_t begin = b.ends[b.frame_count - 2], length = b.file.length - begin;

	assert_non_null(buf_reserve(&b.file, length));
	memcpy(b.file.data + b.file.length, b.file.data + begin, length);
	b.file.length += length;
	b.ends[b.frame_count++] = b.file.length;
}

static void second_agent(void)
{
	Heapcast__Batch batch;

	b.incarnation = 2;
	b.number = 0;
	definitions_again(4 * SECOND + 500, 1, false);
	batch = next_batch(5 * SECOND);
	put_lives(4 * SECOND + 1000);
	close_batch(&batch);
	batch = next_batch(5 * SECOND + 10);
	define_stacks(&sent, 14);
	define_names(&sent, 4);
	batch.stacks = &sent.stacks;
	batch.names = &sent.names;
	put(MALLOC, 1, 5 * SECOND + 1, 0xb0000, 3, 14);
	close_batch(&batch);
	repeat_frame();
	batch = next_batch(5 * SECOND + 20);
	close_batch(&batch);
}

static void end_program(void)
{
	static Heapcast__End end;
	Heapcast__Batch batch = next_batch(6 * SECOND);

	heapcast__end__init(&end);
	number(&end.base, 700);
	end.kind = HEAPCAST__END_KIND__END_SIGNALLED;
	end.core_dumped = true;
	batch.end = &end;
	put(FREE, 1, 5 * SECOND + 3001, 0xb0000, 0, 14);
	close_batch(&batch);
}

static void everything_build(void)
{
	builder_init(&b, 0x42);
	first_agent();
	second_agent();
	end_program();
}

static void everything_done(void)
{
	names_encoder_done(&sent.names_encoder);
	builder_done(&b);
}
