/*
 * A collector as a whole: what it does now and then (old streams, a catalogue that was removed),
 * where it listens, who it is, what it says it has, and how it ends.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "collector/catalogue/catalogue.h"
#include "collector/catalogue/folder.h"
#include "tests/unit/ingest/support/still.h"
#include "tests/unit/own_network.h"

static bool own_network;

/* A stream of an agent, in the folder. */
static void deliver(void)
{
	const char *peers[1];
	struct collector c;
	struct agent a;

	agent_begin(&a, agent_deliver);
	peers[0] = a.address;
	collector_begin(&c, temporary_folder, peers, 1, false, INGEST_STREAM_ENDED, 1);
	agent_start(&a);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	agent_done(&a);
}

static size_t stream_count(void)
{
	struct stream_summary *list;
	size_t count;

	assert_int_equal(store_list(store, &list, &count, NULL), 0);
	store_list_free(list, count);
	return count;
}

/* As soon as it starts, and each minute again, while no worker is at it. */
static void old_streams(void **state)
{
	(void)state;
	deliver();
	still_begin((struct ingest_options){.keep_ns = UINT64_MAX, .keep_bytes = UINT64_MAX});
	for (unsigned i = 0; i < 500 && !ingest->retained_ms; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_true(ingest->retained_ms > 0);
	for (unsigned i = 0; i < 500 && ingest->retaining; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_false(ingest->retaining);
	check_told("");
	assert_int_equal(stream_count(), 1);
	still_end();
	still_begin((struct ingest_options){.keep_bytes = 1});
	turn();
	assert_non_null(strstr(told, "warning: removed the stream "));
	assert_int_equal(told[strlen(told) - 2], ')');
	assert_int_equal(stream_count(), 0);
	assert_false(ingest->retaining);
	assert_int_equal(ingest->removed.length, 0);
	still_end();
}

static void not_too_often(void **state)
{
	unsigned pending;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		still_begin((struct ingest_options){.keep_ns = i & 1, .keep_bytes = i & 2});
		pending = ingest->pending;
		retain_tick(ingest, 0);
		assert_int_equal(ingest->retaining, i > 0);
		assert_int_equal(ingest->pending, pending + (i > 0));
		assert_int_equal(ingest->retained_ms, i > 0);
		retain_tick(ingest, 500000); /* one at a time */
		assert_int_equal(ingest->pending, pending + (i > 0));
		still_end();
	}
	still_begin((struct ingest_options){.keep_ns = UINT64_MAX});
	ingest->retained_ms = 1000;
	retain_tick(ingest, 60999);
	assert_false(ingest->retaining);
	retain_tick(ingest, 61000);
	assert_true(ingest->retaining);
	assert_int_equal(ingest->retained_ms, 61000);
	still_end();
}

/* It is said once, and the rows are made again. */
static void lost_catalogue(void **state)
{
	char path[128], expected[256];
	struct stream_id other = {{9}}, id;
	struct totals totals = {0};
	struct stream_summary *list;
	unsigned pending;
	size_t count;

	(void)state;
	deliver();
	still_begin((struct ingest_options){0});
	anew_tick(ingest);
	check_told("");
	snprintf(path, sizeof(path), "%s/catalogue.sqlite", temporary_folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(store_list(store, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	id = list[0].id;
	store_list_free(list, count);
	assert_int_equal(catalogue_put(store->catalogue, &other, &totals, NULL), 0);
	assert_int_equal(catalogue_get(store->catalogue, &id, &totals), 0);
	assert_int_equal(store_catalogue_lost(store), 1);
	pending = ingest->pending;
	anew_tick(ingest);
	snprintf(expected, sizeof(expected),
		 "warning: the catalogue of %s was removed: it is made anew from the recordings\n",
		 temporary_folder);
	check_told(expected);
	assert_true(ingest->filling);
	assert_int_equal(ingest->pending, pending + 1);
	assert_int_equal(ingest->told_lost, 1);
	ingest->told_lost = 0;
	anew_tick(ingest); /* one worker at a time */
	check_told("");
	ingest->told_lost = 1;
	for (unsigned i = 0; i < 500 && ingest->filling; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_false(ingest->filling);
	assert_true(ingest->pending <= pending);
	anew_tick(ingest);
	check_told("");
	assert_int_equal(catalogue_get(store->catalogue, &id, &totals), 1);
	assert_int_equal(totals.events, 1800);
	totals_done(&totals);
	still_end();
}

/* ---- where ---- */

static int start_at(const char *listen, struct err_text *err)
{
	struct ingest *other;
	const struct ingest_options options = {.listen = listen};
	int r = ingest_start(&loop, store, &options, &other, err);

	if (!r)
		ingest_stop(other, NULL, NULL);
	return r;
}

static void expect_listens(const char *listen, const char *address)
{
	char expected[128];

	still_begin((struct ingest_options){.listen = listen});
	assert_true(ingest_port(ingest) > 0);
	snprintf(expected, sizeof(expected), "TCP %s:%u for agents that dial in", address,
		 ingest_port(ingest));
	assert_string_equal(ingest_where(ingest), expected);
	still_end();
}

static void places(void **state)
{
	static const char *const wrong[] = {"board:0",	   "1.2.3:0",	 "127.0.0.1:65536",
					    "127.0.0.1:x", "127.0.0.1:", "[::1:0",
					    "::1]:0",	   "[]:0"};
	struct err_text err = {0};
	char longest[80];

	(void)state;
	still_begin((struct ingest_options){0});
	assert_string_equal(ingest_where(ingest), "nowhere");
	assert_int_equal(ingest_port(ingest), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		err.text[0] = 0;
		assert_int_equal(start_at(wrong[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "--listen takes "));
	}
	memset(longest, '1', sizeof(longest));
	longest[64] = 0;
	assert_int_equal(start_at(longest, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--listen takes ADDR:PORT, not '1111"));
	longest[63] = 0;
	assert_int_equal(start_at(longest, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not '1111"));
	assert_non_null(strstr(err.text, "an interface of this host"));
	uv_run(&loop, UV_RUN_NOWAIT);
	still_end();
	expect_listens("127.0.0.1:0", "127.0.0.1");
	expect_listens(":0", "0.0.0.0");
	if (!own_network)
		return;
	expect_listens("127.0.0.1", "127.0.0.1");
	still_begin((struct ingest_options){.listen = "127.0.0.1"});
	assert_int_equal(ingest_port(ingest), 43513);
	assert_int_equal(start_at("127.0.0.1:43513", &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "TCP 127.0.0.1:43513 is taken by another program"));
	assert_int_equal(start_at("192.0.2.1:0", &err), -EADDRNOTAVAIL);
	assert_non_null(strstr(err.text, "cannot listen on TCP 192.0.2.1:0: "));
	still_end();
}

/* By TLS only, or what else; and which beacons. */
static void who_is_let_in(void **state)
{
	struct secret key;

	(void)state;
	if (secret_make((uint8_t[SECRET_KEY_MIN]){1}, SECRET_KEY_MIN, "test", &key) < 0)
		skip();
	for (unsigned i = 0; i < 8; i++) {
		bool keys = i & 1, paired = i & 2, only = i & 4;
		struct ingest_options options = {.secrets = &key,
						 .secret_count = keys,
						 .paired = paired || only,
						 .paired_only = only};

		paired |= only;
		still_begin(options);
		assert_int_equal(ingest->paired, paired);
		assert_int_equal(ingest->strict, only || (keys && !paired));
		assert_int_equal(ingest->proven, only || (keys && !paired));
		assert_int_equal(ingest->secure != NULL, keys || only);
		ingest->told_key = true;
		ingest->prober.next_ms = ingest->prober.pause_ms = 7;
		assert_int_equal(ingest_rekey(ingest, &key, 1, NULL), 0);
		assert_non_null(ingest->secure);
		assert_ptr_equal(ingest->secrets, &key);
		assert_int_equal(ingest->secret_count, 1);
		assert_true(!ingest->told_key && !ingest->prober.next_ms &&
			    !ingest->prober.pause_ms);
		assert_int_equal(ingest_rekey(ingest, NULL, 0, NULL), 0);
		assert_int_equal(ingest->secret_count, 0);
		still_end();
	}
}

/* ---- who, and the end ---- */

static void the_same_again(void **state)
{
	static const uint8_t none[STREAM_ID_SIZE];
	uint8_t id[STREAM_ID_SIZE];
	char path[128];
	FILE *file;

	(void)state;
	still_begin((struct ingest_options){0});
	memcpy(id, ingest->id, sizeof(id));
	assert_memory_not_equal(id, none, sizeof(id));
	still_end();
	still_begin((struct ingest_options){0});
	assert_memory_equal(id, ingest->id, sizeof(id));
	still_end();
	snprintf(path, sizeof(path), "%s/collector-id", temporary_folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fwrite(id, 1, sizeof(id) - 1, file); /* half of it is nobody */
	fclose(file);
	still_begin((struct ingest_options){0});
	assert_memory_not_equal(id, ingest->id, sizeof(id));
	still_end();
}

static unsigned stops;

static void stopped(void *context)
{
	++*(unsigned *)context;
}

/* Whoever stopped it is told, once, when all is closed; others are not. */
static void it_ends(void **state)
{
	unsigned others = 0;

	(void)state;
	still_begin((struct ingest_options){.listen = "127.0.0.1:0"});
	stops = 0;
	ingest_stop(ingest, stopped, &stops);
	assert_true(ingest->stopping && !ingest->parting);
	ingest_stop(ingest, stopped, &others);
	assert_int_equal(stops, 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(stops, 1);
	assert_int_equal(others, 0);
	assert_int_equal(uv_loop_close(&loop), 0);
	store_close(store);
	assert_int_equal(descriptors_open(), still_opened);
}

static void it_counts(void **state)
{
	struct intake live = {0}, ended = {.ended = true}, left = {0};
	struct ingest_totals t;
	struct link link = {0};

	(void)state;
	still_begin((struct ingest_options){0});
	ingest->events = 1;
	ingest->bytes = 2;
	ingest->beacons = 3;
	ingest->turned_away_count = 4;
	ingest->beacons_refused = 5;
	ingest->beacons_unproven = 6;
	ingest->open_count = 7;
	live.link = ended.link = &link;
	live.next = &ended;
	ended.next = &left;
	ingest->intakes = &live;
	t = ingest_totals(ingest);
	assert_true(t.events == 1 && t.bytes == 2 && t.beacons == 3 && t.turned_away == 4 &&
		    t.beacons_refused == 5 && t.beacons_unproven == 6 && t.links == 7);
	assert_int_equal(t.live_streams, 1);
	ingest->intakes = NULL;
	ingest->open_count = ingest->turned_away_count = 0;
	still_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(old_streams),	TEST_IN_FOLDER(not_too_often),
		TEST_IN_FOLDER(lost_catalogue), TEST_IN_FOLDER(places),
		TEST_IN_FOLDER(who_is_let_in),	TEST_IN_FOLDER(the_same_again),
		TEST_IN_FOLDER(it_ends),	TEST_IN_FOLDER(it_counts),
	};

	own_network = own_network_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
