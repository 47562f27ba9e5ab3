#pragma once
/*
 * The instructions that patch.c writes on x86-64.
 */
#include <cpuid.h>
#include <stdint.h>
#include <string.h>

/* A jump with a 32-bit distance, e9, and the distance that it certainly reaches. */
#define PATCH_JUMP_BYTES 5
#define PATCH_REACH	 0x70000000u

static inline void patch_put_jump(uint8_t *to, uintptr_t at, uintptr_t target)
{
	uint32_t distance = (uint32_t)(target - (at + PATCH_JUMP_BYTES));

	to[0] = 0xe9;
	memcpy(to + 1, &distance, sizeof(distance));
}

/* push %rbp; mov $number, %ebp; jmp *0(%rip), followed by the target's address (patch_entry.c). */
#define PATCH_HOOK_BYTES 24

void patch_entry(void);

static inline void patch_put_hook(uint8_t *to, uint32_t number)
{
	static const uint8_t jump[6] = {0xff, 0x25};
	uintptr_t target = (uintptr_t)patch_entry;

	to[0] = 0x55;
	to[1] = 0xbd;
	memcpy(to + 2, &number, sizeof(number));
	memcpy(to + 6, jump, sizeof(jump));
	memcpy(to + 12, &target, sizeof(target));
}

/* Makes the processor execute the code that was just written as data (AMD64 APM 2, 7.6.1:
 * self-modifying code). */
static inline void patch_code_changed(void)
{
	unsigned a, b, c, d;

	__cpuid(0, a, b, c, d);
}
