/* Formats and parses lines of the control socket. See order_line.h. */
#include "agent/serve/order_line.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "heapcast.pb-c.h"
#include "proto/mode.h"
#include "proto/ring.h"
#include "base/ban.h"

static const struct {
	const char *word;
	int action;
	bool text; /* an argument follows the pid */
} actions[] = {
	{"start", HEAPCAST__ACTION__ACTION_START, false},
	{"stop", HEAPCAST__ACTION__ACTION_STOP, false},
	{"mode", HEAPCAST__ACTION__ACTION_MODE, true},
	{"snapshot", HEAPCAST__ACTION__ACTION_SNAPSHOT, false},
	{"mark", HEAPCAST__ACTION__ACTION_MARK, true},
};

static int parse_mode_word(const char *at, struct order *o, const char **why)
{
	char word[WORD_MAX];

	*why = "mode takes full, sample, sample=BYTES or off";
	return words_next(&at, word) && !*at && mode_parse(word, &o->mode, &o->value) == 0
		       ? 0
		       : -EINVAL;
}

static int parse_order(const char *at, unsigned index, struct order_question *q, const char **why)
{
	uint64_t pid;

	*why = "a process is named by its number";
	if (!words_number(&at, INT_MAX, &pid))
		return -EINVAL;
	q->pid = (pid_t)pid;
	q->order.action = actions[index].action;
	if (q->order.action == HEAPCAST__ACTION__ACTION_MODE)
		return parse_mode_word(at, &q->order, why);
	*why = actions[index].text ? "a mark has a text" : "the order has too many words";
	if (actions[index].text != (*at != '\0'))
		return -EINVAL;
	q->order.text = (const uint8_t *)at;
	q->order.text_length = strlen(at);
	return 0;
}

int order_question_parse(const char *line, struct order_question *ret, const char **ret_why)
{
	struct order_question q = {0};
	const char *at = line;
	char word[WORD_MAX];
	int r = -EINVAL;

	*ret_why = "such an order is not known here";
	if (!words_next(&at, word))
		return r;
	q.status = !strcmp(word, "status");
	if (q.status && !*at)
		r = 0;
	for (unsigned i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(word, actions[i].word))
			r = parse_order(at, i, &q, ret_why);
	if (!r)
		*ret = q;
	return r;
}

/* ---- answers ---- */

int order_agent_format(char *out, size_t size, const struct order_agent *a)
{
	return snprintf(out, size,
			"agent %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRIu64 " %d",
			a->pid, a->programs, a->places, a->collectors, a->collectors_most,
			a->used_bytes, a->limit_bytes, a->orders);
}

int order_agent_parse(const char *line, struct order_agent *ret)
{
	struct order_agent a = {0};
	uint64_t orders;

	if (!words_is_next(&line, "agent") || !words_number(&line, INT_MAX, &a.pid) ||
	    !words_number(&line, UINT32_MAX, &a.programs) ||
	    !words_number(&line, UINT32_MAX, &a.places) ||
	    !words_number(&line, UINT32_MAX, &a.collectors) ||
	    !words_number(&line, UINT32_MAX, &a.collectors_most) ||
	    !words_number(&line, UINT64_MAX, &a.used_bytes) ||
	    !words_number(&line, UINT64_MAX, &a.limit_bytes) ||
	    !words_number(&line, ORDER_POLICIES - 1, &orders) || *line)
		return -EINVAL;
	a.orders = (int)orders;
	*ret = a;
	return 0;
}

int order_program_format(char *out, size_t size, const struct order_program *p)
{
	return snprintf(out, size,
			"program %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %s %s",
			p->pid, p->uid, p->mode, p->interval, p->since_ns, p->events, p->before,
			p->lost, p->spool_bytes, p->spool_most, p->ended, p->id, p->name);
}

static bool next_id(const char **at, char id[33])
{
	char word[WORD_MAX];

	if (!words_next(at, word) || strlen(word) != 32 || strspn(word, "0123456789abcdef") != 32)
		return false;
	memcpy(id, word, 33);
	return true;
}

/* Takes the rest of the line as printable text. */
static void order_line_take_text(const char *at, char *out, size_t size)
{
	words_clean(out, size, at, strlen(at));
}

int order_program_parse(const char *line, struct order_program *ret)
{
	struct order_program p = {0};
	uint64_t mode, ended;

	if (!words_is_next(&line, "program") || !words_number(&line, INT_MAX, &p.pid) ||
	    !words_number(&line, UINT32_MAX, &p.uid) || !words_number(&line, RING_SAMPLE, &mode) ||
	    !words_number(&line, RING_INTERVAL_MAX, &p.interval) ||
	    !words_number(&line, UINT64_MAX, &p.since_ns) ||
	    !words_number(&line, UINT64_MAX, &p.events) ||
	    !words_number(&line, UINT64_MAX, &p.before) ||
	    !words_number(&line, UINT64_MAX, &p.lost) ||
	    !words_number(&line, UINT64_MAX, &p.spool_bytes) ||
	    !words_number(&line, UINT64_MAX, &p.spool_most) || !words_number(&line, 1, &ended) ||
	    !next_id(&line, p.id))
		return -EINVAL;
	p.mode = (int)mode;
	p.ended = ended;
	order_line_take_text(line, p.name, sizeof(p.name));
	*ret = p;
	return 0;
}

int order_done_format(char *out, size_t size, const struct order_done *d)
{
	if (!d->done)
		return snprintf(out, size, "refused %" PRIu64 " %s", d->pid, d->text);
	return snprintf(out, size, "done %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %" PRIu64 " %s",
			d->pid, d->time_ns, d->mode, d->interval, d->snapshot, d->text);
}

int order_done_parse(const char *line, struct order_done *ret)
{
	struct order_done d = {0};
	char word[WORD_MAX];
	uint64_t mode = 0;

	if (!words_next(&line, word) || !words_number(&line, INT_MAX, &d.pid))
		return -EINVAL;
	d.done = !strcmp(word, "done");
	if (!d.done && strcmp(word, "refused") != 0)
		return -EINVAL;
	if (d.done && (!words_number(&line, UINT64_MAX, &d.time_ns) ||
		       !words_number(&line, RING_SAMPLE, &mode) ||
		       !words_number(&line, RING_INTERVAL_MAX, &d.interval) ||
		       !words_number(&line, UINT64_MAX, &d.snapshot)))
		return -EINVAL;
	d.mode = (int)mode;
	order_line_take_text(line, d.text, sizeof(d.text));
	*ret = d;
	return 0;
}
