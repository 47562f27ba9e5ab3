/* The comparison of a fleet as JSON. See fleet.h. */
#include "collector/answers/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/secure/secret_hmac.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"

#include "base/ban.h"

#define DIGEST_BYTES 32

static const char *const kinds[] = {
	[FLEET_LEAK_ON_BOARDS] = "leak_on_boards",
	[FLEET_GROWTH_IN_BUILD] = "growth_in_build",
	[FLEET_GROWTH] = "growth",
	[FLEET_MORE_IN_BUILD] = "more_in_build",
	[FLEET_MORE_ON_BOARDS] = "more_on_boards",
	[FLEET_KINDS] = NULL,
};

#define ANSWER_OF struct fleet_left_out
static const struct answer_field left_out_fields[] = {
	ROW("host", host, NULL, ""),
	ROW("streams", streams, NULL, "of the board, that are left out"),
	ROW("why", why, NULL, "in a sentence: the clock was not set, or how far it is ahead"),
	{0},
};
#undef ANSWER_OF
const struct answer fleet_left_out_answer = {"fleet_left_out", left_out_fields};

#define ANSWER_OF struct fleet_board
static const struct answer_field board_fields[] = {
	ROW("host", host, NULL, ""),
	ROW("bytes", bytes, "bytes", "how much it has grown, or holds, beyond the others"),
	{0},
};
#undef ANSWER_OF
static const struct answer board_answer = {"fleet_board", board_fields};

#define ROWS_OF_FUNCTION                                                                           \
	ROW("program", program, NULL, ""),                                                         \
		ROW("function", function, NULL, "null: unknown", .may_be_null = true),             \
		ROW("module", module, NULL,                                                        \
		    "name of the program or library, without folders; null: unknown",              \
		    .may_be_null = true)

#define ANSWER_OF struct fleet_finding
static const struct answer_field finding_fields[] = {
	ROW_AS("kind", kind, ANSWER_WORD, NULL, "", .words = kinds),
	ROWS_OF_FUNCTION,
	ROW("build", build, NULL, "build id of the program; null: this is not about a build",
	    .may_be_null = true),
	ROW("earlier_build", earlier, NULL, "the build that it is compared with",
	    .may_be_null = true),
	ROW("since_ns", since_ns, "ns since the epoch",
	    "when it began; 0: before the first moment, or not known"),
	ROW("bytes", bytes, "bytes", "of all its boards together"),
	ROW("median", median, "bytes", "of the median of its boards"),
	ROW("others_median", others_median, "bytes",
	    "of the other boards, or of those with the earlier build"),
	ROW("others_p95", others_p95, "bytes", "95 % of the others have no more"),
	ROW("compared", of, NULL, "number of boards that were compared"),
	ROW_LIST("boards", boards, count, board_answer, "most bytes first"),
	{0},
};
#undef ANSWER_OF
static const struct answer finding_answer = {"fleet_finding", finding_fields};

#define ANSWER_OF struct fleet_function
static const struct answer_field function_fields[] = {
	ROWS_OF_FUNCTION,
	ROW("growth", growth, "bytes", "of all boards together, over the whole time",
	    .when = ALWAYS),
	ROW("growth_median", median, "bytes", "of a board"),
	ROW("growth_median_error", median_error, "bytes",
	    "half of the interval that holds the median with 95 %"),
	ROW("growth_p95", p95, "bytes", "95 % of the boards have no more"),
	ROW("growing", growing, NULL, "boards on which it grows, and goes on growing"),
	ROW("most_host", most_host, NULL, "of those, the board on which it grows most; null: none",
	    .may_be_null = true),
	ROW("boards", boards, NULL, "boards with enough moments to tell"),
	ROW("in_use", in_use, "bytes", "at the last moment, on all boards"),
	{0},
};
#undef ANSWER_OF
static const struct answer function_answer = {"fleet_function", function_fields};

#define ANSWER_OF struct fleet_report
static const struct answer_field report_fields[] = {
	ROW("by_age", by_age, NULL, "times are since the start of each process, not the epoch"),
	ROW("from_ns", from_ns, "ns since the epoch", "the first moment"),
	ROW("to_ns", to_ns, "ns since the epoch", "the last moment"),
	ROW("step_ns", step_ns, "ns", "time from moment to moment"),
	ROW("moments", moments, NULL, ""),
	ROW("streams", streams, NULL, ""),
	ROW("boards", boards, NULL, "programs on hosts, each in one build"),
	ROW("programs", programs, NULL, ""),
	ROW("builds", builds, NULL, ""),
	ROW("cut", cut, NULL, "there is older data, for which there were too many moments"),
	ROW("too_short", too_short, NULL, "boards with too few moments to tell growth"),
	ROW("unread", unread, NULL, "streams that could not be read"),
	ROW("unread_why", unread_why, NULL, "of the first of them", .when = IF_SET),
	ROW_LIST("left_out", left_out.list, left_out.count, fleet_left_out_answer,
		 "boards whose clocks are wrong, by host"),
	ROW_LIST("findings", findings, finding_count, finding_answer, "strongest first"),
	ROW_LIST("functions", functions, function_count, function_answer, "most growth first"),
	{0},
};
#undef ANSWER_OF
static const struct answer report_answer = {"fleet_report", report_fields};

static const struct answer_field fleet_fields[] = {
	BY_HAND("note", ANSWER_TEXT, NULL, "why there is nobody to compare", .when = SOMETIMES),
	BY_HAND("report", ANSWER_OBJECT, NULL, "texts and integers only", .of = &report_answer),
	BY_HAND("sha256", ANSWER_TEXT, NULL,
		"of the report's bytes, as `jq -cj .report` prints them; null: libcrypto is "
		"missing",
		.may_be_null = true),
	{0},
};
const struct answer fleet_answer = {"fleet_comparison", fleet_fields};

static int write_report(struct json *json, const char *key, const struct fleet_report *report)
{
	return json_object_of(json, key, &report_answer, report, &(struct answer_context){0});
}

const char *fleet_digest(const struct fleet_report *report, char out[FLEET_DIGEST_TEXT])
{
	cleanup(buf_done) struct buf text = {0};
	uint8_t digest[DIGEST_BYTES];
	struct json json;

	out[0] = 0;
	json_init(&json, &text);
	if (write_report(&json, NULL, report) < 0 || buf_error(&text) < 0 ||
	    secret_sha256(text.data, text.length, digest) < 0)
		return out;
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
	return out;
}

int json_fleet(struct json *json, const struct fleet_report *report)
{
	char digest[FLEET_DIGEST_TEXT];
	int r = write_report(json, "report", report);

	if (r < 0)
		return r;
	fleet_digest(report, digest);
	json_string(json, "sha256", *digest ? digest : NULL);
	return 0;
}
