/*
 * What becomes of a stream on the way to the disk: what is said of a disk that refuses, a stream
 * whose files are removed, and who may hold memory while rows are derived. The test plays the
 * agent, and turns the loop.
 */
#include <errno.h>

#include "collector/catalogue/folder.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/stream_id.h"
#include "tests/unit/ingest/support/still.h"

static struct agent a;

static void turn_until_idle(void)
{
	for (unsigned i = 0; i < 3000 && (ingest->intakes->working || ingest->intakes->deriving);
	     i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_false(ingest->intakes->working || ingest->intakes->deriving);
}

/* An agent is connected, and its stream is asked for. Nothing is synced before it is due. */
static void begin(void)
{
	still_begin((struct ingest_options){.agents_max = 4, .listen = "127.0.0.1:0"});
	guest_dial(&a, 1);
	agent_greet(&a, a.fd, 1);
	while (!ingest->intake_count)
		uv_run(&loop, UV_RUN_ONCE);
	assert_true(agent_subscribed(&a, a.fd));
	ingest->links->window_bytes = 1 << 20;
	told[0] = 0;
}

static void end(void)
{
	guest_done(&a);
	still_end();
}

/* Sends these frames; they are written when it returns. */
static void frames(size_t from, size_t to)
{
	agent_frames(&a, a.fd, from, to);
	for (unsigned i = 0;
	     i < 3000 && stream_writer_bytes(ingest->intakes->writer) < a.b.ends[to - 1]; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(stream_writer_bytes(ingest->intakes->writer), a.b.ends[to - 1]);
}

/* Makes it durable, and whatever follows from that. */
static void sync_now(void)
{
	struct intake *s = ingest->intakes;

	turn_until_idle();
	s->dirty_since_ms = 0;
	intake_sync_if_due(s);
	assert_true(s->working || !s->dirty);
	turn_until_idle();
}

/* ---- a disk that refuses ---- */

/* It is said once, for whatever is refused, and again when all is accepted. */
static void what_is_said_of_a_disk(void **state)
{
	char again[256];

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	snprintf(again, sizeof(again), "warning: there is room in %s again: going on\n",
		 temporary_folder);
	disk_accepted(ingest, REFUSED_APPEND);
	disk_accepted(ingest, REFUSED_SYNC);
	check_told("");
	disk_refused(ingest, REFUSED_SYNC, "no room");
	check_told("warning: no room; nothing more is acknowledged, agents keep what they have; "
		   "trying again every second\n");
	disk_refused(ingest, REFUSED_SYNC, "no room");
	disk_refused(ingest, REFUSED_APPEND, "no room");
	disk_accepted(ingest, REFUSED_SYNC);
	check_told("");
	disk_accepted(ingest, REFUSED_SYNC);
	check_told("");
	disk_accepted(ingest, REFUSED_APPEND);
	check_told(again);
	disk_refused(ingest, REFUSED_APPEND, "once more");
	disk_accepted(ingest, REFUSED_SYNC);
	check_told("warning: once more; nothing more is acknowledged, agents keep what they have; "
		   "trying again every second\n");
	disk_accepted(ingest, REFUSED_APPEND);
	check_told(again);
	still_end();
}

/* ---- files that are removed ---- */

static void removed_files(void **state)
{
	char id[STREAM_ID_TEXT];
	char *folder;
	struct intake *s;

	(void)state;
	begin();
	frames(0, 3);
	sync_now();
	s = ingest->intakes;
	assert_int_equal(s->durable.next, 4);
	assert_true(s->held_bytes > 0);
	frames(3, 4);
	folder = stream_folder_path(store, &s->id);
	folder_remove(folder);
	free(folder);
	told[0] = 0;
	sync_now();
	assert_non_null(strstr(told, stream_id_format(id, &s->id)));
	assert_non_null(strstr(told, "warning: stream "));
	assert_non_null(strstr(told, " was removed while it was being written, and what it held is "
				     "gone; it begins anew with what its agent still has\n"));
	assert_non_null(strstr(told, ": what it had sent was removed here\n"));
	assert_null(strstr(told, "nothing more is acknowledged")); /* the disk refused nothing */
	assert_true(!s->writer && !s->dirty && !s->link && !s->held_bytes && !ingest->held_bytes);
	assert_int_equal(ingest->open_count, 0);
	guest_done(&a);
	/* It comes again, and is asked for all. */
	guest_dial(&a, 1);
	agent_greet(&a, a.fd, 1);
	for (unsigned i = 0; i < 3000 && !s->writer; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_true(agent_subscribed(&a, a.fd));
	assert_int_equal(a.subscribed[0], 0);
	end();
}

/* ---- memory for rows ---- */

/* Rows of a stream with an agent stay in memory while there is room for them. */
static void memory_is_held(void **state)
{
	struct intake *s;

	(void)state;
	begin();
	s = ingest->intakes;
	frames(0, 2);
	sync_now();
	assert_true(!s->parks && !s->underived);
	assert_int_equal(s->held_bytes, stream_writer_memory(s->writer));
	assert_true(s->held_bytes > 0);
	assert_int_equal(ingest->held_bytes, s->held_bytes);
	assert_int_equal(stream_writer_behind(s->writer), 0);
	/* It fits exactly; with another one beside it, it does not. */
	ingest->memory_limit = s->held_bytes;
	frames(2, 3);
	sync_now();
	assert_false(s->parks);
	ingest->memory_limit = s->held_bytes;
	ingest->held_bytes++;
	frames(3, 4);
	sync_now();
	assert_true(s->parks);
	assert_int_equal(s->held_bytes, 0);
	assert_int_equal(ingest->held_bytes, 1);
	assert_int_equal(stream_writer_memory(s->writer), 0);
	assert_int_equal(stream_writer_behind(s->writer), 0);
	ingest->held_bytes = 0;
	end();
}

/* For a stream without memory, rows wait until there is much to derive, or a minute. */
static void rows_that_wait(void **state)
{
	struct intake *s;

	(void)state;
	begin();
	s = ingest->intakes;
	ingest->memory_limit = (8 << 20) - 1; /* what one is expected to take, but for a byte */
	s->derived_ms = loop.time;
	frames(0, 2);
	sync_now();
	assert_true(s->underived);
	assert_int_equal(s->held_bytes, 0);
	assert_int_equal(stream_writer_behind(s->writer), a.b.ends[1]);
	s->derived_ms = loop.time - 59999;
	intake_derive_if_due(s);
	assert_false(s->deriving);
	s->derived_ms--;
	intake_derive_if_due(s);
	assert_true(s->deriving && s->parks && !s->underived);
	turn_until_idle();
	assert_int_equal(stream_writer_behind(s->writer), 0);
	assert_int_equal(s->held_bytes, 0);
	assert_true(s->derived_ms > loop.time - 50000);
	/* As soon as there is room for one, it need not wait. */
	ingest->memory_limit++;
	s->derived_ms = loop.time;
	frames(2, 3);
	sync_now();
	assert_true(!s->underived && s->held_bytes > 0);
	assert_int_equal(stream_writer_behind(s->writer), 0);
	end();
}

/* Without its agent, a stream gives its memory back. */
static void left_alone(void **state)
{
	struct intake *s;

	(void)state;
	begin();
	s = ingest->intakes;
	frames(0, 2);
	sync_now();
	assert_true(s->held_bytes > 0);
	shutdown(a.fd, SHUT_WR);
	for (unsigned i = 0; i < 3000 && (s->held_bytes || s->deriving); i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_true(!s->link && s->parks && !s->held_bytes && !ingest->held_bytes);
	assert_int_equal(stream_writer_memory(s->writer), 0);
	assert_false(intake_wants_deriving(s));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(what_is_said_of_a_disk),
		TEST_IN_FOLDER(removed_files),
		TEST_IN_FOLDER(memory_is_held),
		TEST_IN_FOLDER(rows_that_wait),
		TEST_IN_FOLDER(left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
