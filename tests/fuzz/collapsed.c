/*
 * A file of collapsed stacks, all the way: lines, frames, analysis by rules, text of findings, a
 * page and JSON. Whatever it holds, what is listed adds up: each stack that was given is in one
 * subsystem, and no part is more than the whole.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "collector/analyze/report.h"
#include "collector/answers/json.h"
#include "collector/formats/read/collapsed_read.h"
#include "collector/formats/read/source.h"
#include "tests/fuzz/fuzz.h"

static struct rules *rules(void)
{
	static struct rules *read;

	if (!read)
		must(rules_read("clickhouse", &read, NULL) == 0);
	return read;
}

static int take(void *context, const struct collapsed_line *line)
{
	return analysis_add(context, &(struct analysis_stack){.frames = line->frames,
							      .count = line->count,
							      .kept = line->kept,
							      .value = line->value});
}

static void check(const struct analysis_result *r, const struct collapsed_counts *counts)
{
	uint64_t stacks = 0, value = 0;

	for (uint32_t i = 0; i < r->subsystem_count; i++) {
		stacks += r->subsystems[i].traces;
		value += r->subsystems[i].value;
	}
	must(stacks == r->stacks && stacks == counts->stacks);
	must(r->capped || value == r->total);
	must(r->drill && r->drill->value <= r->total && r->search->value <= r->total);
	for (uint32_t i = 1; i < r->top.count; i++)
		must(r->top.list[i].value <= r->top.list[i - 1].value);
}

static void render(const struct analysis_result *result)
{
	const struct analysis_report report = {
		.result = result, .title = "fuzz", .source = "it's a file", .rules = "clickhouse"};
	struct buf out = {0};
	struct json json;

	json_init(&json, &out);
	json_object(&json, NULL);
	report_json(&report, &json);
	json_end(&json, '}');
	report_page(&report, &out);
	must(buf_error(&out) == 0);
	fuzz_touch(out.data, out.length);
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct analysis_question question = {.rules = rules(),
						   .top = 3,
						   .search = "a",
						   .drills = true,
						   .drill = RULES_NO_SUBSYSTEM};
	int fd = memfd_create("stacks", MFD_CLOEXEC);
	struct collapsed_to to = {.line = take};
	struct analysis_result result;
	struct collapsed_counts counts;
	struct analysis *analysis;
	struct source *source;
	char said[256];
	int r;

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	must(analysis_new(&question, &analysis) == 0);
	to.context = analysis;
	must(source_open_fd(fd, "stacks", &source, NULL) == 0);
	r = collapsed_read(source, analysis_frames(analysis), &to, &counts, NULL);
	must(r == 0 || r == -EBADMSG); /* it looks packed, and is not */
	collapsed_left_out_text(&counts, said, sizeof(said));
	must(analysis_end(analysis, &result) == 0);
	check(&result, &counts);
	render(&result);
	analysis_free(analysis);
	source_close(source);
	return 0;
}
