/* What a fleet has in use, as JSON. See fleet_top.h. */
#include "collector/answers/fleet_top.h"

#include <inttypes.h>
#include <stdio.h>

#include "collector/answers/answer.h"
#include "collector/answers/fleet.h"
#include "collector/answers/json.h"

#include "base/ban.h"

const char *const fleet_top_words[FLEET_TOP_BYS + 1] = {
	[FLEET_TOP_FUNCTION] = "function",
	[FLEET_TOP_SITE] = "site",
	[FLEET_TOP_BACKTRACE] = "backtrace",
	[FLEET_TOP_BYS] = NULL,
};

/* 64 bits are more than a number in JSON keeps everywhere, so it is a text. */
static int write_backtrace(struct json *json, const struct answer_field *field, const void *object,
			   const struct answer_context *context)
{
	const struct fleet_top_row *row = object;
	char digits[17];

	(void)context;
	if (!row->backtrace)
		return 0;
	snprintf(digits, sizeof(digits), "%016" PRIx64, row->backtrace);
	json_string(json, field->name, digits);
	return 0;
}

#define ANSWER_OF struct fleet_top_row
static const struct answer_field row_fields[] = {
	ROW("function", function, NULL, "null: unknown", .may_be_null = true),
	ROW("module", module, NULL,
	    "name of the program or library, without folders; null: unknown", .may_be_null = true),
	ROW("file", file, NULL, "of the call site", .when = IF_SET),
	ROW("line", line, NULL, "of the call site", .when = IF_SET),
	ROW_WRITTEN("backtrace", ANSWER_TEXT, NULL,
		    "by backtrace: its number, which is the same in all recordings",
		    write_backtrace, .when = SOMETIMES),
	ROW("bytes", bytes, "bytes", "in use; estimated if sampled"),
	ROW("bytes_error", bytes_error, "bytes", "half of the 95 % interval", .when = IF_SET),
	ROW("blocks", blocks, "blocks", "in use; estimated if sampled"),
	ROW("share", share, NULL, "of all bytes in use, in thousandths"),
	ROW("backtraces", backtraces, NULL, "different ones that have something in use"),
	{0},
};
#undef ANSWER_OF
static const struct answer row_answer = {"fleet_top_row", row_fields};

#define ANSWER_OF struct fleet_top
static const struct answer_field top_fields[] = {
	BY_HAND("note", ANSWER_TEXT, NULL, "why there is nothing to tell", .when = SOMETIMES),
	ROW("at_ns", at_ns, "ns since the epoch", "the moment: the beginning of a minute"),
	ROW_AS("by", by, ANSWER_WORD, NULL, "what a row is", .words = fleet_top_words),
	ROW("streams", streams, NULL, "that were recorded at that moment"),
	ROW("unread", unread, NULL, "streams that could not be read"),
	ROW("unread_why", unread_why, NULL, "of the first of them", .when = IF_SET),
	ROW_LIST("left_out", left_out.list, left_out.count, fleet_left_out_answer,
		 "boards whose clocks are wrong, by host"),
	ROW("bytes", bytes, "bytes", "in use on all boards"),
	ROW("bytes_error", bytes_error, "bytes", "half of the 95 % interval", .when = IF_SET),
	ROW("blocks", blocks, "blocks", "in use on all boards"),
	ROW("backtraces", backtraces, NULL, "different ones that have something in use"),
	ROW("groups", groups, NULL, "how many rows there would be"),
	ROW_LIST("rows", rows, row_count, row_answer, "most bytes first"),
	{0},
};
#undef ANSWER_OF
const struct answer fleet_top_answer = {"fleet_top", top_fields};

int json_fleet_top(struct json *json, const struct fleet_top *top)
{
	return json_members(json, &fleet_top_answer, top, &(struct answer_context){0});
}
