#pragma once
/*
 * The rules by which `collector analyze` judges frames: frames that only pass an allocation on
 * (noise), frames that only lead to the work (outer), frames that grow a block, and the subsystem
 * that a stack belongs to. Rules are text, one rule per line:
 *
 *	# a comment
 *	use allocators               insert the rules of that file first: a shipped file, or a file
 *				     beside this one
 *	noise *operator new*         a frame that only passes the allocation on
 *	outer start_thread*          a frame that only leads to where the work begins
 *	grows *realloc*              a frame that shows that a block was grown
 *	subsystem Dictionaries       a part of the program; the indented lines below are its
 *				     patterns
 *		*HashedDictionary*
 *
 * A pattern is compared with the whole frame as it stands in the stack. `*` at the beginning of the
 * pattern, at its end, or at both matches anything. A stack belongs to the first subsystem in the
 * rules that any of its frames fits. Rules therefore list the purpose of the work (a merge, a
 * query) before what serves it (an arena, a buffer). An outer frame does not decide the subsystem.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;
struct rules;

#define RULES_NO_SUBSYSTEM UINT32_MAX
#define RULES_DEFAULT	   "general"

/* What the rules say about a frame. */
struct rules_verdict {
	uint32_t subsystem; /* the first matching subsystem, from 0; RULES_NO_SUBSYSTEM: none */
	bool noise, outer, grows;
};

/*
 * Reads rules. `name` is a path (it contains a '/', or a file of that name exists), or the name of
 * shipped rules, which lie in share/heapcast/rules beside the program's folder. Returns 0; -ENOENT
 * or -EINVAL, with an error text that names file and line or lists the available rules; or -E2BIG.
 */
int rules_read(const char *name, struct rules **ret_rules, struct err_text *err);
void rules_free(struct rules *rules);
struct rules_verdict rules_judge(const struct rules *rules, const char *frame);
/* Returns the name that was passed to rules_read. */
const char *rules_name(const struct rules *rules);
uint32_t rules_subsystems(const struct rules *rules);
/* Returns the subsystem's name, or NULL if there is no such subsystem. */
const char *rules_subsystem(const struct rules *rules, uint32_t number);
