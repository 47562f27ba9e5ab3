#pragma once
/*
 * Access to the tables and code of modules for an engine that unwinds its own process, where they
 * are in memory. For other processes the agent has another header of this name
 * (agent/ebpf/remote_engine/memory.h); CMake selects one. Offsets are relative to the module's
 * load_start. The functions return NULL if the memory cannot be read.
 */
#include "agent/unwind/arch/arch.h"
#include "agent/unwind/unwind.h"

/* Returns the module's memory, of which [offset, *length) is readable; may lower *length. */
static inline const uint8_t *module_memory(const struct unwind_module *module, uint64_t offset,
					   uint64_t *length)
{
	(void)offset;
	(void)length;
	return (const uint8_t *)(uintptr_t)module->load_start;
}

/* Returns `length` bytes at an offset. */
static inline const uint8_t *module_bytes(const struct unwind_module *module, uint64_t offset,
					  uint64_t length)
{
	uint64_t size = module->load_end - module->load_start;

	if (offset > size || length > size - offset ||
	    (!offset && module->unreadable & UNWIND_HEAD_UNREADABLE))
		return NULL;
	return (const uint8_t *)(uintptr_t)(module->load_start + offset);
}

/* Returns code at `address`, which lies in the module; may lower *length. */
static inline const uint8_t *module_code(const struct unwind_module *module, uint64_t address,
					 uint64_t *length)
{
	(void)length;
	return module->unreadable & UNWIND_CODE_UNREADABLE ? NULL
							   : (const uint8_t *)(uintptr_t)address;
}

/* Returns all code of the module, or the code near `pc`. */
static inline bool module_code_around(const struct unwind_module *module, uint64_t pc,
				      struct arch_code *ret)
{
	(void)pc;
	*ret = (struct arch_code){.begin = (const uint8_t *)(uintptr_t)module->start,
				  .end = (const uint8_t *)(uintptr_t)module->end,
				  .address = module->start};
	return !(module->unreadable & UNWIND_CODE_UNREADABLE);
}

/* Returns the `length` bytes before `pc`, which lies in a module. */
static inline const uint8_t *code_before(uint64_t pc, uint64_t length)
{
	return (const uint8_t *)(uintptr_t)(pc - length);
}
