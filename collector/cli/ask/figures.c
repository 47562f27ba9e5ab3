/* Prints figures of the process. See figures.h. */
#include "collector/cli/ask/figures.h"

#include <stdio.h>

#include "base/parse.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/terminal.h"
#include "collector/columns/row_block.h"
#include "collector/answers/json.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

static const struct line {
	const char *key;
	size_t offset;
} lines[] = {
#define LINE(field)                                                                                \
	{                                                                                          \
#field, offsetof(struct figures_info, field)                                       \
	}
	LINE(rss),	     LINE(rss_peak), LINE(pss),	  LINE(anonymous),    LINE(swap),
	LINE(address_space), LINE(dirty),    LINE(clean), LINE(minor_faults), LINE(major_faults),
#undef LINE
};

static uint64_t figures_value_of(const struct figures_info *f, const struct line *line)
{
	return *(const uint64_t *)(const void *)((const char *)f + line->offset);
}

/* Prints the peak alone: the process ended before anybody read its other figures. */
static void print_peak(uint64_t rss_peak)
{
	char peak[32], line[64];

	snprintf(line, sizeof(line), "Resident: %s at most", format_size(peak, (double)rss_peak));
	terminal_blanks(2);
	terminal_paragraph(STYLE_PLAIN, line, 2);
}

/* Says how much of the resident memory is not shared. This costs more to read, so it may be older
 * than the other figures. */
static void share_text(char *out, size_t size, const struct figures_info *last)
{
	char share[32], at[32];

	if (last->detailed_ns == NO_TIME)
		*out = '\0';
	else if (last->detailed_ns == last->time_ns)
		snprintf(out, size, " (%s of it its own share)",
			 format_size(share, (double)last->pss));
	else
		snprintf(out, size, " (its own share was %s at %s)",
			 format_size(share, (double)last->pss),
			 format_duration(at, last->detailed_ns));
}

/* The kernel's peak covers the time before the last look only. `whole`: the kernel also said the
 * peak at the end, so it covers the whole life. */
static void print_process(const struct figures_info *last, const struct figures_info *most,
			  bool whole)
{
	char now[32], peak[32], share[80], minor[32], major[32], line[400], at[32];

	share_text(share, sizeof(share), last);
	snprintf(line, sizeof(line),
		 "Resident: %s at the last look, at %s%s; %s at most%s; %s minor and %s major page "
		 "faults",
		 format_size(now, (double)last->rss), format_duration(at, last->time_ns), share,
		 format_size(peak, (double)most->rss_peak), whole ? "" : " until then",
		 format_count(minor, last->minor_faults), format_count(major, last->major_faults));
	terminal_blanks(2);
	terminal_paragraph(STYLE_PLAIN, line, 2);
}

static void print_allocator(const struct allocator_info *a)
{
	char used[32], unused[32], top[32], mapped[32], at[32], line[400];

	snprintf(
		line, sizeof(line),
		"Allocator, as of %s: %s in use and %s free in its arenas (%s of that at the top), "
		"%s in mappings of single blocks",
		format_duration(at, a->time_ns), format_size(used, (double)a->uordblks),
		format_size(unused, (double)a->fordblks), format_size(top, (double)a->keepcost),
		format_size(mapped, (double)a->hblkhd));
	terminal_blanks(2);
	terminal_paragraph(STYLE_PLAIN, line, 2);
}

void figures_print(const struct question *q)
{
	const struct figures_info *last = recording_figures(q->recording);
	const struct allocator_info *a = recording_allocator(q->recording);
	uint64_t peak = recording_process(q->recording)->rss_peak;

	if (last->time_ns != NO_TIME)
		print_process(last, recording_figures_most(q->recording), peak != 0);
	else if (peak)
		print_peak(peak);
	if (a->time_ns != NO_TIME)
		print_allocator(a);
}

static void json_one(struct json *json, const char *key, const struct figures_info *f)
{
	json_object(json, key);
	json_u64(json, "time_ns", f->time_ns);
	if (f->detailed_ns != NO_TIME)
		json_u64(json, "detailed_ns", f->detailed_ns);
	else
		json_string(json, "detailed_ns", NULL);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		json_u64(json, lines[i].key, figures_value_of(f, &lines[i]));
	json_end(json, '}');
}

static void json_allocator(struct json *json, const struct allocator_info *a)
{
	json_object(json, "allocator");
	json_u64(json, "time_ns", a->time_ns);
	json_u64(json, "took_ns", a->took_ns);
	json_u64(json, "arena", a->arena);
	json_u64(json, "ordblks", a->ordblks);
	json_u64(json, "hblks", a->hblks);
	json_u64(json, "hblkhd", a->hblkhd);
	json_u64(json, "uordblks", a->uordblks);
	json_u64(json, "fordblks", a->fordblks);
	json_u64(json, "keepcost", a->keepcost);
	json_end(json, '}');
}

void figures_json(struct json *json, const struct question *q)
{
	const struct figures_info *last = recording_figures(q->recording);
	const struct allocator_info *a = recording_allocator(q->recording);

	if (last->time_ns != NO_TIME) {
		json_object(json, "figures");
		json_one(json, "last", last);
		json_one(json, "most", recording_figures_most(q->recording));
		json_end(json, '}');
	} else {
		json_string(json, "figures", NULL);
	}
	if (a->time_ns != NO_TIME)
		json_allocator(json, a);
	else
		json_string(json, "allocator", NULL);
}
