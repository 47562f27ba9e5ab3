/*
 * Waits until a stream is stored beyond its marker, and merges it. state.h describes the interface.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/query.h"
#include "collector/query/sweep/parallel.h"
#include "collector/snapshot/state.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/store.h"
#include "collector/recording/completeness.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

static void look_close(struct look *look)
{
	gathered_done(&look->gathered);
	view_free(look->view);
	recording_close(look->recording);
	*look = (struct look){0};
}

void look_end(struct snapshot_taking *t)
{
	look_close(&t->look);
	t->waits = false;
}

static int look_open_stream(const struct snapshot_taking *t, struct look *look,
			    const struct snapshot_member *m, struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(t->store, &m->stream);
	int r = path ? recording_open(path, NULL, NULL, &look->recording, err) : -ENOMEM;

	return r ? r : view_new(look->recording, NULL, &look->view, err);
}

/*
 * Opens or refreshes the stream's recording. Returns 0 or a negative errno. If the recording could
 * not be opened, look->recording is NULL; the file of a stream that has just begun may be missing
 * or empty.
 */
static int look_again(const struct snapshot_taking *t, struct look *look,
		      const struct snapshot_member *m, struct err_text *err)
{
	int r;

	if (!look->recording) {
		r = look_open_stream(t, look, m, err);
		if (r < 0)
			look_close(look);
		return r;
	}
	r = recording_refresh(look->recording, err);
	return r > 0 ? view_refresh(look->view, err) : r;
}

static bool has_marker(const struct recording *recording, const struct snapshot_member *m)
{
	for (uint32_t i = recording_marks(recording); i-- > 0;) {
		const struct mark_info *mark = recording_mark(recording, i);

		if (mark->kind == HEAPCAST__MARK_KIND__MARK_SNAPSHOT && mark->value == m->mark &&
		    mark->time_ns == m->time_ns)
			return true;
	}
	return recording_ledger(recording)->marks_left_out;
}

/* Tells whether everything before the marker is stored. */
static bool is_stored(const struct recording *recording, const struct snapshot_member *m)
{
	return has_marker(recording, m) &&
	       (recording_watermark_ns(recording) > m->time_ns || !recording_is_growing(recording));
}

/* A stream that moved here has not what was allocated before, and so on. */
static void find_incomplete(const struct recording *recording, struct snapshot_member *m)
{
	struct completeness c;

	recording_completeness(recording, &c);
	free(take_ptr(m->incomplete));
	if (!c.complete)
		m->incomplete = strdup(c.line);
}

static void look_describe(const struct recording *recording, struct snapshot_member *m)
{
	const struct process_info *p = recording_process(recording);

	member_set_text(&m->host, p->host ? p->host : "");
	member_set_text(&m->executable, p->executable ? p->executable : "");
	m->pid = p->pid;
	m->wall_ns = p->start_wall_ns + m->time_ns;
	find_incomplete(recording, m);
}

static int begin_merge(struct snapshot_taking *t, struct err_text *err)
{
	int fd = new_stream_fd(t->draft);

	if (t->merge)
		return 0;
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, -errno, "writing the snapshot: %s", strerror(errno));
	return merge_new(fd, new_stream_id(t->draft), t->snapshot.name, t->snapshot.wall_ns,
			 !t->sampled, &t->merge, err);
}

/* A stream has sampled blocks, so the merge starts over with an event per block. */
static void begin_anew(struct snapshot_taking *t)
{
	merge_free(take_ptr(t->merge));
	t->sampled = true;
	for (size_t i = 0; i < t->snapshot.count; i++)
		if (t->places[i].state == PLACE_IN)
			t->places[i].state =
				t->snapshot.members[i].late ? PLACE_LATE : PLACE_MARKED;
}

/* The order came between its sending and the reply; the marker is taken for the middle. */
static void find_clock(const struct snapshot_taking *t, const struct place *place,
		       struct snapshot_member *m)
{
	m->clock_error_ns = place->replied_ns / 2;
	m->clock_offset_ns = (int64_t)(m->wall_ns - t->begun_wall_ns - m->clock_error_ns);
}

static int merge_stream(struct snapshot_taking *t, struct look *look, struct snapshot_member *m,
			struct err_text *err)
{
	int r = begin_merge(t, err);

	look_describe(look->recording, m);
	if (!m->late)
		find_clock(t, place_of(t, m), m);
	if (!r)
		r = merge_add(t->merge, look->view, look->gathers ? &look->gathered : NULL,
			      place_of(t, m)->replied_ns, m, err);
	look_close(look);
	if (r == 1)
		begin_anew(t);
	else if (!r)
		place_of(t, m)->state = PLACE_IN;
	return r;
}

/* ---- members at their markers ---- */

/* Members that are looked at together. */
struct looks {
	struct snapshot_taking *taking;
	const uint32_t *members;
	struct look *list; /* parallel to `members` */
	struct err_text *err;
};

static struct snapshot_member *member_of(const struct looks *l, unsigned part)
{
	return &l->taking->snapshot.members[l->members[part]];
}

/* Reads a stream, beside other threads. The result is judged in its turn. */
static int look_ahead(void *context, unsigned part)
{
	const struct looks *l = context;
	const struct snapshot_member *m = member_of(l, part);
	struct look *look = &l->list[part];

	look->error = look_again(l->taking, look, m, &look->why);
	look->gathers = !look->error && is_stored(look->recording, m);
	if (look->gathers)
		look->error = merge_gather(look->view, m->time_ns, &look->gathered, &look->why);
	return 0;
}

/* Returns 0, -EAGAIN if the stream must be waited for, -ECANCELED if the merge starts over, or
 * another negative errno. */
static int take_look(void *context, unsigned part)
{
	const struct looks *l = context;
	struct snapshot_taking *t = l->taking;
	struct snapshot_member *m = member_of(l, part);
	struct look *look = &l->list[part];
	int r = look->error;

	if (r == -ENOMEM)
		return err_set(l->err, r, "out of memory");
	if (look->gathers) {
		r = r ? err_set(l->err, r, "%s", err_get(&look->why, r))
		      : merge_stream(t, look, m, l->err);
		return r == 1 ? -ECANCELED : r;
	}
	if ((!r || !look->recording) &&
	    taking_ns(t) < place_of(t, m)->replied_ns + t->request->timeout_ns) {
		t->look = *look;
		t->waits = true;
		*look = (struct look){0};
		return -EAGAIN;
	}
	member_set_missing(t, m,
			   r < 0 ? err_get(&look->why, r)
				 : "what it sent has not come as far as its marker in time");
	return 0;
}

int look_at_members(struct snapshot_taking *t, const uint32_t *members, unsigned count,
		    struct err_text *err)
{
	struct looks looks = {.taking = t, .members = members, .err = err};
	struct parallel_work work = {.context = &looks, .run = look_ahead, .merge = take_look};
	int r;

	/* While the first one is waited for, what others have would be read in vain. */
	work.parts = t->waits ? 1 : count;
	looks.list = calloc(work.parts, sizeof(*looks.list));
	if (!looks.list)
		return err_set(err, -ENOMEM, "out of memory");
	looks.list[0] = t->look;
	t->look = (struct look){0};
	t->waits = false;
	r = parallel_run(&work);
	for (unsigned i = 0; i < work.parts; i++)
		look_close(&looks.list[i]);
	free(looks.list);
	return r == -ECANCELED ? 0 : r;
}

/* ---- late ---- */

/* Sets the stream's time of the snapshot, by its host's clock. Returns 1 if it is stored beyond
 * that. A stream that ended before, or began later, has nothing in use. */
static int find_late_time(const struct snapshot_taking *t, struct snapshot_member *m,
			  struct place *place)
{
	const struct process_info *p = recording_process(t->look.recording);
	bool later = t->begun_wall_ns < p->start_wall_ns;

	m->time_ns = later ? 0 : t->begun_wall_ns - p->start_wall_ns;
	if (!later && recording_watermark_ns(t->look.recording) > m->time_ns)
		return 1;
	if ((later || p->ended) && !place->named)
		place->state = PLACE_LEFT;
	return 0;
}

int look_at_late(struct snapshot_taking *t, struct snapshot_member *m, struct err_text *err)
{
	struct place *place = place_of(t, m);
	struct err_text why = {0};
	int r = look_again(t, &t->look, m, &why);

	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	if (!r)
		r = find_late_time(t, m, place);
	if (r != 1) {
		look_end(t);
		return 0;
	}
	m->late = true;
	place->replied_ns = taking_ns(t);
	place->order = t->replies++;
	r = merge_stream(t, &t->look, m, err);
	if (!r)
		free(take_ptr(m->missing));
	return r < 0 ? r : 0;
}
