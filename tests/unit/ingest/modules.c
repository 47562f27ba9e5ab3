/*
 * Modules that programs announce: which of them somebody is asked about, once each, and for which
 * an agent is asked then. A real agent is connected, and the worker's thread is the loop's own.
 */
#include <stdlib.h>

#include "tests/unit/ingest/support/still.h"

#define MODULES_MAX 16384 /* build ids that are remembered */

static struct agent agent;
static char folder[128];
static char asked[1 << 16]; /* paths that the worker was asked about */
static unsigned asked_count;
static char wanted_path[64];
static struct ingest_file last;

static bool is_wanted(void *context, const struct ingest_file *file, const char *path)
{
	size_t used = strlen(asked);

	(void)context;
	asked_count++;
	last = *file;
	if (used + strlen(path) + 2 < sizeof(asked))
		snprintf(asked + used, sizeof(asked) - used, "%s ", path);
	return !strncmp(path, wanted_path, strlen(wanted_path));
}

static void begin(bool fetch)
{
	asked[0] = 0;
	asked_count = 0;
	snprintf(wanted_path, sizeof(wanted_path), "/wanted");
	snprintf(folder, sizeof(folder), "%s/symbols", temporary_folder);
	still_begin((struct ingest_options){.agents_max = 5,
					    .listen = "127.0.0.1:0",
					    .files = folder,
					    .fetch_modules = fetch,
					    .file_wanted = is_wanted});
	guest_dial(&agent, 1);
	agent_greet(&agent, agent.fd, 1);
	for (unsigned turns = 0; turns < 2000 && !ingest->open_count; turns++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(ingest->open_count, 1);
	told[0] = 0;
}

static void end(void)
{
	guest_done(&agent);
	still_end();
}

static void settle(void)
{
	for (unsigned turns = 0; turns < 2000 && files_modules_deciding(ingest); turns++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_false(files_modules_deciding(ingest));
}

/* Modules with build ids of `length` bytes, `first` and on, and these paths. */
static void announce(uint32_t first, size_t length, const ProtobufCBinaryData *paths, size_t count)
{
	Heapcast__Module *modules = calloc(count, sizeof(*modules));
	Heapcast__Module **list = calloc(count, sizeof(*list));
	static uint8_t behind; /* of each id: other bytes each time */
	uint8_t(*ids)[INGEST_BUILD_ID_MAX + 2] = calloc(count, sizeof(*ids));
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	assert_true(modules && list && ids);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = first + i;

		heapcast__module__init(&modules[i]);
		memcpy(ids[i], &number, sizeof(number));
		ids[i][length] = ++behind;
		modules[i].build_id = builder_bytes(ids[i], length);
		modules[i].path = paths[i];
		list[i] = &modules[i];
	}
	batch.module = list;
	batch.n_module = count;
	files_modules(ingest, &batch);
	free(modules);
	free(list);
	free(ids);
}

static void announce_one(uint32_t number, size_t length, const char *path)
{
	const ProtobufCBinaryData bytes = builder_bytes(path, strlen(path));

	announce(number, length, &bytes, 1);
	settle();
}

static void check_asked(const char *expected)
{
	assert_string_equal(asked, expected);
	asked[0] = 0;
}

/* Each build id is looked at once; those that are wanted are requested. */
static void each_once(void **state)
{
	const ProtobufCBinaryData paths[] = {builder_bytes("/a", 2), builder_bytes("/wanted/b", 9),
					     builder_bytes("/c", 2)};

	(void)state;
	begin(true);
	announce(1, 20, paths, 3);
	assert_true(files_modules_deciding(ingest));
	announce(4, 20, paths, 1); /* meanwhile */
	settle();
	check_asked("/c /wanted/b /a /a ");
	assert_int_equal(ingest_files(ingest), 1);
	assert_int_equal(ingest->files.transfers->file.build_id[0], 2);
	assert_int_equal(ingest->files.transfers->file.build_id_length, 20);
	announce(1, 20, paths, 3);
	announce_one(4, 20, "/other");
	check_asked("");
	announce_one(4, 19, "/other"); /* is another one */
	check_asked("/other ");
	assert_int_equal(last.build_id_length, 19);
	check_told("");
	end();
}

/* The end of a stream is acknowledged when all its modules are decided on, not before. */
static void ends_wait(void **state)
{
	const ProtobufCBinaryData path = builder_bytes("/a", 2);
	struct intake ended = {.ack_due = true};
	unsigned pending;

	(void)state;
	begin(true);
	uv_timer_stop(&ingest->tick);
	ended.ingest = ingest;
	ended.next = ingest->intakes;
	ingest->intakes = &ended;
	pending = ingest->pending;
	announce(1, 20, &path, 1);
	assert_int_equal(ingest->pending, pending + 1);
	announce(2, 20, &path, 1); /* is looked at in the second turn */
	while (ingest->files.candidates) {
		assert_true(ended.ack_due);
		uv_run(&loop, UV_RUN_ONCE);
	}
	assert_true(ended.ack_due);
	settle();
	assert_false(ended.ack_due);
	assert_int_equal(asked_count, 2);
	ingest->intakes = ended.next;
	end();
}

/* What has no build id that can be asked for, or no path. */
static void not_asked(void **state)
{
	const ProtobufCBinaryData nul = builder_bytes("/a\0b", 4), none = {0};

	(void)state;
	begin(true);
	announce_one(1, 0, "/a");
	announce_one(1, INGEST_BUILD_ID_MAX + 1, "/a");
	announce_one(1, 20, "a");
	announce_one(1, 20, "");
	announce(1, 20, &nul, 1);
	announce(1, 20, &none, 1);
	settle();
	check_asked("");
	announce_one(1, INGEST_BUILD_ID_MAX, "/a");
	announce_one(1, 1, "/b");
	announce_one(2, 1, "/");
	check_asked("/a /b / ");
	end();
	begin(false); /* nobody wants any */
	announce_one(1, 20, "/a");
	check_asked("");
	end();
	begin(true);
	ingest->stopping = true;
	announce_one(1, 20, "/a");
	ingest->stopping = false;
	check_asked("");
	end();
}

/* More than are requested at a time, and more than are remembered. */
static void too_many(void **state)
{
	static ProtobufCBinaryData paths[MODULES_MAX];
	unsigned before;

	(void)state;
	begin(true);
	for (unsigned i = 0; i < MODULES_MAX; i++)
		paths[i] = builder_bytes("/a", 2);
	announce(1, 20, paths, MODULES_MAX - 1);
	settle();
	assert_int_equal(asked_count, MODULES_MAX - 1);
	asked[0] = 0;
	announce_one(MODULES_MAX, 20, "/last");
	check_asked("/last ");
	announce_one(MODULES_MAX + 1, 20, "/more");
	check_asked("");
	check_told("");
	end();
	begin(true);
	before = 0;
	for (uint32_t i = 1; !told[0] && i < 100000; i++) {
		before = ingest_files(ingest);
		announce_one(i, 20, "/wanted");
	}
	assert_int_equal(ingest_files(ingest), before); /* it is left out */
	check_told("warning: too many symbol files are wanted at a time: /wanted is left out\n");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(each_once),
		TEST_IN_FOLDER(ends_wait),
		TEST_IN_FOLDER(not_asked),
		TEST_IN_FOLDER(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
