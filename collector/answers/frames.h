#pragma once
/* Frames, backtraces and threads of a recording: rows of an answer (answer.h), and their writers.
 * The rows need a context with a view. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/answers/answer.h"

struct err_text;

extern const struct answer frame_answer;

/* The context of all rows about this recording; a page of it is all. */
struct answer_context frames_context(struct view *view, struct err_text *err);

answer_writer frames_write_backtrace, frames_write_addresses, frames_write_thread;
/* `member` (uint32_t): the node of a backtrace. With .when = SOMETIMES it is left out without
 * one. */
#define ROW_BACKTRACE(label, member, text, ...)                                                    \
	ROW_WRITTEN(label, ANSWER_OBJECT, NULL, text, frames_write_backtrace,                      \
		    .at = offsetof(ANSWER_OF, member), .shape = ANSWER_LIST, .of = &frame_answer,  \
		    ##__VA_ARGS__)
/* The same as return addresses. */
#define ROW_ADDRESSES(label, member, text)                                                         \
	ROW_WRITTEN(label, ANSWER_TEXT, "address", text, frames_write_addresses,                   \
		    .at = offsetof(ANSWER_OF, member), .shape = ANSWER_LIST)
/* `member` (uint32_t): the number of a thread; its tid is written. */
#define ROW_THREAD(label, member, text)                                                            \
	ROW_WRITTEN(label, ANSWER_U32, "tid", text, frames_write_thread,                           \
		    .at = offsetof(ANSWER_OF, member))
/* The backtrace of a call, if it is known. */
#define ROWS_OF_CALL(member)                                                                       \
	ROW("backtrace_id", member, "id", "", .when = IF_SET),                                     \
		ROW_BACKTRACE("backtrace", member, "the outermost frame first", .when = SOMETIMES)

/* Writes one frame of a backtrace (view_frame). */
int json_frame(struct json *json, const char *key, struct view *view, uint32_t node, uint32_t index,
	       struct err_text *err);
/* Writes an array of frames, outermost first, inlined frames included; `strip`: without template
 * arguments. */
int json_backtrace(struct json *json, const char *key, struct view *view, uint32_t node, bool strip,
		   struct err_text *err);
