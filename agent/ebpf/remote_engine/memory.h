#pragma once
/* Reads tables and code of another process's modules from their images. It replaces
 * agent/unwind/own_engine/memory.h, which documents the functions; agent/ebpf/remote_process.c
 * implements them. */
#include "agent/unwind/arch/arch.h"
#include "agent/unwind/unwind.h"

const uint8_t *module_memory(const struct unwind_module *module, uint64_t offset, uint64_t *length);
const uint8_t *module_bytes(const struct unwind_module *module, uint64_t offset, uint64_t length);
const uint8_t *module_code(const struct unwind_module *module, uint64_t address, uint64_t *length);
bool module_code_around(const struct unwind_module *module, uint64_t pc, struct arch_code *ret);
const uint8_t *code_before(uint64_t pc, uint64_t length);
