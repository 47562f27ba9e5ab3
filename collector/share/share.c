/* Shares what is stored. See share.h. */
#include "collector/share/share.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "collector/catalogue/store.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/shards.h"
#include "collector/fleet/clocks.h"
#include "collector/query/minutes.h"
#include "collector/share/collectors.h"
#include "collector/share/due.h"
#include "collector/share/kept.h"
#include "collector/share/lane.h"
#include "collector/share/send.h"
#include "collector/share/share_number.h"
#include "collector/share/sign.h"

#include "base/ban.h"

#define DAY_NS	  86400000000000u
#define HOUR_NS	  3600000000000u
#define SECOND_NS 1000000000u
/* Two clocks may differ by so much. */
#define CLOCK_OFF_NS HOUR_NS
/* A server that hangs is given up. An INSERT of 16 MB takes it a second or two. */
#define CONNECT_MS 5000
#define ALL_MS	   30000
/* Of share_check, which somebody waits for. */
#define CHECK_CONNECT_MS 3000
#define CHECK_ALL_MS	 10000

DEFINE_CLEANUP(store_close, struct store *)

struct share {
	struct share_options options;
	char *data, *folder;
	int lock; /* of the folder */
	struct clickhouse *client;
	uint64_t collector; /* our number, among those that share */
	uint64_t version;
	struct sign sign;
	uint32_t kept; /* the first day that is kept (kept.h) */
	char *address;
	struct lane *lanes; /* by shard */
	size_t lane_count;
	atomic_bool stopped;
	pthread_mutex_t sent_lock; /* protects `sent` */
	struct intern sent;	   /* the streams of which nothing is due */
};

/* One pass. */
struct share_pass {
	struct share *share;
	struct store *store;
	struct stream_summary *streams;
	size_t count;
	struct share_report *report;
};

/* ---- who we are ---- */

/* Two that send at the same time would send all twice. */
static int lock_folder(struct share *share, struct err_text *err)
{
	cleanup(cleanup_free) char *path = NULL;

	if (asprintf(&path, "%s/lock", share->folder) < 0)
		return -ENOMEM;
	share->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (share->lock < 0)
		return err_set(err, -errno, "can't open %s: %s", path, strerror(errno));
	if (flock(share->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK
		       ? err_set(err, -EBUSY,
				 "another process (share, or gather --store) sends what "
				 "%s holds",
				 share->data)
		       : err_set(err, -errno, "can't lock %s: %s", path, strerror(errno));
}

static int make_folder(struct share *share, struct err_text *err)
{
	int r;

	if (asprintf(&share->folder, "%s/" SHARE_FOLDER, share->data) < 0) {
		share->folder = NULL;
		return -ENOMEM;
	}
	if (access(share->data, F_OK) < 0)
		return err_set(err, -errno, "there is no data folder %s: --data names another",
			       share->data);
	if (mkdir(share->folder, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "can't make %s: %s", share->folder, strerror(errno));
	r = lock_folder(share, err);
	return r ? r : share_number_keep(share->folder, &share->collector, err);
}

int share_new(const struct share_options *options, struct share **ret_share, struct err_text *err)
{
	struct share *share = calloc(1, sizeof(*share));
	int r;

	if (!share)
		return -ENOMEM;
	share->options = *options;
	share->lock = -1;
	sign_init(&share->sign);
	pthread_mutex_init(&share->sent_lock, NULL);
	share->options.url = NULL;
	share->data = strdup(options->data);
	share->address = strdup(options->address ? options->address : "");
	r = share->data && share->address ? make_folder(share, err) : -ENOMEM;
	if (!r)
		r = clickhouse_open(options->url, &share->client, err);
	if (!r)
		clickhouse_set_patience(share->client, CONNECT_MS, ALL_MS);
	if (r < 0) {
		share_free(share);
		return r;
	}
	*ret_share = share;
	return 0;
}

static void free_lanes(struct share *share)
{
	for (size_t i = 0; i < share->lane_count; i++)
		lane_done(&share->lanes[i]);
	free(share->lanes);
	share->lanes = NULL;
	share->lane_count = 0;
}

void share_free(struct share *share)
{
	if (!share)
		return;
	free_lanes(share);
	clickhouse_close(share->client);
	if (share->lock >= 0)
		close(share->lock);
	pthread_mutex_destroy(&share->sent_lock);
	intern_done(&share->sent);
	free(share->folder);
	free(share->data);
	free(share->address);
	free(share);
}

void share_stop(struct share *share)
{
	atomic_store(&share->stopped, true);
	clickhouse_stop(share->client);
}

int share_check(struct share *share, struct err_text *err)
{
	int r;

	clickhouse_set_patience(share->client, CHECK_CONNECT_MS, CHECK_ALL_MS);
	r = clickhouse_prepare(share->client, err);
	clickhouse_set_patience(share->client, CONNECT_MS, ALL_MS);
	return r;
}

bool share_is_refused(int error)
{
	return error == -EACCES || error == -EKEYREJECTED || error == -EPROTO || error == -EINVAL;
}

/* ---- lanes ---- */

static int make_lanes(struct share *share, struct err_text *err)
{
	size_t shards = clickhouse_shards(share->client);
	int r = 0;

	share->lanes = calloc(shards, sizeof(*share->lanes));
	if (!share->lanes)
		return -ENOMEM;
	while (!r && share->lane_count < shards) {
		struct lane *lane = &share->lanes[share->lane_count];

		r = lane_init(lane, share->client, share->folder, (uint32_t)share->lane_count, err);
		share->lane_count++;
	}
	if (r < 0)
		free_lanes(share);
	return r;
}

/* Returns an error if no shard can be written to. */
static int begin_lanes(struct share *share, struct share_report *report, struct err_text *err)
{
	size_t open = 0;
	int r = share->lane_count ? 0 : clickhouse_prepare(share->client, err);

	if (!r && !share->lane_count)
		r = make_lanes(share, err);
	for (size_t i = 0; !r && i < share->lane_count; i++)
		lane_tell_damage(&share->lanes[i], &report->damaged);
	for (size_t i = 0; !r && i < share->lane_count; i++)
		open += !lane_begin(&share->lanes[i], share->collector);
	if (r < 0 || open)
		return r;
	return err_set(err, share->lanes[0].error, "%s", share->lanes[0].why.text);
}

static struct lane *lane_of(const struct share *share, const struct stream_summary *s)
{
	return &share->lanes[clickhouse_shard_of(s->id.bytes, share->lane_count)];
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns -EBUSY with a sentence if somebody else gives signs in our name. */
static int share_give_sign(struct share *share, struct err_text *err)
{
	const struct shared_collector self = {.number = share->collector,
					      .address = share->address,
					      .keep_days = share->options.keep_days};

	return sign_give(&share->sign, share->client, &self, share->folder, err);
}

/* ---- days ---- */

/*
 * Of the collectors that are there, and that want days to be dropped, the one of the lowest number
 * does it, and the longest time counts. Returns how many days are kept; 0: none is to be dropped,
 * or by another one.
 */
static uint32_t agreed_days(const struct share *share, const struct shared_collector *list,
			    size_t count)
{
	uint32_t days = share->options.keep_days;

	for (size_t i = 0; i < count; i++) {
		if (!list[i].keep_days || shared_collector_away_since(&list[i]))
			continue;
		if (list[i].number < share->collector)
			days = 0;
		if (days && list[i].keep_days > days)
			days = list[i].keep_days;
	}
	return days;
}

/* What is dropped is gone, for all. So two clocks have to agree on which day it is. */
static bool clocks_agree(uint64_t server_ns, struct err_text *ret_why)
{
	uint64_t own_ns = now_ns(),
		 off = own_ns > server_ns ? own_ns - server_ns : server_ns - own_ns;
	char text[CLOCK_GAP_TEXT];

	if (off <= CLOCK_OFF_NS)
		return true;
	err_set(ret_why, -EINVAL,
		"no day is dropped from the shared store: the clock of this machine is %s %s that "
		"of ClickHouse's server. Set the wrong one",
		clock_gap_text(text, off), own_ns > server_ns ? "ahead of" : "behind");
	return false;
}

/* Returns the first day that is to be kept; 0: none is to be dropped now. */
static uint32_t first_kept_day(struct share *share, struct share_report *report)
{
	struct shared_collector *list = NULL;
	uint32_t days, today;
	size_t count = 0;

	if (!share->options.keep_days ||
	    shared_collectors(share->client, &list, &count, NULL) < 0 || !count) {
		shared_collectors_free(list, count);
		return 0;
	}
	today = (uint32_t)(list[0].asked_ns / DAY_NS);
	days = clocks_agree(list[0].asked_ns, &report->undropped) ? agreed_days(share, list, count)
								  : 0;
	shared_collectors_free(list, count);
	return days && days < today ? today - days : 0;
}

/* Looks which days are kept, and drops the others where that is ours to do. */
static int keep_days(struct share *share, struct share_report *report, struct err_text *err)
{
	uint32_t day;
	int r = kept_read(share->client, &share->kept, err);

	if (r < 0)
		return r;
	day = first_kept_day(share, report);
	if (day <= share->kept)
		return 0;
	/* Where a shard is away, days stay until a later pass: others still get their sums. */
	if (!kept_move(share->client, share->kept, day, NULL))
		share->kept = day;
	return 0;
}

/* ---- a pass ---- */

static void keep_first(struct err_text *text, const char *why)
{
	if (!*text->text)
		err_set(text, -EIO, "%s", why);
}

static void keep_error(struct share_report *report, int error, const char *why)
{
	keep_first(&report->why, why);
	report->error = report->error ? report->error : error;
}

static void note_waiting(struct share_pass *p, const struct stream_summary *s,
			 const struct mark *mark, int error, const char *why)
{
	uint64_t end = s->start_wall_ns + s->last_ns,
		 from = mark->sent_to ? minute_start_ns(mark->sent_to) : s->start_wall_ns,
		 late = end > from ? end - from : 0;

	p->report->waiting++;
	p->report->waiting_bytes += s->recording_bytes;
	p->report->late_ns = late > p->report->late_ns ? late : p->report->late_ns;
	keep_error(p->report, error, why);
}

/* Its days are in 1970, so they are before the first that is kept. */
static void note_unset(struct share_pass *p, const struct stream_summary *s)
{
	if (!p->report->unset++)
		err_set(&p->report->unset_why, -EINVAL, "the clock of %.200s was not set", s->host);
}

static int pass_stream(struct share_pass *p, const struct stream_summary *s)
{
	struct share *share = p->share;
	struct lane *lane = lane_of(share, s);
	struct mark *mark = marks_of(&lane->marks, &s->id);
	const struct sending sending = {.store = p->store,
					.symbols = share->options.symbols,
					.lane = lane,
					.collector = share->collector,
					.kept = share->kept,
					.version = &share->version,
					.folder = share->folder,
					.stopped = &share->stopped};
	struct err_text err = {0};
	int r;

	if (!mark)
		return -ENOMEM;
	if (share->kept && !fleet_clock_is_set(s->start_wall_ns))
		note_unset(p, s);
	if (!stream_is_due(s, mark, &lane->marks, share->collector, share->kept)) {
		p->report->streams++;
		return 0;
	}
	if (!mark->sent_to && !lane->error)
		lane_read_others(lane, share->collector);
	if (!lane->error && stream_is_copy(s, mark, &lane->marks)) {
		p->report->foreign++;
		return 0;
	}
	mark->arrived = false;
	r = lane->error ? 0 : stream_send(&sending, s, &err);
	if (r == -ENOMEM || r == -ECANCELED)
		return r;
	if (lane->error)
		note_waiting(p, s, marks_of(&lane->marks, &s->id), lane->error, lane->why.text);
	else if (r < 0) {
		p->report->unread++;
		keep_first(&p->report->unread_why, err_get(&err, r));
	} else
		lane->streams++;
	return 0;
}

static int pass_streams(struct share_pass *p)
{
	const struct share_options *o = &p->share->options;
	int r = 0;

	for (size_t i = 0; !r && i < p->count; i++) {
		if (atomic_load(&p->share->stopped))
			return -ECANCELED;
		if (o->progress)
			o->progress(o->progress_context, i, p->count);
		r = pass_stream(p, &p->streams[i]);
	}
	if (o->progress)
		o->progress(o->progress_context, p->count, p->count);
	return r;
}

static void settle_lane(const struct share_pass *p, struct lane *lane)
{
	const struct share *share = p->share;

	for (size_t i = 0; i < p->count; i++) {
		const struct stream_summary *s = &p->streams[i];
		const struct mark *mark;

		if (lane_of(share, s) != lane)
			continue;
		mark = marks_of(&lane->marks, &s->id);
		if (!mark ||
		    !stream_is_settled(s, mark, &lane->marks, share->collector, share->kept))
			return;
	}
	lane_settled(lane);
}

static void end_lanes(struct share_pass *p)
{
	struct share *share = p->share;

	for (size_t i = 0; i < share->lane_count; i++) {
		struct lane *lane = &share->lanes[i];

		/* Streams whose last rows did not arrive wait, even if others did. */
		if (lane->error || lane_send(lane)) {
			p->report->waiting += lane->streams;
			if (lane->streams)
				keep_error(p->report, lane->error, lane->why.text);
		} else {
			p->report->streams += lane->streams;
			if (lane->in_doubt)
				settle_lane(p, lane);
		}
		lane->streams = 0;
		p->report->sums += lane->sums;
		lane->sums = 0;
	}
}

/* If no shard can be reached, all that is due waits. */
static void note_all_waiting(struct share_pass *p, int error, const char *why)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct stream_summary *s = &p->streams[i];
		const struct mark nothing = {0};
		struct marks unknown = {0}, *marks = p->share->lane_count
							     ? &lane_of(p->share, s)->marks
							     : &unknown;
		const struct mark *mark = marks_of(marks, &s->id);

		mark = mark ? mark : &nothing;
		if (stream_is_due(s, mark, marks, p->share->collector, p->share->kept))
			note_waiting(p, s, mark, error, why);
		marks_done(&unknown);
	}
}

/* A lane with an error may still hold rows: streams stay as they were unless more is due. */
static bool has_arrived(const struct share_pass *p, const struct stream_summary *s)
{
	struct lane *lane = lane_of(p->share, s);
	struct mark *mark = marks_of(&lane->marks, &s->id);

	if (!mark)
		return false;
	if (stream_is_due(s, mark, &lane->marks, p->share->collector, p->share->kept) &&
	    !stream_is_copy(s, mark, &lane->marks))
		mark->arrived = false;
	else if (!lane->error)
		mark->arrived = true;
	return mark->arrived;
}

static void note_sent(const struct share_pass *p)
{
	struct share *share = p->share;
	struct intern sent = {0};

	for (size_t i = 0; share->lane_count && i < p->count; i++)
		if (has_arrived(p, &p->streams[i]) && p->streams[i].state != STREAM_LIVE)
			intern_bytes(&sent, p->streams[i].id.bytes, sizeof(p->streams[i].id.bytes));
	pthread_mutex_lock(&share->sent_lock);
	intern_done(&share->sent);
	share->sent = sent;
	pthread_mutex_unlock(&share->sent_lock);
}

bool share_has_sent(struct share *share, const struct stream_id *stream)
{
	bool has;

	pthread_mutex_lock(&share->sent_lock);
	has = intern_find(&share->sent, stream->bytes, sizeof(stream->bytes));
	pthread_mutex_unlock(&share->sent_lock);
	return has;
}

int share_pass(struct share *share, struct share_report *ret_report, struct err_text *err)
{
	cleanup(cleanup_store_close) struct store *store = NULL;
	struct share_pass p = {.share = share, .report = ret_report};
	int r = store_open(share->data, STORE_READ, &store, err);

	*ret_report = (struct share_report){0};
	p.store = store;
	if (!r)
		r = store_list_quickly(store, &p.streams, &p.count, err);
	if (r < 0)
		return r;
	r = begin_lanes(share, ret_report, err);
	if (!r)
		r = share_give_sign(share, err);
	if (r < 0)
		note_all_waiting(&p, r, err_get(err, r));
	if (!r)
		r = keep_days(share, ret_report, err);
	if (!r)
		r = pass_streams(&p);
	if (!r)
		end_lanes(&p);
	if (r != -ECANCELED && r != -ENOMEM) /* else lanes may hold rows */
		note_sent(&p);
	store_list_free(p.streams, p.count);
	return r == -ECANCELED ? err_set(err, r, "it was stopped") : r;
}
