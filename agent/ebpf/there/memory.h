#pragma once
/* Tables and code of the modules of another process, out of their images: see
 * agent/unwind/here/memory.h, whose place this takes, and agent/ebpf/there.c. */
#include "agent/unwind/arch/arch.h"
#include "agent/unwind/unwind.h"

const uint8_t *module_memory(const struct unwind_module *module, uint64_t offset, uint64_t *length);
const uint8_t *module_bytes(const struct unwind_module *module, uint64_t offset, uint64_t length);
const uint8_t *module_code(const struct unwind_module *module, uint64_t address, uint64_t *length);
bool module_code_around(const struct unwind_module *module, uint64_t pc, struct arch_code *ret);
const uint8_t *code_before(uint64_t pc, uint64_t length);
