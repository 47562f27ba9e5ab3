#pragma once
/* Trees of frames, built by hand from lines: `outer;inner;innermost`, bytes and blocks of the
 * innermost itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/query/query.h"

struct stack {
	const char *frames; /* "module!function;module!function", a module may be left out */
	uint64_t bytes, blocks;
};

static char *tree_text(const char *from, size_t length)
{
	return strndup(from, length);
}

/* The child of that name; made at the end if there is none. */
static uint32_t tree_child(struct tree *tree, uint32_t parent, const char *module,
			   const char *function)
{
	uint32_t *link = &tree->nodes[parent].first_child;
	uint32_t made = (uint32_t)tree->count;

	for (; *link; link = &tree->nodes[*link].next_sibling)
		if (!strcmp(tree->nodes[*link].function, function))
			return *link;
	*link = made;
	tree->nodes = reallocarray(tree->nodes, tree->count + 1, sizeof(*tree->nodes));
	tree->nodes[made] = (struct tree_node){.function = strdup(function),
					       .module = module ? strdup(module) : NULL};
	tree->count++;
	return made;
}

static inline void tree_add(struct tree *tree, const char *frames, uint64_t bytes, uint64_t blocks)
{
	uint32_t node = 0;

	if (!tree->count) {
		tree->nodes = calloc(1, sizeof(*tree->nodes));
		tree->count = 1;
	}
	tree->nodes[0].bytes += bytes;
	tree->nodes[0].blocks += blocks;
	while (*frames) {
		size_t length = strcspn(frames, ";");
		char *frame = tree_text(frames, length), *mark = strchr(frame, '!');

		if (mark)
			*mark = 0;
		node = tree_child(tree, node, mark ? frame : NULL, mark ? mark + 1 : frame);
		tree->nodes[node].bytes += bytes;
		tree->nodes[node].blocks += blocks;
		free(frame);
		frames += length + (frames[length] == ';');
	}
	tree->nodes[node].self_bytes += bytes;
	tree->nodes[node].self_blocks += blocks;
}

static inline void tree_release(struct tree *tree)
{
	for (size_t i = 1; i < tree->count; i++) {
		free((void *)(uintptr_t)tree->nodes[i].function);
		free((void *)(uintptr_t)tree->nodes[i].module);
	}
	free(tree->nodes);
	*tree = (struct tree){0};
}
