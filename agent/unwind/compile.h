#pragma once
/* Compiles the rules at an address to a row. */
#include "agent/unwind/cfi.h"
#include "agent/unwind/row.h"

uint32_t row_compile(const struct unwind_module *module, const struct cfi_rules *rules);
