#pragma once
/* Single steps from frames written by hand, with a page of code whose addresses they may find. */
#include "tests/unit/unwind/byhand.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "tests/unit/unwind/hex.h"

#define SP	   520 /* the word to which sp points: in the second page of the stack */
#define PAGE_WORDS 512
#define BY_RECORD  row_special(ROW_FRAME_POINTER, RECORD_IN_MODULE)
#define UNTOLD	   row_special(ROW_FRAME_POINTER, 0)
#define JUST_CODE  (CODE + 7) /* in no module */

/* One page of code that may be read, which begins at code; and the head of its file. */
static uint8_t *code;
static uint8_t head[64];
static struct unwind_module module;
static uint64_t behind_call, behind_none, pops, restorer;

static inline const struct unwind_module *module_of(uint64_t pc)
{
	return pc >= module.start && pc < module.end ? &module : NULL;
}

static inline int begin_code(void **state)
{
	begin(state);
	if (!code) {
		code = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(code, MAP_FAILED);
		code += 4096;
		assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_WRITE), 0);
	}
	memset(code, 0xcc, 4096);
	memset(head, 0, sizeof(head));
	module = (struct unwind_module){.start = (uintptr_t)code,
					.end = (uintptr_t)code + 4096,
					.load_start = (uintptr_t)head,
					.load_end = (uintptr_t)head + sizeof(head)};
	given.find_module = module_of;
	behind_call = module.start + 256 + bytes_of("ff d0", code + 256);
	behind_none = module.start + 320;
	pops = module.start + 512;
	bytes_of("5d c3", code + 512);
	restorer = module.start + 1024;
	bytes_of("48 c7 c0 0f 00 00 00 0f 05", code + 1024);
	return 0;
}

static struct frame made;

static inline enum step step_of(const struct frame *frame)
{
	struct walk w = {.thread = thread};

	made = (struct frame){.pc = 1};
	walk_enter(&w, frame->sp);
	return step_special(&w, frame, &made);
}

static inline enum step step_by(uint32_t row, uint64_t sp, uint64_t fp)
{
	struct frame frame = {.pc = JUST_CODE, .sp = sp, .fp = fp, .row = row};

	return step_of(&frame);
}

static inline void expect_made(uint64_t pc, uint64_t sp, uint64_t fp, unsigned flags)
{
	assert_int_equal(made.pc, pc);
	assert_int_equal(made.sp, sp);
	assert_int_equal(made.fp, fp);
	assert_int_equal(made.flags, flags);
}

#define expect_step(row, sp, fp)   assert_int_equal(step_by(row, sp, fp), STEP_FRAME)
#define expect_end(row, sp, fp)	   assert_int_equal(step_by(row, sp, fp), STEP_END)
#define expect_broken(row, sp, fp) assert_int_equal(step_by(row, sp, fp), STEP_BROKEN)

static inline void stack_unknown(void)
{
	given.known = false;
	memset(thread->regions, 0, sizeof(thread->regions));
}

static inline void stack_ends_at(uint64_t high)
{
	given.high = high;
	memset(thread->regions, 0, sizeof(thread->regions));
}
