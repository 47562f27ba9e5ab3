/*
 * What each message of a batch defines, and which batches are refused, with which sentence: the
 * process, modules, stacks, marks and figures, of one agent and of the next.
 */
#include <elf.h>

#include "collector/columns/row_block.h"
#include "proto/stack_columns.h"
#include "tests/unit/store/defined.h"

/* ---- modules ---- */

static Heapcast__Module module_of(uint32_t number, const char *path)
{
	Heapcast__Module m = HEAPCAST__MODULE__INIT;

	m.number = number;
	m.path = bytes(path);
	m.start = 0x1000;
	m.end = 0x2000;
	return m;
}

static Heapcast__Batch batch_with(uint32_t incarnation, Heapcast__Module *m)
{
	static Heapcast__Module *list[1];
	Heapcast__Batch batch = batch_of(incarnation);

	list[0] = m;
	batch.module = list;
	batch.n_module = 1;
	return batch;
}

static void define(uint32_t incarnation, uint32_t number, const char *path)
{
	Heapcast__Module m = module_of(number, path);
	Heapcast__Batch batch = batch_with(incarnation, &m);

	take(&batch);
}

static void modules_are_refused(void **state)
{
	static uint8_t id[33];
	Heapcast__Module m = module_of(0, "/a");
	Heapcast__Batch batch = batch_with(1, &m);

	(void)state;
	refuse(&batch, "a module with the number 0");
	m.number = HOLE_MAX + 1;
	refuse(&batch, "a module with the number 65537");
	m.number = MODULES_MAX + 1;
	refuse(&batch, "a module with the number 131073");
	m.number = 3;
	m.build_id = (ProtobufCBinaryData){33, id};
	refuse(&batch, "module 3 has a build id of 33 bytes");
	m.build_id.len = 32;
	m.start = m.end + 1;
	refuse(&batch, "module 3 ends before it starts");
	assert_int_equal(d.module_count, 0);
	m.start = m.end;
	take(&batch);
	assert_int_equal(d.module_count, 3);
	assert_true(!d.modules[0] && !d.modules[1] && d.modules[2]);
	assert_int_equal(d.modules[2]->build_id_length, 32);
	define(1, HOLE_MAX + 3, "/far"); /* as many may be missing */
	batch = batch_with(1, &m);
	m.number = MODULES_MAX;
	take(&batch);
	m.number++;
	refuse(&batch, "a module with the number 131073");
	/* The next agent's numbers are small, but there is no more of ours. */
	batch.incarnation = 2;
	m.number = 1;
	m.path = bytes("/new");
	refuse(&batch, "more than 131072 modules");
}

static void modules_are_known(void **state)
{
	Heapcast__Segment data = HEAPCAST__SEGMENT__INIT, endless = data, code = data, more = data,
			  *segments[] = {&data, &endless, &code, &more};
	Heapcast__Module m = module_of(1, "/lib/a.so");
	Heapcast__Batch batch = batch_with(1, &m);
	const struct module_info *info;

	(void)state;
	data.flags = PF_R | PF_W;
	endless.flags = code.flags = more.flags = PF_R | PF_X;
	data.address = data.size = 5;
	endless.address = 16;
	endless.size = UINT64_MAX - 15;
	code.address = 16;
	code.size = UINT64_MAX - 16;
	code.file_offset = 8;
	more.address = more.size = 9;
	m.segment = segments;
	m.n_segment = 4;
	m.bias = 0x100;
	m.print = 6;
	m.loaded_ns = 77;
	take(&batch);
	info = d.modules[0];
	assert_true(info->number == 1 && info->bias == 0x100 && info->start == 0x1000 &&
		    info->end == 0x2000 && info->print == 6 && info->loaded_ns == 77 &&
		    info->unloaded_ns == NO_TIME);
	assert_true(info->code_address == 16 && info->code_size == UINT64_MAX - 16 &&
		    info->code_offset == 8);
	assert_string_equal(info->path, "/lib/a.so");
	assert_null(info->file);
	segments[0] = &code;
	m.n_segment = 1;
	m.number = 3;
	take(&batch);
	assert_int_equal(d.modules[2]->code_offset, 8);
	/* The first meaning of a number holds. A name with odd bytes is kept to open the file. */
	define(1, 1, "/lib/b.so");
	assert_string_equal(d.modules[0]->path, "/lib/a.so");
	define(1, 2, "/lib/\n");
	assert_string_equal(module_file(d.modules[1]), "/lib/\n");
	assert_string_not_equal(d.modules[1]->path, "/lib/\n");
}

static void modules_are_unloaded(void **state)
{
	Heapcast__Unload gone = HEAPCAST__UNLOAD__INIT, *list[] = {&gone};
	Heapcast__Batch batch = batch_of(1);

	(void)state;
	define(1, 2, "/a");
	batch.unload = list;
	batch.n_unload = 1;
	gone.time_ns = 5;
	for (gone.module = 0; gone.module < 5; gone.module++)
		if (gone.module != 2)
			take(&batch); /* nobody knows of it */
	assert_true(d.modules[1]->unloaded_ns == NO_TIME);
	gone.module = 2;
	take(&batch);
	assert_int_equal(d.modules[1]->unloaded_ns, 5);
}

/* The next agent numbers anew. What is equal in all is the same module, unless it was unloaded. */
static void the_next_agent(void **state)
{
	Heapcast__Module m = module_of(1, "/a"), other;
	Heapcast__Batch batch = batch_with(1, &m);

	(void)state;
	m.build_id = bytes("id");
	m.bias = 3;
	take(&batch);
	define(1, 2, "/b");
	define(1, 3, "/c");
	define(2, 1, "/c");
	define(2, 3, "/b");
	assert_int_equal(d.module_count, 3);
	assert_int_equal(definitions_module_of_wire(&d, 1), 3);
	assert_int_equal(definitions_module_of_wire(&d, 2), 0);
	assert_int_equal(definitions_module_of_wire(&d, 3), 2);
	assert_int_equal(definitions_module_of_wire(&d, 4), 0);
	assert_int_equal(definitions_module_of_wire(&d, 0), 0);
	batch = batch_with(2, &m);
	m.number = 4;
	take(&batch);
	assert_int_equal(definitions_module_of_wire(&d, 4), 1);
	for (unsigned i = 0; i < 7; i++) {
		other = m;
		other.number = 5 + i;
		other.path = i == 0 ? bytes("/A") : m.path;
		other.bias += i == 1;
		other.start -= i == 2;
		other.end += i == 3;
		other.print += i == 4;
		other.build_id = i == 5 ? bytes("iD") : i == 6 ? bytes("i") : m.build_id;
		batch = batch_with(2, &other);
		take(&batch);
		assert_int_equal(definitions_module_of_wire(&d, 5 + i), 4 + i);
		assert_int_equal(d.module_count, 4 + i);
	}
	d.modules[0]->unloaded_ns = 9;
	batch = batch_with(2, &m);
	m.number = 12;
	take(&batch);
	assert_int_equal(definitions_module_of_wire(&d, 12), 11);
	/* An earlier agent's batch changes nothing of that; and the third begins anew. */
	batch = batch_of(1);
	take(&batch);
	assert_int_equal(definitions_module_of_wire(&d, 12), 11);
	batch = batch_of(3);
	take(&batch);
	assert_int_equal(definitions_module_of_wire(&d, 12), 0);
	assert_int_equal(d.module_count, 11);
	m.number = HOLE_MAX + 1;
	batch = batch_with(3, &m);
	refuse(&batch, "a module with the number 65537");
}

/* ---- stacks ---- */

static void take_nodes(uint32_t first, uint32_t parent, uint32_t module, const char *why)
{
	Heapcast__Batch batch = batch_of(1);
	Heapcast__Stacks stacks = HEAPCAST__STACKS__INIT;
	struct stacks_encoder encoder;
	uint8_t memory[STACKS_NODE_MAX];

	stacks_encoder_init(&encoder, memory, sizeof(memory), first);
	stacks_encoder_put(&encoder, &(struct stack_node){parent, module, 0x40});
	stacks_encoder_fill(&encoder, &stacks);
	batch.stacks = &stacks;
	if (why)
		refuse(&batch, why);
	else
		take(&batch);
}

static void stacks(void **state)
{
	(void)state;
	define(1, 2, "/a");
	take_nodes(1, 0, 1, "stacks: node 1 lies in module 1, which is not defined");
	take_nodes(1, 0, 3, "stacks: node 1 lies in module 3, which is not defined");
	take_nodes(1, 0, 2, NULL);
	take_nodes(1, 0, 0, NULL); /* it has its meaning */
	assert_true(d.nodes.count == 1 && d.nodes.list[0].module == 2);
	/* What damage has destroyed has no known caller. */
	take_nodes(4, 3, 2, NULL);
	assert_int_equal(d.nodes.wire_count, 4);
	assert_int_equal(d.nodes.list[nodes_of_wire(&d.nodes, 2) - 1].offset,
			 HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED);
	assert_int_equal(nodes_of_wire(&d.nodes, 3), nodes_of_wire(&d.nodes, 2));
	take_nodes(4 + HOLE_MAX + 1, 0, 2, "stacks: nodes 5 to 65540 were never defined");
	take_nodes(4 + HOLE_MAX, 0, 2, NULL);
	assert_int_equal(d.nodes.wire_count, 4 + HOLE_MAX);
}

/* ---- marks, figures, the process ---- */

static void marks(void **state)
{
	static char by[MARK_BY_MAX + 2];
	Heapcast__Mark m = HEAPCAST__MARK__INIT, *list[] = {&m};
	Heapcast__Batch batch = batch_of(1);

	(void)state;
	batch.mark = list;
	batch.n_mark = 1;
	m.time_ns = 1;
	m.value = 2;
	m.kind = HEAPCAST__MARK_KIND__MARK_TEXT;
	m.thread = 3;
	m.text = bytes("phase");
	take(&batch);
	assert_true(d.mark_count == 1 && d.marks[0].time_ns == 1 && d.marks[0].value == 2 &&
		    d.marks[0].thread == 3 && d.marks[0].kind == HEAPCAST__MARK_KIND__MARK_TEXT);
	assert_string_equal(d.marks[0].text, "phase");
	assert_null(d.marks[0].by);
	memset(by, 'b', MARK_BY_MAX + 1);
	m.by = by;
	take(&batch);
	assert_int_equal(strlen(d.marks[1].by), MARK_BY_MAX);
	/* Beyond the last they are only counted. */
	for (uint32_t i = 0; i < 2; i++) {
		free(d.marks[i].text);
		free(d.marks[i].by);
	}
	d.mark_count = MARKS_MAX;
	take(&batch);
	assert_int_equal(d.ledger.marks_left_out, 1);
	assert_int_equal(d.mark_count, MARKS_MAX);
	d.mark_count = 0;
}

static void figures(void **state)
{
	Heapcast__Figures f = HEAPCAST__FIGURES__INIT, *list[] = {&f};
	Heapcast__Allocator a = HEAPCAST__ALLOCATOR__INIT;
	Heapcast__Batch batch = batch_of(1);

	(void)state;
	assert_true(d.figures.time_ns == NO_TIME && d.figures_most.detailed_ns == NO_TIME &&
		    d.allocator.time_ns == NO_TIME);
	batch.figures = list;
	batch.n_figures = 1;
	batch.allocator = &a;
	f = (Heapcast__Figures){f.base,	    .time_ns = 10,  .rss = 1,	       .rss_peak = 2,
				.pss = 3,   .anonymous = 4, .swap = 5,	       .address_space = 6,
				.dirty = 7, .clean = 8,	    .minor_faults = 9, .major_faults = 11};
	a.time_ns = 12;
	a.arena = 13;
	take(&batch);
	assert_true(d.figures.time_ns == 10 && d.figures.rss == 1 && d.figures.rss_peak == 2 &&
		    d.figures.anonymous == 4 && d.figures.swap == 5 &&
		    d.figures.address_space == 6 && d.figures.minor_faults == 9 &&
		    d.figures.major_faults == 11);
	assert_true(!d.figures.pss && !d.figures.dirty && !d.figures.clean &&
		    d.figures.detailed_ns == NO_TIME);
	assert_true(d.allocator.time_ns == 12 && d.allocator.arena == 13);
	f.detailed = true;
	f.time_ns = 20;
	f.rss = 0;
	take(&batch);
	assert_true(d.figures.pss == 3 && d.figures.dirty == 7 && d.figures.clean == 8 &&
		    d.figures.detailed_ns == 20 && !d.figures.rss);
	assert_true(d.figures_most.rss == 1 && d.figures_most.pss == 3 &&
		    d.figures_most.time_ns == 20 && d.figures_most.detailed_ns == 20);
	f.detailed = false;
	f.time_ns = 30;
	f.pss = 100;
	take(&batch);
	assert_true(d.figures.pss == 3 && d.figures.detailed_ns == 20 && d.figures.time_ns == 30);
}

static void the_process(void **state)
{
	static uint8_t parent[STREAM_ID_SIZE] = {7};
	Heapcast__Process p = HEAPCAST__PROCESS__INIT;
	Heapcast__Origin o = HEAPCAST__ORIGIN__INIT;
	Heapcast__End e = HEAPCAST__END__INIT;
	Heapcast__Batch batch = batch_of(1), last = batch_of(1);

	(void)state;
	batch.process = &p;
	p.pid = 1;
	p.image = 2;
	p.executable = bytes("/bin/prog");
	p.parent_stream = (ProtobufCBinaryData){STREAM_ID_SIZE - 1, parent};
	p.parent_event = 5;
	take(&batch);
	assert_true(d.process.pid == 1 && d.process.images == 3 && !d.process.forked &&
		    !d.process.parent_event && !d.process.origin.imported);
	assert_string_equal(d.process.name, "prog");
	e.kind = HEAPCAST__END_KIND__END_SIGNALLED;
	e.status = 11;
	e.core_dumped = true;
	e.rss_peak = 99;
	last.end = &e;
	last.time_ns = 40;
	take(&last);
	assert_true(d.process.ended && d.process.end_status == 11 && d.process.core_dumped &&
		    d.process.rss_peak == 99 && d.figures_most.rss_peak == 99);
	assert_int_equal(d.last_ns, 40);
	/* It is said again, of a child, and of one that was imported: its end stays. */
	p.parent_stream.len++;
	p.origin = &o;
	o.exact = true;
	o.wall_ns = 6;
	batch.time_ns = 39;
	take(&batch);
	assert_true(d.process.ended && d.process.end_status == 11 && d.process.core_dumped &&
		    d.process.rss_peak == 99 &&
		    d.process.end_kind == HEAPCAST__END_KIND__END_SIGNALLED);
	assert_true(d.process.forked && d.process.parent.bytes[0] == 7 &&
		    d.process.parent_event == 5);
	assert_true(d.process.origin.imported && d.process.origin.exact &&
		    d.process.origin.wall_ns == 6);
	assert_int_equal(d.last_ns, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(modules_are_refused),
		TEST(modules_are_known),
		TEST(modules_are_unloaded),
		TEST(the_next_agent),
		TEST(stacks),
		TEST(marks),
		TEST(figures),
		TEST(the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
