/* Prints the answers of `agent ctl`, in 80 columns. See ctl.h. */
#include "agent/cli/ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/words.h"
#include "proto/mode.h"
#include "proto/ring.h"
#include "base/ban.h"

/* Parsing has cleaned the texts: they are UTF-8 without control characters. */
static void json_text(const char *name, const char *text)
{
	printf("\"%s\":\"", name);
	for (; *text; text++)
		printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	putchar('"');
}

static void json_mode(int mode, uint64_t interval)
{
	char text[40];

	json_text("mode", mode_text(text, sizeof(text), mode, 0));
	if (mode == RING_SAMPLE)
		printf(",\"sample_interval\":%" PRIu64, interval);
}

static void show_agent(struct ctl_show *s, const struct order_agent *a)
{
	static const char *const taken[ORDER_POLICIES] = {
		[ORDERS_NO] = "; it takes no orders of collectors",
		[ORDERS_LOCAL] = "; of collectors elsewhere it\ntakes neither start, stop nor mode",
		[ORDERS_YES] = ""};
	char used[32], limit[32];

	s->agent = *a;
	if (s->json) {
		printf("{\"agent\":{\"pid\":%" PRIu64 ",\"programs\":%" PRIu64
		       ",\"places\":%" PRIu64 ",\"collectors\":%" PRIu64
		       ",\"collectors_most\":%" PRIu64 ",\"memory\":%" PRIu64
		       ",\"memory_limit\":%" PRIu64 ",\"orders\":\"%s\"},\"programs\":[",
		       a->pid, a->programs, a->places, a->collectors, a->collectors_most,
		       a->used_bytes, a->limit_bytes,
		       order_policy_name((enum order_policy)a->orders));
		return;
	}
	printf("Agent %" PRIu64 ": %" PRIu64 " of %" PRIu64 " places taken, %" PRIu64 " of %" PRIu64
	       " collectors connected,\nmemory %s of %s%s.\n",
	       a->pid, a->programs, a->places, a->collectors, a->collectors_most,
	       format_size(used, (double)a->used_bytes), format_size(limit, (double)a->limit_bytes),
	       taken[a->orders]);
}

static void show_program_json(const struct ctl_show *s, const struct order_program *p)
{
	printf("%s{\"pid\":%" PRIu64 ",\"uid\":%" PRIu64 ",", s->programs ? "," : "", p->pid,
	       p->uid);
	json_text("stream", p->id);
	putchar(',');
	json_text("program", p->name);
	putchar(',');
	json_mode(p->mode, p->interval);
	printf(",\"since_ns\":%" PRIu64 ",\"events\":%" PRIu64 ",\"before_recording\":%" PRIu64
	       ",\"lost\":%" PRIu64 ",\"spool\":%" PRIu64 ",\"spool_most\":%" PRIu64
	       ",\"ended\":%s}",
	       p->since_ns, p->events, p->before, p->lost, p->spool_bytes, p->spool_most,
	       p->ended ? "true" : "false");
}

static void show_program(struct ctl_show *s, const struct order_program *p)
{
	char mode[40], since[32], events[32], lost[32], spool[32];

	if (s->json) {
		show_program_json(s, p);
	} else {
		if (!s->programs)
			printf("\n%7s %-14s %-12s %9s %15s %8s %9s\n", "PID", "PROGRAM", "MODE",
			       "SINCE", "EVENTS", "LOST", "SPOOL");
		mode_text(mode, sizeof(mode), p->mode, p->interval);
		printf("%7" PRIu64 " %-14.14s %-12.12s %9s %15s %8s %9s\n", p->pid, p->name,
		       p->ended ? "has ended" : mode, format_duration(since, p->since_ns),
		       format_count(events, p->events), format_count(lost, p->lost),
		       format_size(spool, (double)p->spool_bytes));
	}
	s->programs++;
}

static void show_done_json(const struct ctl_show *s, const struct order_done *d)
{
	printf("%s{\"pid\":%" PRIu64 ",\"done\":%s,", s->programs ? "," : "{\"programs\":[", d->pid,
	       d->done ? "true" : "false");
	if (d->done) {
		printf("\"time_ns\":%" PRIu64 ",", d->time_ns);
		json_mode(d->mode, d->interval);
		putchar(',');
	}
	if (d->snapshot)
		printf("\"snapshot\":%" PRIu64 ",", d->snapshot);
	json_text("text", d->text);
	putchar('}');
}

static void show_done(struct ctl_show *s, const struct order_done *d)
{
	char at[32], mode[40], number[40] = "";

	mode_text(mode, sizeof(mode), d->mode, d->interval);
	if (d->snapshot)
		snprintf(number, sizeof(number), ", snapshot %" PRIu64, d->snapshot);
	if (s->json)
		show_done_json(s, d);
	else if (!d->done)
		printf("%" PRIu64 ": refused: %s\n", d->pid, d->text);
	else
		printf("%" PRIu64 ": done at %s of its time%s; mode %s%s%s\n", d->pid,
		       format_duration(at, d->time_ns), number, mode, *d->text ? "; " : "",
		       d->text);
	s->programs++;
}

int ctl_show_line(struct ctl_show *s, const char *line)
{
	struct order_agent agent;
	struct order_program program;
	struct order_done done;

	if (s->whole)
		return -EBADMSG;
	if (!strcmp(line, "ok") || !strncmp(line, "no ", 3)) {
		s->whole = true;
		s->ok = line[0] == 'o';
		if (!s->ok)
			words_clean(s->why, sizeof(s->why), line + 3, strlen(line + 3));
		return 0;
	}
	if (!s->began && order_agent_parse(line, &agent) == 0)
		show_agent(s, &agent);
	else if (s->agent.pid && order_program_parse(line, &program) == 0)
		show_program(s, &program);
	else if (!s->agent.pid && order_done_parse(line, &done) == 0)
		show_done(s, &done);
	else
		return -EBADMSG;
	s->began = true;
	return 0;
}

void ctl_show_end(struct ctl_show *s)
{
	if (s->json && s->began)
		printf("]}\n");
	else if (s->json)
		printf("{\"programs\":[]}\n");
	else if (s->began && s->agent.pid && !s->programs)
		printf("Nothing of yours is recorded now.\n");
}
