/* collector maps: what was mapped at some moment, and how much of it was in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/commands.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/terminal.h"
#include "collector/columns/row_block.h"
#include "collector/answers/json.h"
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

	terminal_text(STYLE_PLAIN, r->name,
		      terminal_width() > (unsigned)used + 8 ? terminal_width() - (unsigned)used
							    : 0);
	putchar('\n');
}

static void maps_print_text(const struct maps_state *s, const struct completeness *c)
{
	char time[32], text[32];

	incomplete_print(NULL, c);
	if (!s->any) {
		printf("No maps were gathered until then (agent run --gather-maps).\n");
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

static void json_usage(struct json *json, const struct map_usage *u)
{
	json_u64(json, "rss", u->rss * 1024);
	json_u64(json, "pss", u->pss * 1024);
	json_u64(json, "shared_clean", u->shared_clean * 1024);
	json_u64(json, "shared_dirty", u->shared_dirty * 1024);
	json_u64(json, "private_clean", u->private_clean * 1024);
	json_u64(json, "private_dirty", u->private_dirty * 1024);
	json_u64(json, "anonymous", u->anonymous * 1024);
	json_u64(json, "swap", u->swap * 1024);
}

static void json_region(struct json *json, const struct map_region *r)
{
	char text[32];

	json_object(json, NULL);
	json_u64(json, "address", r->start);
	snprintf(text, sizeof(text), "%016" PRIx64, r->start);
	json_string(json, "address_s", text);
	json_u64(json, "size", r->end - r->start);
	json_string(json, "permissions", permissions(text, r->flags));
	json_bool(json, "is_deleted", r->flags & HEAPCAST__MAP_FLAG__MAP_DELETED);
	json_u64(json, "file_offset", r->offset);
	json_u64(json, "major", r->major);
	json_u64(json, "minor", r->minor);
	json_u64(json, "inode", r->inode);
	json_string(json, "name", r->name);
	json_u64(json, "mapped_ns", r->mapped_ns);
	json_u64(json, "changed_ns", r->changed_ns);
	json_u64(json, "peak_rss", r->peak_rss * 1024);
	json_usage(json, &r->usage);
	json_end(json, '}');
}

static void maps_print_json(const struct maps_state *s, const struct completeness *c)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	json_init(&json, &out);
	json_object(&json, NULL);
	incomplete_json(&json, "incomplete", c);
	json_u64(&json, "time_ns", s->time_ns);
	json_u64(&json, "took_us", s->took_us);
	json_u64(&json, "steps", s->steps);
	json_u64(&json, "regions", s->regions);
	json_u64(&json, "cut", s->cut);
	json_u64(&json, "postponed", s->postponed);
	json_u64(&json, "address_space", s->address_space * 1024);
	json_object(&json, "total");
	json_usage(&json, &s->total);
	json_end(&json, '}');
	json_array(&json, "maps");
	for (size_t i = 0; i < s->count; i++)
		json_region(&json, &s->region[i]);
	json_end(&json, ']');
	json_end(&json, '}');
	buf_byte(&out, '\n');
	fwrite(out.data, 1, out.length, stdout);
}

static int find_missing(const char *path, struct completeness *ret, struct err_text *err)
{
	struct recording *recording;
	int r = recording_open(path, NULL, NULL, &recording, err);

	if (r < 0)
		return r;
	recording_completeness(recording, ret);
	recording_close(recording);
	return 0;
}

static int maps_run(struct command_call *call)
{
	const struct maps_options *o = call->options;
	cleanup(cleanup_free) char *path = NULL;
	cleanup(maps_state_done) struct maps_state state = {0};
	struct completeness completeness;
	struct err_text err = {0};
	const char *stream = call->argument_count ? call->arguments[0] : "last";
	int r = command_find_stream(o->common.data, stream, &path, &err);

	if (!r)
		r = find_missing(path, &completeness, &err);
	if (!r)
		r = maps_at(path, o->at_ns, &state, NULL, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	if (o->common.json)
		maps_print_json(&state, &completeness);
	else
		maps_print_text(&state, &completeness);
	return EXIT_DONE;
}

static const struct option maps_table[] = {
	OPTION_TIME(struct maps_options, at_ns, "at", "TIME",
		    "as of so long after the start: 10s (the end)"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, maps_table},
	{"Common options", common_table},
	{0},
};

static const struct maps_options defaults = {.common.data = DEFAULT_DATA, .at_ns = NO_TIME};

const struct command command_maps = {
	.name = "maps",
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
