/* The account of a recording. See account.h. */
#include "collector/answers/account.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *const account_reasons[] = {"unknown",
				       "ring full",
				       "no slice",
				       "spool full",
				       "thread died in a record",
				       "agent was gone",
				       "damaged record",
				       "joined late",
				       "thinned",
				       "no result",
				       "at another collector",
				       NULL};

#define LINE(info, member, text, unit, always, about)                                              \
	{#member, text, offsetof(struct info, member), OF_PAIRING_##info, always},
#define OF_PAIRING_ledger_info	false
#define OF_PAIRING_pairing_info true

const struct account_line account_lines[] = {ACCOUNT_LINES(LINE)};
const size_t account_line_count = COUNT(account_lines);

/* Indexed by the enum in heapcast.proto. */
static const char *const source_texts[] = {"", " (told to its parent, the agent)",
					   " (told by the kernel)", " (read in /proc)"};

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

uint64_t account_number(const struct recording *r, const struct account_line *line)
{
	const char *of = line->of_pairing ? (const char *)recording_pairing(r)
					  : (const char *)recording_ledger(r);

	return *(const uint64_t *)(const void *)(of + line->offset);
}

const size_t account_reason_count = COUNT(account_reasons) - 1;

static const char *oom_words(uint32_t counter)
{
	switch (counter) {
	case HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_1:
	case HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_2:
		return ": its cgroup's count of such kills rose";
	case HEAPCAST__OOM_COUNTER__OOM_COUNTER_SYSTEM:
		return ", it seems: the system's count of such kills rose";
	default:
		return "";
	}
}

const char *account_end(char *out, size_t size, const struct process_info *p)
{
	if (!p->ended) {
		snprintf(out, size,
			 "its end has not been seen: these numbers go as far as it was received");
		return out;
	}
	switch (p->end_kind) {
	case HEAPCAST__END_KIND__END_EXITED:
		snprintf(out, size, "exited with status %u", p->end_status);
		break;
	case HEAPCAST__END_KIND__END_SIGNALLED:
		snprintf(out, size, "killed by signal %u (%s)%s", p->end_status,
			 strsignal((int)p->end_status), p->core_dumped ? ", core dumped" : "");
		break;
	case HEAPCAST__END_KIND__END_OOM_KILLED:
		snprintf(out, size, "killed by the kernel for lack of memory%s",
			 oom_words(p->oom_counter));
		break;
	case HEAPCAST__END_KIND__END_DETACHED:
		snprintf(out, size, "goes on, unrecorded");
		break;
	default:
		snprintf(out, size, "gone; nobody could say how");
	}
	return out;
}

const char *account_end_source(const struct process_info *p)
{
	return source_texts[p->end_source < COUNT(source_texts) ? p->end_source : 0];
}

const char *account_state(const struct mark_info *mark)
{
	/* A mark that the program set is not a state. There may be thousands of them. */
	if (mark->kind == HEAPCAST__MARK_KIND__MARK_TEXT && mark->thread)
		return NULL;
	for (size_t i = 0; i < COUNT(states); i++)
		if (states[i].kind == mark->kind)
			return states[i].key;
	return NULL;
}

/* Describes the mode of the recording from this mark on. A mark that the program set does not know
 * the mode. */
static void describe_mode(char *out, size_t size, const struct mark_info *m, const char *what)
{
	char text[32];

	if (m->value)
		snprintf(out, size, "%s: one allocation in %s", what,
			 format_size(text, (double)m->value));
	else
		snprintf(out, size, "%s%s", what, m->thread ? "" : ": every event");
}

void account_describe(char *out, size_t size, const struct mark_info *m)
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
