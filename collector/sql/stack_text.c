/* Formats backtraces. See stack_text.h. */
#include "collector/sql/stack_text.h"

#include <string.h>

#include "collector/recording/recording.h"
#include "collector/sql/state.h"
#include "proto/stack_columns.h"

#include "base/ban.h"

/* A text that grows from its end, because the walk starts at the innermost frame. */
struct backwards {
	char *at, *start;
	bool full;
};

static void put_before(struct backwards *b, const char *text)
{
	size_t length = strlen(text);

	if (b->full || (size_t)(b->at - b->start) < length + 8) {
		b->full = true;
		return;
	}
	b->at -= length;
	memcpy(b->at, text, length);
}

void stack_text_result(struct sql *sql, uint32_t stack, const char *separator, sqlite3_context *out)
{
	char *room = sqlite3_malloc(STACK_TEXT_MAX);
	struct backwards b = {room + STACK_TEXT_MAX, room, false};

	if (!room) {
		sqlite3_result_error_nomem(out);
		return;
	}
	for (uint32_t node = stack; node && !b.full;) {
		const struct stack_node *n = recording_node(sql->recording, node);

		for (uint32_t i = 0; i < view_frame_count(sql->view, node); i++) {
			if (b.at != room + STACK_TEXT_MAX)
				put_before(&b, separator);
			put_before(&b, view_frame_name(sql->view, node, i));
		}
		node = n && n->parent < node ? n->parent : 0;
	}
	if (b.full) {
		b.at -= 3;
		memcpy(b.at, "...", 3);
	}
	sqlite3_result_text(out, b.at, (int)(room + STACK_TEXT_MAX - b.at), SQLITE_TRANSIENT);
	sqlite3_free(room);
}
