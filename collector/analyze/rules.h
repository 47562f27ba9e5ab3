#pragma once
/*
 * Rules by which `collector analyze` judges frames: which only pass an allocation on (noise), which
 * only lead to the work (outer), which grow a block, and which part of a program a stack belongs
 * to. Text, a rule a line:
 *
 *	# a comment
 *	use allocators               first what that file says: one that is shipped, or one beside
 *				     this one
 *	noise *operator new*         a frame that only passes the allocation on
 *	outer start_thread*          a frame that only leads to where the work begins
 *	grows *realloc*              a frame that says that a block was made larger
 *	subsystem Dictionaries       a part of the program; the lines behind it, set in, are its
 *				     patterns
 *		*HashedDictionary*
 *
 * A pattern is compared with the whole frame, as it stands in the stack; `*` at its beginning, at
 * its end, or at both stands for anything. A stack belongs to the subsystem, among those that any
 * of its frames fits, that stands first in the rules: what is asked for (a merge, a query) comes
 * before what serves it (an arena, a buffer). A frame that only leads to the work decides nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;
struct rules;

#define RULES_NO_SUBSYSTEM UINT32_MAX
#define RULES_DEFAULT	   "general"

/* What the rules say of one frame. */
struct rules_verdict {
	uint32_t subsystem; /* the first one that it fits, from 0; RULES_NO_SUBSYSTEM: none */
	bool noise, outer, grows;
};

/*
 * `name` is a path (it holds a '/', or there is such a file), or the name of rules that are
 * shipped: they lie in share/heapcast/rules beside the program's folder. -ENOENT, -EINVAL: the
 * sentence names file and line, or what there is. -E2BIG.
 */
int rules_read(const char *name, struct rules **ret_rules, struct err_text *err);
void rules_free(struct rules *rules);
struct rules_verdict rules_judge(const struct rules *rules, const char *frame);
/* As it was asked for. */
const char *rules_name(const struct rules *rules);
uint32_t rules_subsystems(const struct rules *rules);
const char *rules_subsystem(const struct rules *rules, uint32_t number); /* NULL: no such */
