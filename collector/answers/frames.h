#pragma once
/* Rows of an answer (answer.h) for frames, backtraces and threads of a recording, and their
 * writers. The rows need a context with a view. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/answers/answer.h"

struct err_text;

extern const struct answer frame_answer;

/* Returns the context for rows about this recording. Its page holds all elements. */
struct answer_context frames_context(struct view *view, struct err_text *err);

answer_writer frames_write_backtrace, frames_write_addresses, frames_write_thread;
/* A row for a backtrace; `member` (uint32_t) is its node. With .when = SOMETIMES the member is left
 * out if there is no backtrace. */
#define ROW_BACKTRACE(label, member, text, ...)                                                    \
	ROW_WRITTEN(label, ANSWER_OBJECT, NULL, text, frames_write_backtrace,                      \
		    .at = offsetof(ANSWER_OF, member), .shape = ANSWER_LIST, .of = &frame_answer,  \
		    ##__VA_ARGS__)
/* The same, written as return addresses. */
#define ROW_ADDRESSES(label, member, text)                                                         \
	ROW_WRITTEN(label, ANSWER_TEXT, "address", text, frames_write_addresses,                   \
		    .at = offsetof(ANSWER_OF, member), .shape = ANSWER_LIST)
/* A row for a thread; `member` (uint32_t) is its number in the recording. Writes its tid. */
#define ROW_THREAD(label, member, text)                                                            \
	ROW_WRITTEN(label, ANSWER_U32, "tid", text, frames_write_thread,                           \
		    .at = offsetof(ANSWER_OF, member))
/* Rows for the backtrace of a call, present if it is known. */
#define ROWS_OF_CALL(member)                                                                       \
	ROW("backtrace_id", member, "id", "", .when = IF_SET),                                     \
		ROW_BACKTRACE("backtrace", member, "the outermost frame first", .when = SOMETIMES)

/* Writes one frame of a backtrace (view_frame). */
int json_frame(struct json *json, const char *key, struct view *view, uint32_t node, uint32_t index,
	       struct err_text *err);
/* Writes an array of frames, outermost first, inlined frames included. `strip` removes template
 * arguments. */
int json_backtrace(struct json *json, const char *key, struct view *view, uint32_t node, bool strip,
		   struct err_text *err);
