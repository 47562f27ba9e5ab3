#pragma once
/*
 * Numbers for backtraces that mean the same in every recording and to every collector: hashes of
 * what they consist of.
 *
 *	frame	build id of the module and offset in it; where that does not name the code (no build
 *		id, code made at run time), its path and its function's name, too
 *	stack	its frames, the innermost first
 *
 * A hash has 64 bits: among ten million backtraces two are equal with a probability of 3e-6.
 */
#include <stdint.h>

struct err_text;
struct view;

struct stack_ids {
	uint64_t *frame, *stack; /* by node; [0]: no backtrace, which is 0 */
	uint32_t count;		 /* highest node */
};

/* Numbers all backtraces of a view, whose names must have been looked up (view_prepare is called by
 * any question). Returns 0 or -ENOMEM; call stack_ids_done in either case. */
int stack_ids_init(struct stack_ids *ids, struct view *view);
void stack_ids_done(struct stack_ids *ids);
static inline uint64_t stack_id_of(const struct stack_ids *ids, uint32_t node)
{
	return node <= ids->count ? ids->stack[node] : 0;
}
