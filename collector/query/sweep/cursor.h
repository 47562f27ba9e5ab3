#pragma once
/* A cursor over the frames of one backtrace, from the innermost outwards, including inlined
 * frames. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/query/match/view.h"
#include "proto/stack_columns.h"
#include "collector/recording/recording.h"

struct cursor {
	uint32_t node;	/* 0: beyond the outermost frame */
	uint32_t index; /* index of the frame within the node's place */
};

/* Returns the number of the frame at the cursor, which must not be beyond the end. */
static inline uint32_t cursor_frame(const struct view *view, struct cursor at)
{
	return view_place(view, at.node)->first_frame + at.index;
}

/* Moves one frame outwards. */
static inline struct cursor cursor_out(const struct view *view, struct cursor at)
{
	const struct stack_node *node;

	if (at.index + 1 < view_place(view, at.node)->frame_count)
		return (struct cursor){at.node, at.index + 1};
	node = recording_node(view->recording, at.node);
	return (struct cursor){node && node->parent < at.node ? node->parent : 0, 0};
}

/* Returns the call site: the innermost frame that is not hidden, or the innermost of all if every
 * frame is. */
static inline struct cursor cursor_at_site(const struct view *view, const struct hiding *hiding,
					   uint32_t node)
{
	struct cursor at = {node, 0};

	for (; at.node; at = cursor_out(view, at))
		if (!hiding_hides(hiding, &view->frames[cursor_frame(view, at)]))
			return at;
	return (struct cursor){node, 0};
}
