/* Unwinds stacks of other processes. See remote.h. */
#include "agent/ebpf/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/ebpf/images.h"
#include "agent/ebpf/kernel_rows.h"
#include "agent/ebpf/maps.h"
#include "agent/ebpf/remote_process.h"
#include "agent/unwind/row.h"
#include "base/array.h"

#define IMAGE_BYTES (64u << 20)
/* A program counter in unknown code triggers a look at the maps only if this many durations of the
 * last look have passed since. So looking takes at most a hundredth of the time. */
#define LOOK_PAUSE 100

struct range {
	uint64_t start;
	uint64_t end;
	bool executable;
};

struct remotes {
	struct kernel_rows kernel;
	struct images images;
	struct unwind_thread *thread;
	struct remotes_counters counters;
};

struct remote {
	struct remotes *all;
	struct kernel_part part;
	struct remote_process process;
	struct remote_process_module *modules; /* sorted by address */
	uint32_t module_count;
	uint32_t module_capacity;
	struct range *ranges; /* mapped ranges, sorted by address */
	uint32_t range_count;
	uint32_t range_capacity;
	uint64_t looked_ns; /* CLOCK_MONOTONIC at the end of the last look */
	uint64_t look_took_ns;
	bool stale; /* look before the next walk */
};

int remotes_new(const struct remotes_options *options, struct remotes **ret, struct err_text *error)
{
	struct remotes *all = calloc(1, sizeof(*all));
	void *memory = mmap(NULL, UNWIND_THREAD_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int result = -ENOMEM;

	if (all && memory != MAP_FAILED)
		result = kernel_rows_open(&all->kernel, options->rows_fd, options->spaces_fd,
					  options->lines, options->spaces, error);
	if (result) {
		if (memory != MAP_FAILED)
			munmap(memory, UNWIND_THREAD_SIZE);
		free(all);
		return result;
	}
	all->thread = unwind_thread_init(memory);
	all->images.bytes_max = options->image_bytes ? options->image_bytes : IMAGE_BYTES;
	*ret = all;
	return 0;
}

void remotes_free(struct remotes *all)
{
	if (!all)
		return;
	images_done(&all->images);
	kernel_rows_close(&all->kernel);
	munmap(all->thread, UNWIND_THREAD_SIZE);
	free(all);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const struct remote_process_module *module_at(const struct remote *r, uint64_t pc)
{
	uint32_t low = 0, high = r->module_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (r->modules[middle].unwind.end <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->module_count && pc >= r->modules[low].unwind.start ? &r->modules[low]
									   : NULL;
}

static void forget_modules(struct remote *r)
{
	for (uint32_t i = 0; i < r->module_count; i++)
		images_put(&r->all->images, r->modules[i].image);
	r->module_count = 0;
	r->range_count = 0;
}

/* Limits an address to the image's range, because with large pages the mapping is larger than the
 * image. */
static uint64_t within(const struct image *image, uint64_t bias, uint64_t address)
{
	uint64_t low = bias + image->load_start, high = bias + image->load_end;

	return address < low ? low : address > high ? high : address;
}

/* Adds the module of `map`, an executable mapping of a file. `base` is the lowest mapping of this
 * file in the current run of mappings. */
static void add_module(struct remote *r, const struct process_map *map, uint64_t base)
{
	struct remote_process_module *last =
		r->module_count ? &r->modules[r->module_count - 1] : NULL;
	struct image *image = images_get(&r->all->images, r->process.pid, map, base);
	struct remote_process_module *module;
	uint64_t bias;

	if (!image)
		return;
	if (!elf_load_bias(image->code, image->code_count, map->start, map->end, map->offset,
			   &bias))
		goto useless;
	if (last && last->image == image && last->unwind.bias == bias) {
		last->unwind.end = within(image, bias, map->end);
		goto useless; /* a second executable segment */
	}
	if (array_reserve(&r->modules, &r->module_capacity, r->module_count + 1, sizeof(*module)))
		goto useless;
	module = &r->modules[r->module_count++];
	*module = (struct remote_process_module){
		.unwind = {.start = within(image, bias, map->start),
			   .end = within(image, bias, map->end),
			   .bias = bias,
			   .load_start = bias + image->load_start,
			   .load_end = bias + image->load_end},
		.image = image,
	};
	if (image->eh_frame_hdr) {
		module->unwind.eh_frame_hdr = bias + image->eh_frame_hdr;
		module->unwind.eh_frame_hdr_size = image->eh_frame_hdr_size;
	}
	return;
useless:
	images_put(&r->all->images, image);
}

static void add_range(struct remote *r, const struct process_map *map)
{
	if (array_reserve(&r->ranges, &r->range_capacity, r->range_count + 1, sizeof(*r->ranges)))
		return;
	r->ranges[r->range_count++] = (struct range){map->start, map->end, map->executable};
}

static bool same_file(const struct process_map *a, const struct process_map *b)
{
	if (!a->path || !b->path || strcmp(a->path, b->path) != 0)
		return false;
	return a->inode == b->inode && a->device == b->device;
}

static void take_maps(struct remote *r, const struct process_map *maps, uint32_t count)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool file = maps[i].inode || (maps[i].path && !strcmp(maps[i].path, "[vdso]"));

		add_range(r, &maps[i]);
		/* (Anonymous memory may lie between the mappings of one file.) */
		if (maps[i].path && !same_file(&maps[first], &maps[i]))
			first = i;
		if (file && maps[i].executable)
			add_module(r, &maps[i],
				   maps[first].path ? maps[first].start : maps[i].start);
	}
}

/* Inserts the rows that other processes have already decoded for these modules. */
static void insert_known(struct remote *r)
{
	for (uint32_t i = 0; r->part.bits && i < r->module_count; i++) {
		const struct unwind_module *module = &r->modules[i].unwind;

		map_each(&r->modules[i].image->rows, e) if (e->value >> 32)
			kernel_part_insert(&r->all->kernel, &r->part,
					   key_of(module->load_start + e->key), (uint32_t)e->value);
	}
}

/* Opens the space: gives the kernel the ranges of code. */
static void say_code(struct remote *r, uint64_t unmapped)
{
	struct walk_code *code = calloc(r->range_count + 1, sizeof(*code));
	uint32_t count = 0;

	for (uint32_t i = 0; code && i < r->range_count; i++)
		if (r->ranges[i].executable)
			code[count++] = (struct walk_code){r->ranges[i].start, r->ranges[i].end};
	if (code)
		kernel_part_say(&r->all->kernel, &r->part, unmapped, code, count);
	free(code);
}

/*
 * Reads the process's maps. The count of unmappings is read before the maps and stored after them,
 * so an unmapping in between leaves the space closed. While the space is closed, all rows are
 * dropped; those of modules that are still mapped come back from the images.
 */
static int look(struct remote *r)
{
	struct kernel_rows *kernel = &r->all->kernel;
	uint64_t unmapped = kernel_part_unmapped(kernel, &r->part), begin = now_ns();
	bool gone = !kernel_part_is_open(kernel, &r->part);
	struct process_map *maps;
	uint32_t count;
	int error = process_maps_read(r->process.pid, &maps, &count);

	r->all->counters.looks++;
	r->stale = false;
	if (!error) {
		struct remote before = *r;

		/* The old modules are released last, so that their images are not evicted. */
		r->modules = NULL;
		r->module_count = r->module_capacity = 0;
		r->range_count = 0;
		take_maps(r, maps, count);
		process_maps_free(maps, count);
		for (uint32_t i = 0; i < before.module_count; i++)
			images_put(&r->all->images, before.modules[i].image);
		free(before.modules);
		if (gone)
			kernel_part_clear(kernel, &r->part);
		insert_known(r);
		say_code(r, unmapped);
	}
	r->looked_ns = now_ns();
	r->look_took_ns = r->looked_ns - begin;
	return error;
}

static const struct range *range_at(const struct remote *r, uint64_t address)
{
	uint32_t low = 0, high = r->range_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (r->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->range_count && address >= r->ranges[low].start ? &r->ranges[low] : NULL;
}

/* Finds the module of `pc`. Does not read the maps, because modules must not move during a walk.
 * Unknown code makes the next walk read them. */
static const struct remote_process_module *find_module(void *context, uint64_t pc)
{
	struct remote *r = context;
	const struct remote_process_module *module = module_at(r, pc);
	const struct range *range = module ? NULL : range_at(r, pc);

	if (!module && (!range || !range->executable))
		r->stale = true;
	return module;
}

static int remote_stack_bounds(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high)
{
	const struct range *range = range_at(context, sp);

	if (!range)
		return 0;
	*ret_low = range->start;
	*ret_high = range->end;
	return 1;
}

int remote_new(struct remotes *all, pid_t pid, struct remote **ret, struct err_text *error)
{
	struct remote *r = calloc(1, sizeof(*r));
	int result;

	if (!r)
		return -ENOMEM;
	r->all = all;
	r->process = (struct remote_process){.pid = pid,
					     .context = r,
					     .find_module = find_module,
					     .stack_bounds = remote_stack_bounds};
	kernel_part_let(&all->kernel, &r->part);
	result = look(r);
	if (result) {
		remote_free(r);
		return err_set(error, result, "cannot read /proc/%d/maps: %s", (int)pid,
			       strerror(-result));
	}
	*ret = r;
	return 0;
}

void remote_free(struct remote *r)
{
	if (!r)
		return;
	kernel_part_end(&r->all->kernel, &r->part);
	forget_modules(r);
	free(r->modules);
	free(r->ranges);
	free(r);
}

uint32_t remote_space(const struct remote *r)
{
	return r->part.space;
}

void remote_changed(struct remote *r)
{
	r->stale = true;
}

void remote_look(struct remote *r, bool news)
{
	if (news || !kernel_part_is_open(&r->all->kernel, &r->part))
		look(r);
}

/* Inserts the rows that the walk has used. A row of code outside of modules is inserted only if the
 * address is mapped executable and the stack was complete. */
static void insert_used(struct remote *r, bool truncated)
{
	for (uint32_t i = 0; i < r->process.row_count; i++) {
		const struct remote_process_row *row = &r->process.rows[i];
		const struct range *range = range_at(r, row->pc - 1);

		if (row->accepted &&
		    (module_at(r, row->pc - 1) || (!truncated && range && range->executable)))
			kernel_part_insert(&r->all->kernel, &r->part, key_of(row->pc), row->row);
	}
}

static void remote_walk(struct remote *r, const struct remote_stack *stack,
			struct unwind_delta *ret)
{
	r->process.address = stack->address;
	r->process.copy = stack->copy;
	r->process.size = stack->size;
	remote_process_walk(&r->process, r->all->thread, &stack->regs, ret);
}

void remote_unwind(struct remote *r, const struct remote_stack *stack, uint64_t *ret_pcs,
		   uint32_t *ret_count, uint32_t *ret_flags)
{
	struct unwind_delta delta;
	bool looked = false;

	if (r->stale || !kernel_part_is_open(&r->all->kernel, &r->part)) {
		look(r);
		looked = true;
	}
	remote_walk(r, stack, &delta);
	if (r->stale && !looked && now_ns() - r->looked_ns >= LOOK_PAUSE * r->look_took_ns) {
		look(r);
		remote_walk(r, stack, &delta);
	}
	r->stale = false;
	insert_used(r, delta.flags & UNWIND_TRUNCATED);
	memcpy(ret_pcs, delta.pcs, delta.count * sizeof(*ret_pcs));
	*ret_count = delta.count;
	*ret_flags = delta.flags;
	r->all->counters.stacks++;
	r->all->counters.truncated += delta.flags & UNWIND_TRUNCATED;
	r->all->counters.decoded += r->process.decoded;
	r->process.decoded = 0;
	images_trim(&r->all->images);
}

void remotes_counters(const struct remotes *all, struct remotes_counters *ret)
{
	*ret = all->counters;
	ret->inserted = all->kernel.inserted;
	ret->turned_away = all->kernel.turned_away;
	ret->image_bytes = images_bytes(&all->images);
	ret->spaces = all->kernel.spaces_in_use;
	ret->lines = all->kernel.blocks_in_use << WALK_BITS_MIN;
}
