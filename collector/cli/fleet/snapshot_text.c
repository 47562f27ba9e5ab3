/* Snapshots as text. See snapshot_text.h. */
#include "collector/cli/fleet/snapshot_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "collector/answers/snapshots.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/build_id.h"
#include "collector/cli/terminal.h"
#include "collector/query/query.h"

#include "base/ban.h"

#define BUILD_COLUMNS	8
#define WIDE_COLUMNS	110 /* a terminal that has room for the clock's offset */
#define ERROR_COLUMNS	9   /* of the error of sampled bytes */
#define INDENT		4   /* of further lines of a sentence */
#define INCOMPLETE_SAID 5   /* a fleet may have been joined late as a whole */
#define DATE_COLUMNS	11  /* columns of the date before the time of day */

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

const char *snapshot_date(char *out, size_t size, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(out, size, "%-*s?", DATE_COLUMNS - 1, "?");
	return out;
}

/* Prints a column of text that came from outside. */
static void print_cell(const char *text, unsigned width)
{
	terminal_blanks(width + 1 - terminal_text(STYLE_PLAIN, text, width));
}

/* Says how far the hosts' clocks are apart from the collector's, if that is more than the error. */
static void print_clocks(const struct snapshot *s)
{
	const struct snapshot_member *worst = NULL;
	uint64_t most = 0;
	size_t late = 0;
	char offset[32], error[32];

	for (size_t i = 0; i < s->count && !s->members[i].missing; i++) {
		const struct snapshot_member *m = &s->members[i];
		int64_t ns = m->clock_offset_ns;
		uint64_t far = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

		late += m->late;
		if (!m->late && far > m->clock_error_ns && far > most) {
			most = far;
			worst = m;
		}
	}
	if (worst)
		terminal_say(STYLE_PLAIN, 0,
			     "The clock that is furthest off is that of %.60s: %s %s, +- %s",
			     worst->host, format_duration(offset, most),
			     worst->clock_offset_ns < 0 ? "behind" : "ahead",
			     format_duration(error, worst->clock_error_ns));
	if (late)
		terminal_say(STYLE_PLAIN, 0,
			     "%zu joined late, with what was in use at that time by the host's "
			     "clock",
			     late);
}

void snapshot_print_summary(const struct snapshot *s)
{
	struct usage total = snapshot_total(s);
	char when[40], bytes[80], blocks[32], took[32], spread[32];
	size_t in = s->count - s->missing, hosts = snapshot_hosts(s);

	terminal_say(STYLE_PLAIN, 0,
		     "Snapshot %s, taken %s: all markers were set within %s; by the hosts' clocks "
		     "they lie %s apart",
		     s->name, snapshot_date(when, sizeof(when), s->wall_ns),
		     format_duration(took, s->took_ns),
		     format_duration(spread, snapshot_spread_ns(s)));
	terminal_say(STYLE_PLAIN, 0, "In use: %s in %s block%s, of %zu process%s on %zu host%s",
		     usage_bytes(bytes, sizeof(bytes), &total), format_count(blocks, total.blocks),
		     plural(total.blocks), in, in == 1 ? "" : "es", hosts, plural(hosts));
	print_clocks(s);
}

void snapshot_print_missing(const struct snapshot *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct snapshot_member *m = &s->members[i];
		char when[40], line[1024], id[STREAM_ID_TEXT];

		if (!m->missing)
			continue;
		snprintf(line, sizeof(line),
			 "Missing: %.200s (pid %u) on %.200s, stream %.12s: %.300s",
			 module_basename(m->executable), m->pid, m->host,
			 stream_id_format(id, &m->stream), m->missing);
		if (m->wall_ns)
			snprintf(line + strlen(line), sizeof(line) - strlen(line),
				 "; last heard of at %s",
				 snapshot_date(when, sizeof(when), m->wall_ns));
		terminal_paragraph(STYLE_YELLOW, line, INDENT);
	}
}

void snapshot_print_incomplete(const struct snapshot *s)
{
	static const char beginning[] = "Incomplete: ";
	size_t said = 0, count = snapshot_incomplete(s);

	for (size_t i = 0; i < s->count && said < INCOMPLETE_SAID; i++) {
		const struct snapshot_member *m = &s->members[i];
		char line[1024], id[STREAM_ID_TEXT];
		const char *why = m->incomplete;

		if (m->missing || !why)
			continue;
		why += strncmp(why, beginning, strlen(beginning)) ? 0 : strlen(beginning);
		snprintf(line, sizeof(line),
			 "Incomplete: %.200s (pid %u) on %.200s, stream %.12s, may have had more "
			 "in use: %.400s",
			 module_basename(m->executable), m->pid, m->host,
			 stream_id_format(id, &m->stream), why);
		terminal_paragraph(STYLE_YELLOW, line, INDENT);
		said++;
	}
	if (count > said)
		printf("Incomplete, too: %zu more\n", count - said);
}

/* "  +1.2 s +-3 ms": how far the host's clock is ahead; "  late" for one that joined late. */
static const char *clock_text(char out[64], const struct snapshot_member *m)
{
	char offset[32], error[32];
	int64_t ns = m->clock_offset_ns;

	if (m->late)
		return "  late";
	if (!m->clock_error_ns)
		return "";
	snprintf(out, 64, "  %s%s +-%s", ns < 0 ? "-" : "+",
		 format_duration(offset, (uint64_t)(ns < 0 ? -ns : ns)),
		 format_duration(error, m->clock_error_ns));
	return out;
}

/* The widths that depend on that of the terminal: 80 columns have room for all but the error. */
struct process_columns {
	unsigned host, program;
	bool error, milliseconds, clock;
};

static struct process_columns columns_of(const struct snapshot *s)
{
	unsigned width = terminal_width();
	bool error = snapshot_total(s).samples;

	if (width >= WIDE_COLUMNS)
		return (struct process_columns){14, 14, error, true, true};
	if (error && width < 80 + ERROR_COLUMNS)
		return (struct process_columns){11, 10, true, false, false};
	return (struct process_columns){13, 13, error, true, false};
}

static void print_process(const struct snapshot_member *m, const struct process_columns *c)
{
	char build_id[BUILD_ID_TEXT] = "-", bytes[32], blocks[32], error[32], when[40], clock[64];

	if (m->build_id_length)
		build_id_format(build_id, m->build_id, m->build_id_length);
	print_cell(m->host, c->host);
	print_cell(module_basename(m->executable), c->program);
	printf("%-7u %-*.*s %9s", m->pid, BUILD_COLUMNS, BUILD_COLUMNS, build_id,
	       format_size(bytes, (double)m->bytes));
	if (c->error)
		printf(" %8s", m->samples ? format_size(error, m->bytes_error) : "");
	printf(" %11s%c %s", format_count(blocks, m->blocks), m->incomplete ? '*' : ' ',
	       snapshot_date(when, sizeof(when), m->wall_ns) + DATE_COLUMNS);
	if (c->milliseconds)
		printf(".%03u", (unsigned)(m->wall_ns / 1000000 % 1000));
	printf("%s\n", c->clock ? clock_text(clock, m) : "");
}

/*
 * Prints the processes of a snapshot as a table:
 *
 *	HOST          PROGRAM       PID     BUILD ID    IN USE      BLOCKS  MARKER
 *	board7        app           1234    0f3a9c21  12.3 MiB     123,456  10:11:12.345
 */
void snapshot_print_processes(const struct snapshot *s)
{
	const struct process_columns c = columns_of(s);

	printf("\n%-*s %-*s %-7s %-*s %9s%s %11s  %s\n", (int)c.host, "HOST", (int)c.program,
	       "PROGRAM", "PID", BUILD_COLUMNS, "BUILD ID", "IN USE", c.error ? "  +-ERROR" : "",
	       "BLOCKS", c.clock ? "MARKER        CLOCK" : "MARKER");
	for (size_t i = 0; i < s->count && !s->members[i].missing; i++)
		print_process(&s->members[i], &c);
	if (snapshot_incomplete(s))
		printf("* incomplete: more may have been in use\n");
}
