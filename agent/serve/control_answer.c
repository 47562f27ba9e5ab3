/* Answers questions on the control socket: the agent's state, and the programs that the peer may
 * see. See control_socket.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/serve/agent.h"
#include "base/proc/lines.h"
#include "base/words.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

struct answering {
	char *out;
	size_t length;
};

/* Appends a line, or omits it if the whole line does not fit. */
static void control_answer_say(struct answering *a, const char *line)
{
	size_t length = strlen(line);

	if (length + 1 >= CONTROL_ANSWER_MAX - a->length)
		return;
	memcpy(a->out + a->length, line, length);
	a->out[a->length + length] = '\n';
	a->length += length + 1;
}

static uint64_t kilobytes(const char *path, const char *key)
{
	struct proc_field field = {.name = key};

	proc_file_fields(-1, path, &field, 1);
	return field.value;
}

/* RssAnon in `status` lags behind by up to 64 pages per thread: 4 MiB with pages of 64 KiB. So
 * smaps_rollup is preferred. */
static uint64_t anonymous_memory(void)
{
	uint64_t counted = kilobytes("/proc/self/smaps_rollup", "Anonymous");

	return 1024 * (counted ? counted : kilobytes("/proc/self/status", "RssAnon"));
}

/* The memory that counts for the limit: anonymous memory as the kernel sees it, and the rings.
 * RssShmem is not used: with a tmpfs as root, as on boards that run from their initramfs, it
 * includes all code. */
static uint64_t used_memory(const struct agent *agent)
{
	uint64_t rings = 0;

	for (uint32_t i = 0; i < agent->budget.slots; i++) {
		struct stream *s = agent->stream[i];

		if (agent->budget.virtual && stream_state(s) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&s->lock);
		rings += ring_source_memory(&agent->session[i].ring);
		pthread_mutex_unlock(&s->lock);
	}
	return anonymous_memory() + rings;
}

static void say_agent(struct answering *a, const struct agent *agent)
{
	char line[256];
	struct order_agent o = {.pid = (uint64_t)getpid(),
				.programs = agent_live(agent),
				.places = agent->budget.slots,
				.collectors_most = agent->budget.links,
				.used_bytes = used_memory(agent),
				.limit_bytes = agent->budget.limit,
				.orders = agent->settings.orders};

	for (uint32_t i = 0; i < agent->budget.links; i++)
		o.collectors += agent->link[i].fd >= 0 && agent->link[i].greeted;
	order_agent_format(line, sizeof(line), &o);
	control_answer_say(a, line);
}

static void say_program(struct answering *a, struct stream *s)
{
	struct order_program p = {0};
	struct stream_ledger ledger;
	char line[512];

	pthread_mutex_lock(&s->lock);
	ledger = stream_ledger(s);
	p.pid = (uint64_t)s->target.pid;
	p.uid = s->target.uid;
	p.mode = s->mode;
	p.interval = s->mode == RING_SAMPLE ? s->sample_interval : 0;
	p.since_ns = stream_now(s);
	p.events = ledger.produced;
	p.lost = ledger.lost;
	p.before = s->source->ops->totals(s->source).before;
	p.spool_bytes = spool_waiting(&s->spool);
	p.spool_most = s->spool.size;
	p.ended = s->state != STREAM_LIVE;
	for (unsigned i = 0; i < STREAM_ID_SIZE; i++)
		snprintf(p.id + 2 * i, 3, "%02x", s->id[i]);
	words_clean(p.name, sizeof(p.name), target_name(&s->target),
		    strlen(target_name(&s->target)));
	pthread_mutex_unlock(&s->lock);
	order_program_format(line, sizeof(line), &p);
	control_answer_say(a, line);
}

static bool may_see(const struct stream *s, uid_t uid, bool all)
{
	return stream_state(s) != STREAM_FREE && (all || s->target.uid == uid);
}

/* Returns true if the order was carried out. */
static bool control_answer_give(struct answering *a, struct stream *s, const struct order *order)
{
	struct order_result r = order_give(s, order);
	struct order_done d = {.done = r.status == HEAPCAST__REPLY_STATUS__REPLY_DONE,
			       .pid = (uint64_t)s->target.pid,
			       .time_ns = r.time_ns,
			       .mode = r.mode,
			       .interval = r.sample_interval,
			       .snapshot = r.snapshot};
	char line[512];

	snprintf(d.text, sizeof(d.text), "%s", r.text);
	order_done_format(line, sizeof(line), &d);
	control_answer_say(a, line);
	return d.done;
}

static void give_all(struct answering *a, struct agent *agent, uid_t uid, bool all,
		     const struct order_question *q)
{
	struct order order = q->order;
	uint32_t asked = 0, done = 0;
	char by[ORDER_BY_MAX];

	snprintf(by, sizeof(by), "agent ctl uid %u", (unsigned)uid);
	order.by = by;
	for (uint32_t i = 0; i < agent->budget.slots; i++) {
		struct stream *s = agent->stream[i];

		/* An order for all programs skips those that have ended. An order for one program
		 * reports why it was refused. */
		if (!may_see(s, uid, all) || (q->pid && s->target.pid != q->pid) ||
		    (!q->pid && stream_state(s) != STREAM_LIVE))
			continue;
		asked++;
		done += control_answer_give(a, s, &order);
	}
	if (done)
		drain_kick(&agent->drain);
	if (!asked)
		control_answer_say(
			a, q->pid ? "no no program of yours with this number is recorded here"
				  : "no no program of yours is recorded here now");
	else
		control_answer_say(a, done == asked ? "ok" : "no it was refused");
}

static size_t control_answer_answer(void *context, uid_t uid, bool all,
				    const struct order_question *q, char *out)
{
	struct agent *agent = context;
	struct answering a = {.out = out};

	if (!q->status) {
		give_all(&a, agent, uid, all, q);
		return a.length;
	}
	say_agent(&a, agent);
	for (uint32_t i = 0; i < agent->budget.slots; i++)
		if (may_see(agent->stream[i], uid, all))
			say_program(&a, agent->stream[i]);
	control_answer_say(&a, "ok");
	return a.length;
}

int agent_open_control_socket(struct agent *a, const char *socket)
{
	char name[CONTROL_NAME_MAX];
	int n = snprintf(name, sizeof(name), "%s" CONTROL_SUFFIX, socket);

	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	/* The answer is built in the main loop's scratch memory, which is unused between two
	 * callbacks. */
	if (a->link_packer.scratch.size < CONTROL_ANSWER_MAX)
		return -ENOMEM;
	return control_socket_open(&a->control_socket, &a->loop, name,
				   access_others(&a->settings.access), control_answer_answer, a,
				   (char *)a->link_packer.scratch.memory);
}
