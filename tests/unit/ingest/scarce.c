/*
 * A collector that receives when memory runs out: it starts wholly or not at all; what it has no
 * memory for is left out, and comes when it is asked for again; a stream is stored wholly in the
 * end.
 */
#include "tests/unit/scarce.h"

#include "tests/unit/ingest/support/still.h"

/* In place of libc's, which take most of the time. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	(void)fd;
	return 0;
}

/* What the test itself does is not meant to fail. */
static long plenty(void)
{
	return atomic_exchange(&scarce_left, 2 * SCARCE_MOST);
}

static void scarcely(long left)
{
	atomic_store(&scarce_left, left);
}

/* ---- starting ---- */

static bool never_wanted(void *context, const struct ingest_file *file, const char *path)
{
	(void)context;
	(void)file;
	(void)path;
	return false;
}

static int start(void *context)
{
	static const char *const peers[] = {"127.0.0.1:9"};
	struct ingest_options options = {.agents_max = 5,
					 .listen = "127.0.0.1:0",
					 .peers = peers,
					 .peer_count = 1,
					 .files = temporary_folder,
					 .fetch_modules = true,
					 .file_wanted = never_wanted};
	int r;

	(void)context;
	assert_int_equal(uv_loop_init(&loop), 0);
	r = store_open(temporary_folder, STORE_WRITE, &store, NULL);
	if (r) {
		assert_int_equal(uv_loop_close(&loop), 0);
		return r;
	}
	r = ingest_start(&loop, store, &options, &ingest, NULL);
	if (!r) {
		assert_true(ingest_port(ingest) > 0);
		assert_int_equal(ingest->peer_count, 1);
		uv_run(&loop, UV_RUN_ONCE);
		ingest_stop(ingest, NULL, NULL);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	store_close(store);
	return r;
}

static void starts_or_does_not(void **state)
{
	unsigned opened;

	(void)state;
	assert_int_equal(start(NULL), 0);
	opened = descriptors_open();
	assert_true(scarce_each(start, NULL) > 5);
	assert_int_equal(descriptors_open(), opened);
}

/* ---- single things ---- */

static void begin(void)
{
	still_begin((struct ingest_options){.agents_max = 1,
					    .listen = "127.0.0.1:0",
					    .files = temporary_folder,
					    .fetch_modules = true,
					    .file_wanted = never_wanted});
}

/* Who has no memory for an agent hears of it again. */
static int hear(void *context)
{
	const struct sockaddr_in from = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct beacon_seen beacon = {.agent = {1}, .port = 9, .sequence = 1};
	struct sockaddr_storage address = {0};
	long left = plenty();
	bool known;

	(void)context;
	begin();
	memcpy(&address, &from, sizeof(from));
	scarcely(left);
	peer_beacon(ingest, &beacon, &address, true);
	left = plenty();
	known = ingest->peers && ingest->peers->link;
	assert_true(ingest->link_count == known);
	beacon.sequence++;
	peer_beacon(ingest, &beacon, &address, true);
	peer_tick(ingest, loop.time + BACKOFF_MAX_MS);
	known &= ingest->peer_count == 1; /* it was not forgotten which agent that is */
	assert_non_null(link_by_address(ingest, "127.0.0.1:9"));
	still_end();
	scarcely(left);
	return known ? 0 : -ENOMEM;
}

/* Modules without memory are not asked for, and others are. */
static int announce(void *context)
{
	Heapcast__Module modules[2] = {HEAPCAST__MODULE__INIT, HEAPCAST__MODULE__INIT},
			 *list[2] = {&modules[0], &modules[1]};
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	unsigned count = 0;
	long left = plenty();

	(void)context;
	begin();
	for (unsigned i = 0; i < 2; i++) {
		modules[i].build_id = builder_bytes(i ? "two" : "one", 3);
		modules[i].path = builder_bytes("/lib", 4);
	}
	batch.module = list;
	batch.n_module = 2;
	scarcely(left);
	files_modules(ingest, &batch);
	left = plenty();
	for (struct candidate *c = ingest->files.looking; c; c = c->next)
		count++;
	while (files_modules_deciding(ingest))
		uv_run(&loop, UV_RUN_ONCE);
	still_end();
	scarcely(left);
	return count == 2 ? 0 : -ENOMEM;
}

/* An agent without a place is turned away, whether it can be named or not. */
static int turn_away(void *context)
{
	struct peer peer = {.agent = {3}};
	struct link link = {.agent = {4}};
	long left = plenty();
	uint64_t named;

	(void)context;
	begin();
	ingest->open_count = 1;
	peer.address.ss_family = AF_INET;
	link.ingest = ingest;
	scarcely(left);
	assert_false(room_to_dial(ingest, &peer));
	assert_false(room_for_link(&link, true));
	left = plenty();
	named = ingest->turned_away_count;
	room_tick(ingest, loop.time);
	ingest->open_count = 0;
	still_end();
	scarcely(left);
	return named == 2 ? 0 : -ENOMEM;
}

static bool scarce_is_over(void)
{
	return atomic_load(&scarce_left) <= 0;
}

/* A connection is kept until there is memory for it, or let go; then the agent dials again. */
static int dial_in(void *context)
{
	struct agent a;
	long left = plenty();
	bool in;

	(void)context;
	begin();
	guest_dial(&a, 1);
	scarcely(left);
	for (unsigned i = 0; i < 300 && !ingest->links && !scarce_is_over(); i++)
		uv_run(&loop, UV_RUN_ONCE);
	left = plenty();
	in = ingest->links;
	for (unsigned i = 0; i < 300 && ingest->accept_waits; i++)
		uv_run(&loop, UV_RUN_ONCE);
	if (!ingest->links) {
		guest_done(&a);
		guest_dial(&a, 1);
	}
	for (unsigned i = 0; i < 300 && !ingest->links; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_non_null(ingest->links);
	guest_done(&a);
	still_end();
	scarcely(left);
	return in ? 0 : -ENOMEM;
}

static void is_done_later(void **state)
{
	static int (*const things[])(void *) = {hear, announce, turn_away, dial_in};

	(void)state;
	for (size_t i = 0; i < sizeof(things) / sizeof(*things); i++) {
		assert_int_equal(things[i](NULL), 0);
		assert_true(scarce_each(things[i], NULL) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(starts_or_does_not),
		TEST_IN_FOLDER(is_done_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
