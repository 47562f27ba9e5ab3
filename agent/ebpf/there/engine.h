#pragma once
/*
 * Included first wherever the engine of agent/unwind is compiled for other processes. It renames
 * the engine's functions, so that a program can contain both variants, and redirects reads of a
 * stack to there_load.
 */
#include "agent/unwind/arch/arch.h"

uint64_t there_load(uint64_t address);

#define arch_load	       there_load
#define cfi_decode	       there_cfi_decode
#define eh_frame_find	       there_eh_frame_find
#define eh_pointer	       there_eh_pointer
#define eh_reader	       there_eh_reader
#define expression_value       there_expression_value
#define framed_clear	       there_framed_clear
#define framed_find	       there_framed_find
#define jit_find	       there_jit_find
#define region_find	       there_region_find
#define registers_apply	       there_registers_apply
#define registers_walk	       there_registers_walk
#define row_compile	       there_row_compile
#define rows_decode	       there_rows_decode
#define rows_interrupted       there_rows_interrupted
#define rows_module	       there_rows_module
#define rows_readable	       there_rows_readable
#define rows_scan	       there_rows_scan
#define rows_state_changed     there_rows_state_changed
#define rows_state_word	       there_rows_state_word
#define sink_finish	       there_sink_finish
#define sink_push	       there_sink_push
#define stack_read	       there_stack_read
#define step_special	       there_step_special
#define unwind_host	       there_unwind_host
#define unwind_module_unknown  there_unwind_module_unknown
#define unwind_modules_changed there_unwind_modules_changed
#define unwind_resume_cache    there_unwind_resume_cache
#define unwind_suspend_cache   there_unwind_suspend_cache
#define walk_interrupted       there_walk_interrupted
#define walk_reach	       there_walk_reach
#define walk_whole	       there_walk_whole

/* The caches of rows.c are not used: rows are stored with their modules (agent/ebpf/there.c). */
#ifndef rows_miss
#define rows_miss there_rows_miss
#endif
