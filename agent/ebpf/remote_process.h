#pragma once
/*
 * Runs the engine of agent/unwind on another process: provides the data that it reads, and collects
 * the rows that it uses. The agent runs one walk at a time. The engine reads the process's memory
 * through functions without a context, so the current walk is a variable of remote_process.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/ebpf/image.h"
#include "agent/unwind/unwind.h"

/* A module of a process. The engine gets `unwind`, with addresses of the process. It is the first
 * member, so that remote_process.c can find the module from it. */
struct remote_process_module {
	struct unwind_module unwind;
	struct image *image;
};

/* A row that the engine asked for. */
struct remote_process_row {
	uint64_t pc;
	uint32_t row;
	bool accepted; /* a return address: a call precedes it, or the row ends the stack */
};

#define THERE_ROWS 1024

struct remote_process {
	pid_t pid;
	void *context;
	const struct remote_process_module *(*find_module)(void *context, uint64_t pc);
	int (*stack_bounds)(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high);
	/* The copy of the stack. */
	uint64_t address;
	const uint8_t *copy;
	size_t size;
	/* The state of this walk. */
	bool unreadable; /* a required read has failed */
	uint64_t decoded;
	struct remote_process_row rows[THERE_ROWS];
	uint32_t row_count;
};

/* Walks the stack in full, as unwind_capture_full does in its own process. `ret_delta->pcs` are
 * valid until the next walk. */
void remote_process_walk(struct remote_process *process, struct unwind_thread *thread,
			 const struct unwind_regs *regs, struct unwind_delta *ret_delta);
