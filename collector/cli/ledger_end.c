/* How a program ended, and the states of its recording. See ledger_end.h. */
#include "collector/cli/ledger_end.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "collector/cli/header.h"
#include "collector/cli/terminal.h"
#include "collector/export/export.h"
#include "collector/store/store.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

#define STATES_SHOWN 20
#define WHAT_COLUMN  23
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Names in JSON, and what people read; by the enums of heapcast.proto. */
static const char *const kinds[] = {"unknown", "exited", "signalled", "oom_killed", "detached"};
static const char *const sources[] = {"unknown", "wait", "pidfd", "proc"};
static const char *const source_texts[] = {"", " (told to its parent, the agent)",
					   " (told by the kernel)", " (read in /proc)"};
static const char *const counters[] = {"none", "cgroup_2", "cgroup_1", "system"};

static const struct state {
	uint32_t kind;
	const char *key;
} states[] = {
	{HEAPCAST__MARK_KIND__MARK_POLICY, "thinned"},
	{HEAPCAST__MARK_KIND__MARK_WAITED, "waited"},
	{HEAPCAST__MARK_KIND__MARK_SUSPENDED, "suspended"},
	{HEAPCAST__MARK_KIND__MARK_EXEC, "exec"},
	{HEAPCAST__MARK_KIND__MARK_DELIVERY, "delivery"},
	{HEAPCAST__MARK_KIND__MARK_START, "started"},
	{HEAPCAST__MARK_KIND__MARK_STOP, "stopped"},
	{HEAPCAST__MARK_KIND__MARK_MODE, "mode"},
	{HEAPCAST__MARK_KIND__MARK_SNAPSHOT, "snapshot"},
	{HEAPCAST__MARK_KIND__MARK_TEXT, "text"},
};

static const char *name_of(const char *const *names, size_t count, uint32_t number)
{
	return names[number < count ? number : 0];
}

void ledger_end_print(const struct recording *r)
{
	const struct process_info *p = recording_process(r);
	const char *source = name_of(source_texts, COUNT(source_texts), p->end_source);
	char how[HEADER_END];

	header_end(how, sizeof(how), p);
	if (!p->ended)
		printf("\nEnd: not seen yet.\n");
	else
		printf("\nEnd: %s%s.\n", how, source);
}

void ledger_end_json(struct json *json, const char *key, const struct recording *r)
{
	const struct process_info *p = recording_process(r);

	if (!p->ended) {
		json_string(json, key, NULL);
		return;
	}
	json_object(json, key);
	json_string(json, "kind", name_of(kinds, COUNT(kinds), p->end_kind));
	json_u64(json, "status", p->end_status);
	json_bool(json, "core_dumped", p->core_dumped);
	json_string(json, "source", name_of(sources, COUNT(sources), p->end_source));
	json_string(json, "oom_counter", name_of(counters, COUNT(counters), p->oom_counter));
	json_end(json, '}');
}

static const struct state *state_of(const struct mark_info *mark)
{
	/* Of its own the program may have put thousands. */
	if (mark->kind == HEAPCAST__MARK_KIND__MARK_TEXT && mark->thread)
		return NULL;
	for (size_t i = 0; i < COUNT(states); i++)
		if (states[i].kind == mark->kind)
			return &states[i];
	return NULL;
}

/* What recording is from here on. The program itself does not say which mode. */
static void describe_mode(char *out, size_t size, const struct mark_info *m, const char *what)
{
	char text[32];

	if (m->value)
		snprintf(out, size, "%s: one allocation in %s", what,
			 format_size(text, (double)m->value));
	else
		snprintf(out, size, "%s%s", what, m->thread ? "" : ": every event");
}

static void describe(char *out, size_t size, const struct mark_info *m)
{
	char text[32];

	switch (m->kind) {
	case HEAPCAST__MARK_KIND__MARK_POLICY:
		if (m->value)
			snprintf(out, size, "sampled every %s for lack of room in the ring",
				 format_size(text, (double)m->value));
		else
			snprintf(out, size, "not sampled for lack of room any more");
		break;
	case HEAPCAST__MARK_KIND__MARK_WAITED:
		snprintf(out, size, "has waited for room in the ring for %s",
			 format_duration(text, m->value));
		break;
	case HEAPCAST__MARK_KIND__MARK_SUSPENDED:
		snprintf(out, size, "the machine slept for %s", format_duration(text, m->value));
		break;
	case HEAPCAST__MARK_KIND__MARK_DELIVERY:
		snprintf(out, size, "the flight recorder was sent (%.20s): all of the last %s",
			 m->text, format_duration(text, m->value));
		break;
	case HEAPCAST__MARK_KIND__MARK_START:
		describe_mode(out, size, m, "recording went on");
		break;
	case HEAPCAST__MARK_KIND__MARK_MODE:
		describe_mode(out, size, m, "recording changed");
		break;
	case HEAPCAST__MARK_KIND__MARK_STOP:
		snprintf(out, size, "recording of new blocks was stopped");
		break;
	case HEAPCAST__MARK_KIND__MARK_SNAPSHOT:
		snprintf(out, size, "snapshot %" PRIu64, m->value);
		break;
	case HEAPCAST__MARK_KIND__MARK_TEXT:
		snprintf(out, size, "\"%s\"", m->text);
		break;
	default:
		snprintf(out, size, "the program replaced itself (exec)");
	}
}

static void print_state(const struct mark_info *m)
{
	char what[1200], at[32], thread[16];

	describe(what, sizeof(what), m);
	snprintf(thread, sizeof(thread), "%u", m->thread);
	printf("%-8s %12s  ", m->thread ? thread : "-", format_duration(at, m->time_ns));
	terminal_text(STYLE_PLAIN, what, 0);
	putchar('\n');
	if (!m->by)
		return;
	printf("%*sby ", WHAT_COLUMN, "");
	terminal_text(STYLE_DIM, m->by, 0);
	putchar('\n');
}

void ledger_states_print(const struct recording *r)
{
	uint64_t waited = 0;
	uint32_t found = 0;
	char text[32];

	for (uint32_t i = 0; i < recording_marks(r); i++) {
		const struct mark_info *m = recording_mark(r, i);

		if (!state_of(m))
			continue;
		if (!found)
			printf("\n%-8s %12s  %s\n", "STATE OF", "AT", "WHAT");
		if (found++ < STATES_SHOWN)
			print_state(m);
		waited += m->kind == HEAPCAST__MARK_KIND__MARK_WAITED ? m->value : 0;
	}
	if (found > STATES_SHOWN)
		printf("... and %u more (--json has all)\n", found - STATES_SHOWN);
	if (waited)
		printf("Threads have waited for room in the ring for %s, taken together.\n",
		       format_duration(text, waited));
}

void ledger_states_json(struct json *json, const char *key, const struct recording *r)
{
	json_array(json, key);
	for (uint32_t i = 0; i < recording_marks(r); i++) {
		const struct mark_info *m = recording_mark(r, i);
		const struct state *state = state_of(m);

		if (!state)
			continue;
		json_object(json, NULL);
		json_string(json, "state", state->key);
		json_u64(json, "thread", m->thread);
		json_u64(json, "time_ns", m->time_ns);
		json_u64(json, "value", m->value);
		if (m->text[0])
			json_string(json, "text", m->text);
		if (m->by)
			json_string(json, "by", m->by);
		json_end(json, '}');
	}
	json_end(json, ']');
}
