/* collector maps: shows what was mapped at a moment, and how much of it was in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/commands.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/terminal.h"
#include "collector/columns/row_block.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/answers/recorded.h"
#include "collector/cli/output.h"
#include "collector/cli/progress.h"
#include "collector/recording/completeness.h"
#include "collector/recording/maps.h"
#include "collector/recording/recording.h"
#include "base/ban.h"

struct maps_options {
	struct common_options common;
	uint64_t at_ns;
};

static const char *permissions(char out[5], uint32_t flags)
{
	out[0] = flags & HEAPCAST__MAP_FLAG__MAP_READABLE ? 'r' : '-';
	out[1] = flags & HEAPCAST__MAP_FLAG__MAP_WRITABLE ? 'w' : '-';
	out[2] = flags & HEAPCAST__MAP_FLAG__MAP_EXECUTABLE ? 'x' : '-';
	out[3] = flags & HEAPCAST__MAP_FLAG__MAP_SHARED ? 's' : 'p';
	out[4] = '\0';
	return out;
}

static void print_region(const struct map_region *r)
{
	uint64_t clean = r->usage.shared_clean + r->usage.private_clean,
		 dirty = r->usage.shared_dirty + r->usage.private_dirty;
	char flags[5];
	int used =
		printf("%012" PRIx64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %s ",
		       r->start, (r->end - r->start) / 1024, r->usage.rss, clean, dirty,
		       permissions(flags, r->flags));

	terminal_line(STYLE_PLAIN, r->name,
		      terminal_width() > (unsigned)used + 8 ? terminal_width() - (unsigned)used
							    : 0);
}

static void maps_print_text(const struct maps_state *s, const struct completeness *c)
{
	char time[32], text[32];

	incomplete_print(NULL, c);
	if (!s->any) {
		program_printf(
			stdout,
			"No maps had been gathered by then (agent run --gather-maps does).\n");
		return;
	}
	printf("As of %s; KiB\n\n%-12s %10s %10s %10s %10s %s\n", format_duration(time, s->time_ns),
	       "START", "SIZE", "RSS", "CLEAN", "DIRTY", "MODE NAME");
	for (size_t i = 0; i < s->count; i++)
		print_region(&s->region[i]);
	printf("%12s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n", "in all",
	       s->address_space, s->total.rss, s->total.shared_clean + s->total.private_clean,
	       s->total.shared_dirty + s->total.private_dirty);
	if (s->cut)
		printf("\n%s regions had no place in the agent's table (--memory-limit): they are "
		       "in the sum only.\n",
		       format_count(text, s->cut));
}

#define ANSWER_OF	  struct map_usage
#define KIB(member, text) ROW_AS(#member, member, ANSWER_KIB, "bytes", text)
static const struct answer_field usage_fields[] = {
	KIB(rss, ""),
	KIB(pss, "resident, each shared page divided among its processes"),
	KIB(shared_clean, ""),
	KIB(shared_dirty, ""),
	KIB(private_clean, ""),
	KIB(private_dirty, ""),
	KIB(anonymous, ""),
	KIB(swap, ""),
	{0},
};
#undef KIB
#undef ANSWER_OF
static const struct answer map_usage_answer = {"map_usage", usage_fields};

struct told_region {
	struct map_region r;
	uint64_t size;
	const char *address, *permissions;
};

#define ANSWER_OF struct told_region
static const struct answer_field region_fields[] = {
	ROW("address", r.start, "address", ""),
	ROW("address_s", address, NULL, "16 hexadecimal digits"),
	ROW("size", size, "bytes", ""),
	ROW("permissions", permissions, NULL, "as in /proc/PID/maps"),
	ROW_AS("is_deleted", r.flags, ANSWER_FLAG, NULL, "true: the file is gone",
	       .mask = HEAPCAST__MAP_FLAG__MAP_DELETED),
	ROW("file_offset", r.offset, "bytes", ""),
	ROW("major", r.major, NULL, ""),
	ROW("minor", r.minor, NULL, ""),
	ROW("inode", r.inode, NULL, ""),
	ROW("name", r.name, NULL, ""),
	ROW("mapped_ns", r.mapped_ns, "ns", "when the region was seen first"),
	ROW("changed_ns", r.changed_ns, "ns", "when its size, mode or name last changed"),
	ROW_AS("peak_rss", r.peak_rss, ANSWER_KIB, "bytes",
	       "the most of it that was seen in memory"),
	ROWS_OF(map_usage_answer, r.usage),
	{0},
};
#undef ANSWER_OF
static const struct answer region_answer = {"region", region_fields};

#define ANSWER_OF struct maps_state
static const struct answer_field maps_fields[] = {
	ROW("time_ns", time_ns, "ns", "when the agent looked last, since the start"),
	ROW("took_us", took_us, "us", "how long that look took"),
	ROW("steps", steps, NULL, "number of looks until then"),
	ROW("regions", regions, NULL, "regions of the program"),
	ROW("cut", cut, NULL, "regions without a place in the agent's table"),
	ROW("postponed", postponed, NULL, "regions that the agent reports later"),
	ROW_AS("address_space", address_space, ANSWER_KIB, "bytes", "size of all regions"),
	ROW_OBJECT("total", total, map_usage_answer, "memory of all regions"),
	{0},
};
#undef ANSWER_OF
static const struct answer maps_answer = {"maps_at", maps_fields};

static const struct answer_field maps_json_fields[] = {
	ROW_INCOMPLETE,
	BY_HAND("process", ANSWER_OBJECT, NULL, "which program was recorded, and how",
		.of = &recorded_answer),
	ROWS_BY_HAND(maps_answer),
	BY_HAND("maps", ANSWER_OBJECT, NULL, "regions, by address", .of = &region_answer,
		.shape = ANSWER_LIST),
	{0},
};
static const struct answer maps_json_answer = {"maps_and_process", maps_json_fields};

static int maps_print_json(const struct command *command, const struct maps_state *s,
			   const struct recorded *recorded)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	output_json_begin(command, &json, &out);
	incomplete_json(&json, "incomplete", &recorded->completeness);
	json_object_of(&json, "process", &recorded_answer, recorded, NULL);
	json_members(&json, &maps_answer, s, NULL);
	json_array(&json, "maps");
	for (size_t i = 0; i < s->count; i++) {
		const struct map_region *r = &s->region[i];
		char address[24], flags[5];

		snprintf(address, sizeof(address), "%016" PRIx64, r->start);
		json_object_of(&json, NULL, &region_answer,
			       &(struct told_region){*r, r->end - r->start, address,
						     permissions(flags, r->flags)},
			       NULL);
	}
	json_end(&json, ']');
	json_end(&json, '}');
	return output_json(command, stdout, &out);
}

DEFINE_CLEANUP(recording_close, struct recording *)

static int maps_run(struct command_call *call)
{
	const struct maps_options *o = call->options;
	cleanup(cleanup_free) char *path = NULL;
	cleanup(maps_state_done) struct maps_state state = {0};
	cleanup(cleanup_recording_close) struct recording *recording = NULL;
	static char reading[] = "reading the recording";
	struct recorded recorded;
	struct err_text err = {0};
	const char *stream = call->argument_count ? call->arguments[0] : "last";
	int r = command_find_stream(&o->common, stream, &path, &err);

	if (!r)
		r = recording_open(path, progress_show, reading, &recording, &err);
	if (!r)
		r = maps_at(path, o->at_ns, &state, NULL, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	recorded_of(recording, &recorded);
	if (o->common.json)
		return maps_print_json(call->command, &state, &recorded);
	maps_print_text(&state, &recorded.completeness);
	return EXIT_DONE;
}

static const struct option maps_table[] = {
	OPTION_TIME(struct maps_options, at_ns, "at", "TIME",
		    "as of so long after the start: 10s (the end)"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, maps_table},
	{"Common options", answer_table},
	{0},
};

static const struct maps_options defaults = {.common.data = DEFAULT_DATA, .at_ns = NO_TIME};

const struct command command_maps = {
	.name = "maps",
	.work = "reading the maps",
	.answers = {&maps_json_answer},
	.summary = "what a program had mapped, and how much of it was in memory",
	.usage = "[OPTION...] [STREAM]",
	.about = "The regions of a program's address space as of the last look, or the last one\n"
		 "before --at: size, resident, clean (as the file has it) and dirty, in KiB. Only\n"
		 "for programs that were recorded with `agent run --gather-maps`.\n",
	.examples = "  collector maps last\n  collector maps --at 10s --json last | jq .total\n",
	.groups = groups,
	.options_size = sizeof(struct maps_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = maps_run,
};
