/* Writes jumps to hooks over the first instructions of functions; see patch.h. This code checks the
 * agent's data for mistakes that could do harm. patch_code.h defines the bytes. */
#include "agent/preload/patch/patch.h"

#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/allocator_functions.h"
#include "agent/preload/allocators/allocators.h"
#include "agent/preload/patch/patch_code.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

#define ROOM  (RING_ENTRIES_MAX * sizeof(struct ring_entry))
#define STEP  (64u << 10) /* distance between two places that are tried */
#define TRIES 64

/*
 * The replacement for a patched function's first instructions, in memory that the function's jump
 * can reach:
 *
 *	| to the hook, with its number | what was moved, and a jump back |
 */
struct patch_slot {
	uint8_t hook[PATCH_HOOK_BYTES];
	uint8_t moved[RING_ENTRY_MOVED];
};
static_assert(sizeof(struct patch_slot) % 8 == 0, "slots are aligned");

struct program {
	uintptr_t bias;
	uintptr_t start; /* of the whole program */
	uintptr_t code;	 /* from the first executable byte to the last */
	uintptr_t code_end;
	int memory; /* /proc/self/mem */
};

struct ring_entry *patch_room(void)
{
	return sys_pages(ROOM);
}

void patch_room_done(struct ring_entry *entry)
{
	if (entry)
		sys_call(SYS_munmap, entry, ROOM);
}

/* Describes the first object, which is the program. Unreadable code is left alone, because it
 * cannot be compared with the code that the agent has read. */
static int visit_program(struct dl_phdr_info *info, size_t size, void *context)
{
	struct program *program = context;
	bool readable = true;

	(void)size;
	program->bias = info->dlpi_addr;
	for (unsigned i = info->dlpi_phnum; i--;) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = program->bias + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		program->start = at; /* segments are in order, visited from the last */
		if (!(p->p_flags & PF_X))
			continue;
		program->code = at;
		if (!program->code_end)
			program->code_end = at + p->p_filesz;
		readable &= (p->p_flags & PF_R) != 0;
	}
	if (!readable)
		program->code_end = program->code;
	return 1;
}

static bool write_code(const struct program *program, uintptr_t at, const void *bytes, size_t size)
{
	return sys_call(SYS_pwrite64, program->memory, bytes, size, at) == (long)size;
}

/* Searches below the program, because the heap grows above it. */
static struct patch_slot *patch_find_place(const struct program *program, size_t size)
{
	uintptr_t at = program->start & ~(uintptr_t)(STEP - 1);

	for (unsigned i = 0; i < TRIES && at > STEP + size; i++) {
		void *got;

		at -= STEP;
		got = sys_map((void *)at, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1);
		if ((uintptr_t)got == at && program->code_end - at < PATCH_REACH)
			return got;
		if (got)
			sys_call(SYS_munmap, got, size);
	}
	return NULL;
}

static bool patch_is_sound(const struct program *program, const struct ring_entry *e)
{
	uintptr_t at = program->bias + e->address;

	return at >= program->code && at < program->code_end &&
	       program->code_end - at >= e->length && e->length >= PATCH_JUMP_BYTES &&
	       e->length <= RING_ENTRY_WAS &&
	       e->moved_length + PATCH_JUMP_BYTES <= RING_ENTRY_MOVED &&
	       e->function < ALLOCATOR_FUNCTIONS && !memcmp((const void *)at, e->was, e->length);
}

/* Fills in the moved instructions, which come from `at`. */
static bool fill_moved(struct patch_slot *slot, const struct ring_entry *e, uintptr_t at,
		       uintptr_t place)
{
	memcpy(slot->moved, e->moved, e->moved_length);
	for (unsigned i = 0; i < sizeof(e->fix); i++) {
		int32_t distance;
		uint8_t *where = slot->moved + e->fix[i] - 1;

		if (!e->fix[i])
			continue;
		if (e->fix[i] + 3 > e->moved_length)
			return false;
		memcpy(&distance, where, sizeof(distance));
		if (__builtin_add_overflow((int64_t)(at - place), distance, &distance))
			return false;
		memcpy(where, &distance, sizeof(distance));
	}
	patch_put_jump(slot->moved + e->moved_length, place + e->moved_length, at + e->length);
	return true;
}

/* Writes the slot completely before it writes the jump that leads to it. */
static bool patch_one(const struct program *program, const struct ring_entry *e,
		      struct patch_slot *place)
{
	uintptr_t at = program->bias + e->address, moved = (uintptr_t)place->moved;
	struct patch_slot slot = {0};
	uint8_t jump[PATCH_JUMP_BYTES];

	if (!patch_is_sound(program, e) || !fill_moved(&slot, e, at, moved))
		return false;
	patch_put_hook(slot.hook, allocators_add_own(e->function, e->heap, at, moved));
	patch_put_jump(jump, at, (uintptr_t)place);
	return write_code(program, (uintptr_t)place, &slot, sizeof(slot)) &&
	       write_code(program, at, jump, sizeof(jump));
}

unsigned patch_apply(const struct ring_entry *entry, unsigned count)
{
	struct program program = {0};
	struct patch_slot *place;
	unsigned done = 0;
	long memory;

	if (!entry || !count)
		return 0;
	dl_iterate_phdr(visit_program, &program);
	memory = sys_call(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (memory < 0)
		return 0;
	program.memory = (int)memory;
	place = patch_find_place(&program, count * sizeof(*place));
	for (unsigned i = 0; place && i < count; i++)
		done += patch_one(&program, &entry[i], &place[i]);
	patch_code_changed();
	sys_call(SYS_close, memory);
	return done;
}
