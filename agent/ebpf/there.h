#pragma once
/*
 * The engine of agent/unwind at work on another process: what it reads, and the rows that it has
 * used. One walk at a time in the agent; the engine asks for the process's memory through functions
 * that take no context, so the walk under way is a variable of there.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/ebpf/image.h"
#include "agent/unwind/unwind.h"

/* A module of a process. The engine is given `unwind`, whose addresses are the process's; first, so
 * that it is found back. */
struct there_module {
	struct unwind_module unwind;
	struct image *image;
};

/* A row that was asked for. */
struct there_row {
	uint64_t pc;
	uint32_t row;
	bool accepted; /* a return address: a call stands before it, or it ends the stack */
};

#define THERE_ROWS 1024

struct there {
	pid_t pid;
	void *context;
	const struct there_module *(*find_module)(void *context, uint64_t pc);
	int (*stack_bounds)(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high);
	/* The copy of the stack. */
	uint64_t address;
	const uint8_t *copy;
	size_t size;
	/* Of this walk. */
	bool unreadable; /* something that had to be read could not be */
	uint64_t decoded;
	struct there_row rows[THERE_ROWS];
	uint32_t row_count;
};

/* Walks the stack in full; what unwind_capture_full is where one is at home. `ret_delta->pcs` hold
 * until the next. */
void there_walk(struct there *there, struct unwind_thread *thread, const struct unwind_regs *regs,
		struct unwind_delta *ret_delta);
