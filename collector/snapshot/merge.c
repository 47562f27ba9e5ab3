/* Merges the blocks of many streams into one recording. merge.h describes it. */
#include "collector/snapshot/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/saturated.h"
#include "proto/columns.h"
#include "proto/stack_columns.h"
#include "collector/query/sums/in_use.h"
#include "collector/query/match/intern.h"
#include "collector/query/query.h"
#include "collector/rewrite/compose.h"
#include "collector/catalogue/snapshots.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

/* Addresses of modules in the merged recording: disjoint, with limited room for each. */
#define FIRST_ADDRESS (1ull << 32)
#define MODULE_ALIGN  (1ull << 21)
#define MODULE_MAX    (1ull << 36)
/* Maximum number of blocks that are added one by one although they are given as a count; more would
 * take too long. */
#define SPREAD_MAX (1u << 26)

struct merge {
	struct composer *composer;
	bool exact;
	uint32_t members;
	uint64_t bytes; /* of all blocks, as recording_sum_up adds them */
	double blocks;
	uint64_t spread;       /* part of SPREAD_MAX that is used */
	struct intern modules; /* by build id or path; the numbers are the composer's */
	uint32_t module_count;
	uint64_t next_address;
};

/*
 * A stream that is being merged, with the maps from its numbers to the merged ones; 0: not mapped
 * yet.
 */
struct adding {
	struct merge *merge;
	const struct recording *recording;
	uint32_t *node_of, *module_of;
	uint32_t *way; /* the nodes on the path from a node outwards */
	uint32_t way_capacity;
	uint64_t time_ns;
};

static void adding_done(struct adding *a)
{
	free(a->node_of);
	free(a->module_of);
	free(a->way);
}

int merge_new(int fd, const struct stream_id *id, const char *name, uint64_t wall_ns, bool exact,
	      struct merge **ret_merge, struct err_text *err)
{
	struct merge *m = calloc(1, sizeof(*m));
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Origin origin = HEAPCAST__ORIGIN__INIT;
	char executable[sizeof(SNAPSHOT_PREFIX) + SNAPSHOT_NAME_MAX], format[] = "snapshot";
	int r;

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(executable, sizeof(executable), SNAPSHOT_PREFIX "%s", name);
	origin.format = format;
	origin.exact = exact;
	origin.wall_ns = wall_ns;
	process.executable = composer_text(executable);
	process.start_wall_ns = wall_ns;
	process.capture = HEAPCAST__CAPTURE__CAPTURE_IMPORT;
	process.mode = HEAPCAST__MODE__MODE_FULL;
	process.origin = &origin;
	m->exact = exact;
	m->next_address = FIRST_ADDRESS;
	r = composer_new(fd, id, &process, &m->composer, err);
	if (r < 0) {
		free(m);
		return r;
	}
	*ret_merge = m;
	return 0;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	composer_free(m->composer);
	intern_done(&m->modules);
	free(m);
}

/* ---- modules and stacks ---- */

/* The first character of the key tells a build id from a path. */
static uint32_t module_key(struct merge *m, const struct module_info *module)
{
	char key[4098];
	size_t length = module->build_id_length;

	key[0] = length ? 'b' : 'p';
	if (!length)
		length = strnlen(module->path, sizeof(key) - 1);
	memcpy(key + 1, module->build_id_length ? (const char *)module->build_id : module->path,
	       length);
	return intern_bytes(&m->modules, key, length + 1);
}

static int define_module(struct merge *m, const struct module_info *from)
{
	uint64_t size = from->end - from->start, start = m->next_address;
	Heapcast__Module module = HEAPCAST__MODULE__INIT;
	uint32_t number;
	int r;

	size = size < MODULE_MAX ? size : MODULE_MAX;
	module.path = composer_text(from->path);
	module.build_id.data = (uint8_t *)(uintptr_t)from->build_id;
	module.build_id.len = from->build_id_length;
	module.start = start;
	module.end = start + size;
	module.bias = start - (from->start - from->bias);
	m->next_address += (size / MODULE_ALIGN + 2) * MODULE_ALIGN;
	r = composer_module(m->composer, &module, &number);
	if (!r && number != ++m->module_count)
		r = -EINVAL;
	return r;
}

static int merge_module_of(struct adding *a, uint32_t number, uint32_t *ret_number)
{
	const struct module_info *from = number ? recording_module(a->recording, number) : NULL;
	uint32_t merged;
	int r;

	*ret_number = from ? a->module_of[number] : 0;
	if (!from || *ret_number)
		return 0;
	merged = module_key(a->merge, from);
	if (!merged)
		return -ENOMEM;
	r = merged > a->merge->module_count ? define_module(a->merge, from) : 0;
	if (!r)
		*ret_number = a->module_of[number] = merged;
	return r;
}

static int define_node(struct adding *a, uint32_t node)
{
	const struct stack_node *from = recording_node(a->recording, node);
	uint32_t module, parent = from->parent ? a->node_of[from->parent] : 0;
	int r = merge_module_of(a, from->module, &module);

	return r ? r
		 : composer_node(a->merge->composer, parent, module, from->offset,
				 &a->node_of[node]);
}

/* Defines the nodes on the path inwards, starting from the first known one. */
static int node_of(struct adding *a, uint32_t node, uint32_t *ret_node)
{
	uint32_t length = 0, nodes = recording_nodes(a->recording);
	int r = 0;

	for (uint32_t n = node <= nodes ? node : 0; n && !a->node_of[n];) {
		uint32_t parent = recording_node(a->recording, n)->parent;

		if (array_reserve(&a->way, &a->way_capacity, length + 1, sizeof(*a->way)) < 0)
			return -ENOMEM;
		a->way[length++] = n;
		n = parent < n ? parent : 0;
	}
	while (!r && length)
		r = define_node(a, a->way[--length]);
	*ret_node = node <= nodes ? a->node_of[node] : 0;
	return r;
}

/* ---- blocks ---- */

static int merge_put_event(struct adding *a, uint32_t stack, uint64_t size, uint64_t weight)
{
	struct merge *m = a->merge;
	uint64_t least = size ? size : 1;

	add_most(&m->bytes, size && weight ? weight : size);
	m->blocks += weight > least ? (double)weight / (double)least : 1;
	return composer_event(m->composer,
			      &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
					      .thread = m->members,
					      .time_ns = a->time_ns,
					      .address = composer_address(m->composer, size),
					      .size = size,
					      .stack = stack,
					      .weight = weight});
}

/* Returns the total weight, saturated at UINT64_MAX. An empty block counts as one byte. */
static uint64_t weigh(const struct in_use_blocks *b)
{
	uint64_t weight;

	return __builtin_mul_overflow(b->size ? b->size : 1, b->blocks, &weight) ? UINT64_MAX
										 : weight;
}

static int take_blocks(void *context, const struct in_use_blocks *b)
{
	struct adding *a = context;
	struct merge *m = a->merge;
	uint32_t stack;
	int r;

	if (b->weight && m->exact)
		return 1;
	r = node_of(a, b->stack, &stack);
	if (!r && b->blocks == 1)
		return merge_put_event(a, stack, b->size, b->weight);
	if (!r && (m->exact || b->blocks > SPREAD_MAX - m->spread))
		return merge_put_event(a, stack, b->size, weigh(b));
	m->spread += b->blocks;
	for (uint64_t i = 0; !r && i < b->blocks; i++)
		r = merge_put_event(a, stack, b->size, 0);
	return r;
}

/* ---- gathering ---- */

/* 32 MiB */
#define GATHERED_MAX (1u << 20)

void gathered_done(struct gathered *g)
{
	free(g->list);
	*g = (struct gathered){0};
}

static int gather_blocks(void *context, const struct in_use_blocks *b)
{
	struct gathered *g = context;

	if (g->count == GATHERED_MAX) {
		g->too_many = true;
		return 1;
	}
	if (array_reserve(&g->list, &g->capacity, (uint64_t)g->count + 1, sizeof(*g->list)) < 0)
		return -ENOMEM;
	g->list[g->count++] = *b;
	return 0;
}

static int read_blocks(struct view *view, uint64_t at_ns,
		       int (*take)(void *context, const struct in_use_blocks *blocks),
		       void *context, struct usage *total, struct err_text *err)
{
	struct filter filter;
	int r;

	filter_init(&filter);
	r = query_in_use(view, &filter, at_ns, take, context, total, err);
	filter_done(&filter);
	return r;
}

int merge_gather(struct view *view, uint64_t at_ns, struct gathered *g, struct err_text *err)
{
	int r;

	*g = (struct gathered){0};
	r = read_blocks(view, at_ns, gather_blocks, g, &g->total, err);
	return r == 1 ? 0 : r;
}

static int take_gathered(struct adding *a, const struct gathered *g)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < g->count; i++)
		r = take_blocks(a, &g->list[i]);
	return r;
}

/* ---- processes ---- */

static void find_build_id(const struct recording *recording, struct snapshot_member *member)
{
	const char *path = recording_process(recording)->executable;

	for (uint32_t n = recording_modules(recording); n; n--) {
		const struct module_info *module = recording_module(recording, n);

		if (!module || !path || strcmp(module->path, path) != 0)
			continue;
		member->build_id_length = module->build_id_length;
		memcpy(member->build_id, module->build_id, module->build_id_length);
		return;
	}
}

static int define_thread(struct merge *m, const struct snapshot_member *member)
{
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT;
	char name[512];

	snprintf(name, sizeof(name), "%.200s/%.200s/%u", member->host,
		 module_basename(member->executable), member->pid);
	thread.number = ++m->members;
	thread.tid = member->pid;
	thread.name = composer_text(name);
	return composer_thread(m->composer, &thread);
}

/*
 * -EINVAL is reserved for the user's request. If the composer refuses something, the stream is at
 * fault.
 */
static int not_asked_for(int error)
{
	return error == -EINVAL ? -EBADMSG : error;
}

int merge_add(struct merge *m, struct view *view, const struct gathered *gathered, uint64_t time_ns,
	      struct snapshot_member *member, struct err_text *err)
{
	bool is_gathered = gathered && !gathered->too_many;
	const struct recording *recording = view_recording(view);
	cleanup(adding_done) struct adding a = {
		.merge = m, .recording = recording, .time_ns = time_ns};
	struct usage total = is_gathered ? gathered->total : (struct usage){0};
	int r = define_thread(m, member);

	a.node_of = calloc((size_t)recording_nodes(recording) + 1, sizeof(*a.node_of));
	a.module_of = calloc((size_t)recording_modules(recording) + 1, sizeof(*a.module_of));
	if (!r && (!a.node_of || !a.module_of))
		r = err_set(err, -ENOMEM, "out of memory");
	find_build_id(recording, member);
	if (!r && is_gathered)
		r = take_gathered(&a, gathered);
	else if (!r)
		r = read_blocks(view, member->time_ns, take_blocks, &a, &total, err);
	member->blocks = total.blocks;
	member->bytes = total.bytes;
	member->samples = total.samples;
	member->blocks_error = total.blocks_error;
	member->bytes_error = total.bytes_error;
	/* The composer's reason is more specific than the errno. */
	if (r < 0 && err && !err->text[0])
		composer_end(m->composer, NULL, err);
	return not_asked_for(r);
}

int merge_end(struct merge *m, uint64_t time_ns, struct snapshot_sums *ret_sums,
	      struct err_text *err)
{
	Heapcast__End end = HEAPCAST__END__INIT;
	int r;

	end.time_ns = time_ns;
	end.kind = HEAPCAST__END_KIND__END_DETACHED;
	r = composer_end(m->composer, &end, err);
	if (!r && ret_sums)
		*ret_sums = (struct snapshot_sums){.events = composer_events(m->composer),
						   .batches = composer_batches(m->composer),
						   .last_ns = composer_last_ns(m->composer),
						   .in_use_bytes = m->bytes,
						   .in_use_blocks = (uint64_t)(m->blocks + 0.5)};
	return not_asked_for(r);
}
