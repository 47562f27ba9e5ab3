/* Implements the engine's reads from another process. See remote_process.h. This file is compiled
 * like the engine (remote_engine/engine.h). */
#include "agent/ebpf/remote_process.h"

#include <string.h>

#include "agent/unwind/jit.h"
#include "agent/unwind/rows.h"
#include "agent/unwind/walk.h"
#include "memory.h"

#define CODE_AROUND (1u << 20)
#define ACCEPTED    (1ull << 32)
/* The most rows of an image. Programs that make up return addresses would need any number. */
#define ROWS_MAX (1u << 18)

static struct remote_process *now;

/* Reads only the copy. The process has run on since, so its stack may hold other frames now. */
uint64_t remote_process_load(uint64_t address)
{
	uint64_t value;

	if (address < now->address || now->size < sizeof(value) ||
	    address - now->address > now->size - sizeof(value)) {
		now->unreadable = true;
		return 0;
	}
	memcpy(&value, now->copy + (address - now->address), sizeof(value));
	return value;
}

static struct image *image_of(const struct unwind_module *module)
{
	return ((const struct remote_process_module *)(const void *)module)->image;
}

const uint8_t *module_memory(const struct unwind_module *module, uint64_t offset, uint64_t *length)
{
	static const uint8_t nothing[1];
	const uint8_t *memory = image_memory(image_of(module), offset, length);

	if (memory)
		return memory;
	*length = 0;
	return nothing;
}

const uint8_t *module_bytes(const struct unwind_module *module, uint64_t offset, uint64_t length)
{
	return image_bytes(image_of(module), offset, length);
}

const uint8_t *module_code(const struct unwind_module *module, uint64_t address, uint64_t *length)
{
	uint64_t offset = address - module->load_start, end = offset + *length;
	const uint8_t *memory;

	if (end < offset)
		return NULL;
	memory = image_memory(image_of(module), offset, &end);
	if (!memory || end <= offset)
		return NULL;
	*length = end - offset;
	return memory + offset;
}

bool module_code_around(const struct unwind_module *module, uint64_t pc, struct arch_code *ret)
{
	uint64_t from = pc - module->start > CODE_AROUND ? pc - CODE_AROUND : module->start;
	uint64_t to = module->end - pc > CODE_AROUND ? pc + CODE_AROUND : module->end;
	const uint8_t *code = image_bytes(image_of(module), from - module->load_start, to - from);

	if (!code)
		return false;
	*ret = (struct arch_code){.begin = code, .end = code + (to - from), .address = from};
	return true;
}

const uint8_t *code_before(uint64_t pc, uint64_t length)
{
	const struct remote_process_module *module = now->find_module(now->context, pc - 1);

	if (!module || pc - length < module->unwind.load_start)
		return NULL;
	return image_bytes(module->image, pc - length - module->unwind.load_start, length);
}

/* Tables that a program registers at run time are not searched for in another process's memory. */
bool jit_find(uint64_t pc, struct unwind_module *ret_module)
{
	(void)pc;
	(void)ret_module;
	return false;
}

static const struct unwind_module *find_module(void *context, uint64_t pc)
{
	const struct remote_process_module *module = now->find_module(now->context, pc);

	(void)context;
	return module ? &module->unwind : NULL;
}

static int remote_process_stack_bounds(void *context, uint64_t sp, uint64_t *ret_low,
				       uint64_t *ret_high)
{
	(void)context;
	return now->stack_bounds ? now->stack_bounds(now->context, sp, ret_low, ret_high) : 0;
}

/* Returns an end that is far away, because each word is checked when it is read. */
static uint64_t readable(uint64_t from, uint64_t to)
{
	(void)to;
	return from + (64u << 20);
}

static const struct unwind_host remote_process_host = {
	.find_module = find_module,
	.stack_bounds = remote_process_stack_bounds,
	.readable = readable,
	.reads_checked = true,
};

static bool is_accepted(const struct remote_process_module *module, uint64_t pc, uint32_t row)
{
	uint64_t offset = pc - module->unwind.load_start, length = offset < 16 ? offset : 16;
	const uint8_t *code;

	if (row_is(row, ROW_END) || row_is(row, ROW_SIGNAL))
		return true;
	code = image_bytes(module->image, offset - length, length);
	return code && arch_is_behind_call(code, length);
}

static void remote_process_note(uint64_t pc, uint32_t row, bool accepted)
{
	if (now->row_count < THERE_ROWS)
		now->rows[now->row_count++] = (struct remote_process_row){pc, row, accepted};
}

/* Keeps a module's rows with its image, for all processes that map it. Rows of code outside of
 * modules are not kept. */
uint32_t rows_miss(struct unwind_thread *thread, uint64_t pc)
{
	const struct remote_process_module *module =
		pc ? now->find_module(now->context, pc - 1) : NULL;
	uint64_t offset = module ? pc - module->unwind.load_start : 0, *known = NULL;
	uint32_t row;
	bool accepted;

	(void)thread;
	if (module)
		known = map_get(&module->image->rows, offset);
	if (known) {
		remote_process_note(pc, (uint32_t)*known, *known & ACCEPTED);
		return (uint32_t)*known;
	}
	now->decoded++;
	row = rows_decode(pc);
	accepted = module ? is_accepted(module, pc, row) : !row_is(row, ROW_BAD);
	if (module && !row_is(row, ROW_BAD)) {
		if (module->image->rows.count >= ROWS_MAX)
			map_clear(&module->image->rows);
		known = map_put(&module->image->rows, offset, &(bool){false});
		if (known)
			*known = row | (accepted ? ACCEPTED : 0);
	}
	remote_process_note(pc, row, accepted);
	return row;
}

void remote_process_walk(struct remote_process *process, struct unwind_thread *thread,
			 const struct unwind_regs *regs, struct unwind_delta *ret_delta)
{
	now = process;
	unwind_host = &remote_process_host;
	process->unreadable = false;
	process->row_count = 0;
	thread->count = 0;
	thread->emitted = 0;
	memset(thread->regions, 0, sizeof(thread->regions));
	walk_whole(thread, regs, UNWIND_MAX_DEPTH, ret_delta);
	if (process->unreadable)
		ret_delta->flags |= UNWIND_TRUNCATED;
	now = NULL;
}
