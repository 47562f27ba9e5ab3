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
#include "collector/snapshot/state.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/store.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

void look_end(struct snapshot_taking *t)
{
	view_free(t->view);
	recording_close(t->recording);
	t->view = NULL;
	t->recording = NULL;
}

static int look_open_stream(struct snapshot_taking *t, const struct snapshot_member *m,
			    struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(t->store, &m->stream);
	int r = path ? recording_open(path, NULL, NULL, &t->recording, err) : -ENOMEM;

	return r ? r : view_new(t->recording, NULL, &t->view, err);
}

/*
 * Opens or refreshes the stream's recording. Returns 0 or a negative errno. If the recording could
 * not be opened, t->recording is NULL; the file of a stream that has just begun may be missing or
 * empty.
 */
static int look_again(struct snapshot_taking *t, const struct snapshot_member *m,
		      struct err_text *err)
{
	int r;

	if (!t->recording) {
		r = look_open_stream(t, m, err);
		if (r < 0)
			look_end(t);
		return r;
	}
	r = recording_refresh(t->recording, err);
	return r > 0 ? view_refresh(t->view, err) : r;
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

static void look_describe(const struct recording *recording, struct snapshot_member *m)
{
	const struct process_info *p = recording_process(recording);

	member_set_text(&m->host, p->host ? p->host : "");
	member_set_text(&m->executable, p->executable ? p->executable : "");
	m->pid = p->pid;
	m->wall_ns = p->start_wall_ns + m->time_ns;
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

static int merge_stream(struct snapshot_taking *t, struct snapshot_member *m, struct err_text *err)
{
	int r = begin_merge(t, err);

	look_describe(t->recording, m);
	if (!m->late)
		find_clock(t, place_of(t, m), m);
	if (!r)
		r = merge_add(t->merge, t->view, place_of(t, m)->replied_ns, m, err);
	look_end(t);
	if (r == 1)
		begin_anew(t);
	else if (!r)
		place_of(t, m)->state = PLACE_IN;
	return r < 0 ? r : 0;
}

int look_at_member(struct snapshot_taking *t, struct snapshot_member *m, struct err_text *err)
{
	struct err_text why = {0};
	int r = look_again(t, m, &why);

	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	if (!r && is_stored(t->recording, m))
		return merge_stream(t, m, err);
	if ((!r || !t->recording) &&
	    taking_ns(t) < place_of(t, m)->replied_ns + t->request->timeout_ns)
		return -EAGAIN;
	look_end(t);
	member_set_missing(t, m,
			   r < 0 ? err_get(&why, r)
				 : "what it sent has not come as far as its marker in time");
	return 0;
}

/* ---- late ---- */

/* Sets the stream's time of the snapshot, by its host's clock. Returns 1 if it is stored beyond
 * that. A stream that ended before, or began later, has nothing in use. */
static int find_late_time(const struct snapshot_taking *t, struct snapshot_member *m,
			  struct place *place)
{
	const struct process_info *p = recording_process(t->recording);
	bool later = t->begun_wall_ns < p->start_wall_ns;

	m->time_ns = later ? 0 : t->begun_wall_ns - p->start_wall_ns;
	if (!later && recording_watermark_ns(t->recording) > m->time_ns)
		return 1;
	if ((later || p->ended) && !place->named)
		place->state = PLACE_LEFT;
	return 0;
}

int look_at_late(struct snapshot_taking *t, struct snapshot_member *m, struct err_text *err)
{
	struct place *place = place_of(t, m);
	struct err_text why = {0};
	int r = look_again(t, m, &why);

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
	r = merge_stream(t, m, err);
	if (!r && place->state == PLACE_IN)
		free(take_ptr(m->missing));
	return r;
}
