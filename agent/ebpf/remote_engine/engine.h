#pragma once
/*
 * Adapts the engine of agent/unwind to other processes. Every file of that build includes it first.
 * It renames the engine's functions, so that a program can contain both variants, and redirects
 * reads of a stack to remote_process_load.
 */
#include "agent/unwind/arch/arch.h"

uint64_t remote_process_load(uint64_t address);

#define arch_load	       remote_process_load
#define cfi_decode	       remote_process_cfi_decode
#define eh_frame_find	       remote_process_eh_frame_find
#define eh_pointer	       remote_process_eh_pointer
#define eh_reader	       remote_process_eh_reader
#define expression_value       remote_process_expression_value
#define framed_clear	       remote_process_framed_clear
#define framed_find	       remote_process_framed_find
#define jit_find	       remote_process_jit_find
#define region_find	       remote_process_region_find
#define registers_apply	       remote_process_registers_apply
#define registers_walk	       remote_process_registers_walk
#define row_compile	       remote_process_row_compile
#define rows_decode	       remote_process_rows_decode
#define rows_interrupted       remote_process_rows_interrupted
#define rows_module	       remote_process_rows_module
#define rows_readable	       remote_process_rows_readable
#define rows_scan	       remote_process_rows_scan
#define rows_state_changed     remote_process_rows_state_changed
#define rows_state_word	       remote_process_rows_state_word
#define sink_finish	       remote_process_sink_finish
#define sink_push	       remote_process_sink_push
#define stack_read	       remote_process_stack_read
#define step_special	       remote_process_step_special
#define unwind_host	       remote_process_unwind_host
#define unwind_module_unknown  remote_process_unwind_module_unknown
#define unwind_modules_changed remote_process_unwind_modules_changed
#define unwind_resume_cache    remote_process_unwind_resume_cache
#define unwind_suspend_cache   remote_process_unwind_suspend_cache
#define walk_interrupted       remote_process_walk_interrupted
#define walk_reach	       remote_process_walk_reach
#define walk_whole	       remote_process_walk_whole

/* The caches of rows.c are not used: rows are stored with their modules
 * (agent/ebpf/remote_process.c). */
#ifndef rows_miss
#define rows_miss remote_process_rows_miss
#endif
