/*
 * Delivers a session's batches and ends the session. A file takes batches at once, collectors take
 * them when they come. Once the program has ended, the time is limited. If no collector comes
 * within the linger time, the rest goes to a file. If a file can't be written for as long (a full
 * disk), the rest is given up, counted and reported. A signal to the agent ends both waits at once.
 *
 * The stream is safe once one collector has all of it. The session then waits a while for other
 * collectors that were welcomed and lack a part: those that keep taking the stream, and those that
 * are away. If a collector that has a key or is named with --collector lacks a part, this part goes
 * to a file.
 *
 *   frames --> file ------------ works ------------------> acknowledged
 *                  \-- fails --> linger --> closed --\
 *          --> collectors ------ acknowledge -------------> acknowledged
 *                  \-- none ---> linger --> a file --|
 *                                             none --+---> given up
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/serve/agent.h"
#include "base/log.h"
#include "base/ban.h"

static bool has_subscriber(const struct session *s)
{
	for (uint32_t i = 0; i < s->agent->budget.links; i++)
		if (s->agent->link[i].fd >= 0 && s->agent->link[i].subscription[s->slot].active)
			return true;
	return false;
}

static void forget_links(struct session *s)
{
	for (uint32_t i = 0; i < s->agent->budget.links; i++)
		link_forget(&s->agent->link[i], s->slot);
}

/* Tells the spool which batches are safe: those in a file or at a collector. A collector that takes
 * no more does not hold up the program. */
static void tell_spool(struct session *s)
{
	bool file = s->file.fd >= 0, links = !file || s->for_away || has_subscriber(s);
	uint64_t number = s->link_acked, kept, before;

	if (file && !s->for_away && s->file.next - 1 > number)
		number = s->file.next - 1;
	kept = links ? session_kept(s) : number;
	pthread_mutex_lock(&s->stream.lock);
	before = s->stream.spool.acked;
	s->stream.spool.held = file ? s->file.next : UINT64_MAX;
	if (s->given_up)
		number = kept = s->stream.spool.next - 1;
	if (stream_state(&s->stream) != STREAM_FREE)
		spool_ack(&s->stream.spool, number, kept < number ? kept : number);
	pthread_mutex_unlock(&s->stream.lock);
	if (number > before)
		drain_kick(&s->agent->drain);
}

/* Returns the number of events up to batch `number`. */
static uint64_t events_upto(struct session *s, uint64_t number)
{
	uint64_t events;

	pthread_mutex_lock(&s->stream.lock);
	events = spool_account_at(&s->stream.spool, number).events;
	pthread_mutex_unlock(&s->stream.lock);
	return events;
}

/* Leaves the rest in the spool on disk, if there is one, for the next agent. */
static void leave_on_disk(struct session *s)
{
	struct spool *spool = &s->stream.spool;
	uint64_t events;

	if (!spool->disk.folder)
		return;
	pthread_mutex_lock(&s->stream.lock);
	stream_leave_spool(&s->stream, &s->agent->link_packer, s->agent->file_out);
	events = spool_account_at(spool, spool->first - 1).events;
	pthread_mutex_unlock(&s->stream.lock);
	if (events <= s->saved)
		return;
	log_warn("no collector received the end of pid %d: it stays in %s, and the next agent "
		 "that spools there sends it",
		 (int)s->stream.target.pid, spool->disk.folder->path);
	s->saved = events;
}

/* Gives the rest up, because nothing takes it: from here on every batch counts as acknowledged. */
static void session_deliver_give_up(struct session *s)
{
	s->given_up = true;
	if (!s->file_error)
		s->saved = events_upto(s, s->link_acked);
	leave_on_disk(s);
	forget_links(s);
}

static void give_file_up(struct session *s)
{
	if (s->for_away) {
		log_error("can't keep in %s what collectors that are away lack: %s", s->file.path,
			  strerror(-s->file.error));
		file_sink_close(&s->file);
		s->file.path[0] = '\0';
		return;
	}
	s->file_error = s->file.error;
	s->saved = events_upto(s, s->file.next - 1);
	file_sink_close(&s->file);
	if (!has_subscriber(s))
		session_deliver_give_up(s);
}

uint64_t session_unsaved(struct session *s)
{
	struct stream_ledger ledger = {0};
	uint64_t saved = 0;

	pthread_mutex_lock(&s->stream.lock);
	if (stream_state(&s->stream) != STREAM_FREE) {
		ledger = stream_ledger(&s->stream);
		saved = spool_account_at(&s->stream.spool, s->stream.spool.acked).events;
	}
	pthread_mutex_unlock(&s->stream.lock);
	return ledger.delivered + ledger.pending - saved;
}

/* Returns true if the agent was told to stop and waiting is of no use: no collector is subscribed,
 * or half of the time to stop has passed. The other half is reserved for writing a file. */
static bool hurried(const struct session *s)
{
	const struct agent *a = s->agent;

	return a->hurried ||
	       (a->stopping && (!has_subscriber(s) ||
				clock_monotonic_ns() - a->stop_ns > a->settings.stop_ns / 2));
}

static void wait_for_room(struct session *s, uint64_t now)
{
	uint64_t since = s->file.failed_ns > s->progress_ns ? s->file.failed_ns : s->progress_ns;
	uint64_t linger_ns = s->agent->settings.linger_ns;

	if (hurried(s) || now - since >= linger_ns) {
		give_file_up(s);
		return;
	}
	if (!s->waits_for_room)
		log_warn("pid %d has ended; waiting up to %.3g s for room to write the rest to %s "
			 "(a signal ends that)",
			 (int)s->stream.target.pid, (double)linger_ns / 1e9, s->file.path);
	s->waits_for_room = true;
}

/* Returns the time when a collector last acknowledged something or subscribed. Subscribing delays
 * the end by the linger time at most. */
static uint64_t last_sign(const struct session *s)
{
	uint64_t sign = s->progress_ns, most = s->progress_ns + s->agent->settings.linger_ns;

	for (uint32_t i = 0; i < s->agent->budget.links; i++) {
		const struct subscription *sub = &s->agent->link[i].subscription[s->slot];

		if (s->agent->link[i].fd >= 0 && sub->active && sub->since_ns > sign)
			sign = sub->since_ns;
	}
	return sign < most ? sign : most;
}

/* Returns true if the ended stream is acknowledged completely. Call it with the stream's lock
 * held. */
static bool session_deliver_is_taken(const struct session *s)
{
	return stream_state(&s->stream) == STREAM_ENDED && !s->stream.frame_pending &&
	       s->stream.spool.acked == s->stream.spool.next - 1;
}

static bool is_safe(struct session *s)
{
	bool safe;

	pthread_mutex_lock(&s->stream.lock);
	safe = session_deliver_is_taken(s);
	pthread_mutex_unlock(&s->stream.lock);
	return safe;
}

static void linger(struct session *s)
{
	enum stream_state state = stream_state(&s->stream);
	uint64_t now = clock_monotonic_ns();

	if ((state != STREAM_ENDING && state != STREAM_ENDED) || s->given_up)
		return;
	if (s->file.fd >= 0) {
		if (s->file.error)
			wait_for_room(s, now);
		return;
	}
	if (!hurried(s) && now - last_sign(s) < s->agent->settings.linger_ns)
		return;
	if (is_safe(s))
		return;
	if (s->file_error) { /* its file was written already, and failed */
		session_deliver_give_up(s);
		return;
	}
	s->lingered = true;
	s->progress_ns = now;
	if (session_open_file(s, session_kept(s) == UINT64_MAX ? 1 : session_kept(s) + 1, NULL) ==
	    0)
		forget_links(s);
	else
		session_deliver_give_up(s);
}

static void report(struct session *s)
{
	char taken_by[256], lacking[256];
	const struct stream *t = &s->stream;
	struct session_report r = {
		.target = &t->target,
		.end = t->end,
		.ledger = stream_ledger(t),
		.batches = t->spool.next - 1,
		.bytes = t->spool.bytes_total,
		.allocations = t->delivered.allocations,
		.stacks_cut = t->stacks_cut,
		.nodes = t->stacks.base + t->stacks.nodes,
		.path = s->file.path,
		.lingered = s->lingered,
		.rest = s->file.first > 1,
		.taken_by = taken_by,
		.lacking = lacking,
		.rest_for_away = s->for_away,
		.rest_cut = s->away_cut,
		.given_up = s->given_up,
		.file_error = s->file_error,
		.saved = s->saved,
		.unread = session_ring(s) ? s->ring.records_damaged : 0,
		.no_place = t->no_thread,
		.modules_lost = t->modules.turned_away,
	};

	session_name_collectors(s, true, taken_by, sizeof(taken_by));
	session_name_collectors(s, false, lacking, sizeof(lacking));
	if (s->agent->stopping && s->given_up && r.ledger.delivered > r.saved) {
		s->agent->undelivered += r.ledger.delivered - r.saved;
		s->agent->undelivered_of++;
	}
	if (s->agent->finished)
		s->agent->finished(s->agent->context, &r);
}

/* Writes what absent collectors lack to a file, once. */
static void keep_for_away(struct session *s)
{
	uint64_t from = session_absent_from(s);
	char names[256];

	s->for_away = true;
	session_name_collectors(s, false, names, sizeof(names));
	pthread_mutex_lock(&s->stream.lock);
	s->away_cut = spool_oldest(&s->stream.spool) > from;
	pthread_mutex_unlock(&s->stream.lock);
	if (session_open_file(s, from, NULL) == 0)
		log_warn("%s lacks a part of the recording of pid %d: it is kept in %s", names,
			 (int)s->stream.target.pid, s->file.path);
}

static bool is_writing(const struct session *s)
{
	return s->file.fd >= 0 && s->file.next < s->stream.spool.next;
}

static void session_deliver_finish(struct session *s)
{
	bool done, absent;

	pthread_mutex_lock(&s->stream.lock);
	done = session_deliver_is_taken(s) && !is_writing(s) &&
	       (s->for_away || s->given_up || !session_has_laggard(s));
	absent = done && !s->given_up && !s->for_away && !s->file_error && s->file.fd < 0 &&
		 session_has_absent(s);
	pthread_mutex_unlock(&s->stream.lock);
	if (absent) {
		keep_for_away(s);
		done = s->file.fd < 0;
	}
	if (!done)
		return;
	report(s);
	file_sink_close(&s->file);
	forget_links(s);
	s->stream.source->ops->retire(s->stream.source);
	pthread_mutex_lock(&s->stream.lock);
	symbol_files_keep(&s->agent->files, &s->stream);
	stream_close(&s->stream);
	pthread_mutex_unlock(&s->stream.lock);
	session_give(s);
	s->agent->host.generation++;
	beacon_send(&s->agent->beacon);
}

static void session_deliver_write_file(struct session *s)
{
	bool failed = s->file.error;
	int r = file_sink_pump(&s->file, &s->stream);

	if (r < 0 && !failed)
		log_error("can't write to %s: %s; trying again while the spool has room",
			  s->file.path, strerror(-r));
}

void session_deliver(struct session *s)
{
	linger(s);
	if (s->file.fd >= 0)
		session_deliver_write_file(s);
	tell_spool(s);
	session_deliver_finish(s);
}
