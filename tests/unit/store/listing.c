/*
 * Stores with streams in every state: ended, not summed up, interrupted, being written, empty, with
 * and without a catalogue. What is listed is compared whole, and so is what each name finds.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/catalogue.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/listing.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/scan.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

enum { ENDED = 0x10, UNSUMMED = 0x20, BROKEN = 0x21, LIVE = 0x22, EMPTY = 0x30, NOTHING = 0x31 };

static struct store *store;
static struct stream_writer *live;
static char folder[128];
static unsigned opened;

static struct stream_id id_of(uint8_t name)
{
	struct stream_id id;

	memset(id.bytes, name, sizeof(id.bytes));
	return id;
}

static struct stream_writer *put_stream(uint8_t name, bool ended)
{
	struct stream_id id = id_of(name);
	struct stream_position position;
	struct stream_writer *w;
	struct scan_item item;
	struct scan scan;
	struct builder b;
	char *file;
	uint64_t cut;
	int fd;

	builder_init(&b, name);
	for (uint64_t i = 1; i <= name; i++)
		builder_malloc(&b, 1000000000 * i, 1, 0x1000 * i, i);
	builder_free(&b, 1000000000ull * name + 1, 1, 0x1000);
	if (ended)
		builder_end(&b, 0);
	else
		builder_close(&b, b.last_ns);
	file = builder_save(&b, b.file.length);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	assert_int_equal(stream_writer_open(store, &id, &w, &cut, NULL), 0);
	assert_int_equal(scan_init(&scan, fd, 0, NULL), 0);
	while (scan_next(&scan, b.file.length, &item) == 1)
		assert_int_equal(stream_writer_append(w, b.file.data + item.offset, item.length,
						      item.batch, NULL),
				 0);
	scan_done(&scan);
	close(fd);
	unlink(file);
	free(file);
	builder_done(&b);
	assert_int_equal(stream_writer_sync(w, &position, NULL), 0);
	return w;
}

static void make_folder(uint8_t name, bool file)
{
	struct stream_id id = id_of(name);
	char *path = stream_folder_path(store, &id), *recording = stream_recording_path(store, &id);

	assert_int_equal(mkdir(path, 0700), 0);
	if (file)
		close(open(recording, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	free(path);
	free(recording);
}

static int begin(void **state)
{
	struct stream_position position;
	struct stream_writer *w;

	if (temporary_setup(state) < 0)
		return -1;
	opened = descriptors_open();
	snprintf(folder, sizeof(folder), "%s/store", temporary_folder);
	assert_int_equal(store_open(folder, STORE_WRITE, &store, NULL), 0);
	live = put_stream(LIVE, false);
	w = put_stream(ENDED, true);
	assert_int_equal(stream_writer_finish(w, NULL), 0);
	stream_writer_close(w);
	stream_writer_close(put_stream(UNSUMMED, true));
	w = put_stream(BROKEN, false);
	assert_int_equal(stream_writer_derive(w, NULL), 0);
	assert_int_equal(stream_writer_sum_up(w, NULL), 0);
	assert_int_equal(stream_writer_sync(w, &position, NULL), 0);
	stream_writer_close(w);
	make_folder(EMPTY, true);
	make_folder(NOTHING, false);
	return 0;
}

static int end(void **state)
{
	stream_writer_close(live);
	store_close(store);
	if (descriptors_open() != opened)
		return -1;
	return temporary_teardown(state);
}

/* ---- lists ---- */

static char *listed(struct store *from, bool quickly)
{
	struct stream_summary *list;
	size_t count, length;
	char *text, id[STREAM_ID_TEXT];
	FILE *out = open_memstream(&text, &length);

	assert_int_equal((quickly ? store_list_quickly : store_list)(from, &list, &count, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		const struct stream_summary *s = &list[i];

		fprintf(out, "%.4s %s %s '%s%s%s' %u +%u %llus %llu events %u: %llu in %llu%s%s\n",
			stream_id_format(id, &s->id), s->name, s->executable, s->command_line,
			s->host, s->architecture, s->pid,
			(unsigned)(s->start_wall_ns - 1700000000000000000ull),
			(unsigned long long)s->last_ns / 1000000000, (unsigned long long)s->events,
			s->state, (unsigned long long)s->in_use_bytes,
			(unsigned long long)s->in_use_blocks, s->incomplete[0] ? ", " : "",
			s->incomplete);
	}
	store_list_free(list, count);
	fclose(out);
	return text;
}

static void check_listed(struct store *from, bool quickly, const char *expected)
{
	char *text = listed(from, quickly);

	assert_string_equal(text, expected);
	free(text);
}

#define LINE_ENDED    "1010 example /usr/bin/example '' 4711 +16 16s 17 events 1: 135 in 15\n"
#define LINE_UNSUMMED "2020 example /usr/bin/example '' 4711 +32 32s 33 events 1: "
#define LINE_BROKEN   "2121 example /usr/bin/example '' 4711 +33 33s 34 events 2: "
#define LINE_LIVE     "2222 example /usr/bin/example '' 4711 +34 34s 35 events 0: "
#define BROKEN_OFF                                                                                 \
	", Incomplete: it breaks off at 33.00 s without an end, and what followed is not known.\n"

static void without_catalogue(const struct store *of)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/catalogue.sqlite", store_path(of));
	assert_int_equal(unlink(path), 0);
}

static void all_states(void **state)
{
	struct store *reader;

	(void)state;
	/* What is in use of the one that is being written is not known yet. The free that came last
	 * of the one that broke off waits for a watermark in the sums of the catalogue. */
	check_listed(store, false,
		     LINE_ENDED LINE_UNSUMMED "527 in 31\n" LINE_BROKEN
					      "560 in 32" BROKEN_OFF LINE_LIVE "0 in 0\n");
	check_listed(store, true,
		     LINE_ENDED LINE_UNSUMMED "0 in 0\n" LINE_BROKEN
					      "561 in 33" BROKEN_OFF LINE_LIVE "0 in 0\n");
	assert_int_equal(store_open(folder, STORE_READ, &reader, NULL), 0);
	check_listed(reader, false,
		     LINE_ENDED LINE_UNSUMMED "527 in 31\n" LINE_BROKEN
					      "560 in 32" BROKEN_OFF LINE_LIVE "0 in 0\n");
	store_close(reader);
	without_catalogue(store);
	assert_int_equal(store_open(folder, STORE_READ, &reader, NULL), 0);
	check_listed(reader, false,
		     LINE_ENDED LINE_UNSUMMED "527 in 31\n" LINE_BROKEN
					      "560 in 32" BROKEN_OFF LINE_LIVE "595 in 34\n");
	check_listed(
		reader, true,
		"1010 example /usr/bin/example '' 4711 +16 16s 17 events 1: 0 in 0\n" LINE_UNSUMMED
		"0 in 0\n" LINE_BROKEN "0 in 0" BROKEN_OFF LINE_LIVE "0 in 0\n");
	store_close(reader);
}

static void set_start(uint8_t name, uint64_t start)
{
	struct stream_id id = id_of(name);
	struct totals totals = {0};

	assert_int_equal(catalogue_get(store->catalogue, &id, &totals), 1);
	totals.start_wall_ns = start;
	assert_int_equal(catalogue_put(store->catalogue, &id, &totals, NULL), 0);
	totals_done(&totals);
}

/* They are listed in the order in which they began, and by id of those that began at once. */
static void by_beginning(void **state)
{
	static const struct {
		uint64_t start;
		const char *order[3];
	} cases[] = {{5, {"1010", "2121", "4040"}},
		     {UINT64_C(1700000000000000000) + 50, {"2121", "1010", "4040"}},
		     {UINT64_C(1700000000000000000) + 64, {"2121", "1010", "4040"}},
		     {UINT64_C(1700000000000000000) + 70, {"2121", "4040", "1010"}}};

	(void)state;
	stream_writer_close(put_stream(0x40, true));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *at;
		char *text;

		set_start(ENDED, cases[i].start);
		text = listed(store, true);
		at = text;
		for (unsigned k = 0; k < 3; k++)
			if (at)
				at = strstr(at, cases[i].order[k]);
		if (!at)
			fail_msg("case %zu: %s", i, text);
		free(text);
	}
}

static unsigned asked;

static bool after(void *context)
{
	return asked++ == *(unsigned *)context;
}

static bool is_summed(uint8_t name)
{
	struct stream_id id = id_of(name);
	struct totals totals = {0};
	bool summed;

	assert_int_equal(catalogue_get(store->catalogue, &id, &totals), 1);
	summed = totals.summed_up && totals.summed_bytes == totals.bytes;
	totals_done(&totals);
	return summed;
}

/* Sums that are missing are kept, of what nobody writes. */
static void sums_are_caught_up(void **state)
{
	unsigned at_once = 0, one = 1, all = 100;

	(void)state;
	assert_false(is_summed(UNSUMMED));
	assert_false(is_summed(BROKEN));
	assert_true(is_summed(ENDED));
	asked = 0;
	store_sum_up_some(store, after, &at_once);
	assert_int_equal(asked, 1);
	assert_false(is_summed(UNSUMMED));
	asked = 0;
	store_sum_up_some(store, after, &one);
	assert_int_equal(asked, 2);
	assert_true(is_summed(UNSUMMED) != is_summed(BROKEN));
	asked = 0;
	store_sum_up_some(store, after, &one);
	assert_true(is_summed(UNSUMMED) && is_summed(BROKEN));
	asked = 0;
	store_sum_up_some(store, after, &all);
	assert_int_equal(asked, 1); /* the one that is being written is passed over */
	assert_false(is_summed(LIVE));
}

static void rows_are_filled_in(void **state)
{
	(void)state;
	stream_writer_close(live);
	live = NULL;
	store_close(store);
	store = NULL;
	snprintf(folder + strlen(folder), 32, "/catalogue.sqlite");
	assert_int_equal(unlink(folder), 0);
	*strrchr(folder, '/') = 0;
	assert_int_equal(store_open(folder, STORE_WRITE, &store, NULL), 0);
	assert_false(store_was_rebuilt(store));
	assert_int_equal(store_catalogue_lost(store), 0);
	for (unsigned i = 0; i < 4; i++) {
		static const uint8_t names[] = {ENDED, UNSUMMED, BROKEN, LIVE};
		struct stream_id id = id_of(names[i]);
		struct totals totals;

		assert_int_equal(catalogue_get(store->catalogue, &id, &totals), 1);
		assert_int_equal(totals.events, names[i] + 1);
		totals_done(&totals);
		assert_int_equal(store_position(store, &id).next, 2);
		assert_int_equal(store_position(store, &id).incarnation, 1);
		assert_true(folder_is_idle(store, &id));
	}
}

static void ids_of_folders(void **state)
{
	char path[160];
	struct stream_id *ids = NULL, last = id_of(LIVE);
	size_t count = 0, found = 0;

	(void)state;
	for (unsigned i = 0; i < 40; i++) { /* more than there is room for at first */
		snprintf(path, sizeof(path), "%s/streams/%032x", folder, i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/streams/no-id", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(listing_ids(store, &ids, &count, NULL), 0);
	assert_int_equal(count, 46);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(&ids[i], &ids[k], sizeof(ids[i]));
	for (size_t i = 0; i < count; i++)
		found += !memcmp(&ids[i], &last, sizeof(last));
	assert_int_equal(found, 1);
	free(ids);
	assert_false(folder_is_idle(store, &last));
	assert_false(folder_is_idle(store, &(struct stream_id){{0}}));
}

/* ---- names ---- */

static void check_found(struct store *in, const char *name, uint8_t stream,
			enum stream_state expected)
{
	struct stream_id id = {{0}}, wanted = id_of(stream);
	enum stream_state found = 99;
	struct err_text err = {0};
	char *path = NULL, *recording = stream_recording_path(in, &wanted);

	if (store_find_id(in, name, &id, &found, &err) < 0)
		fail_msg("%s", err.text);
	assert_memory_equal(&id, &wanted, sizeof(id));
	assert_int_equal(found, expected);
	assert_int_equal(store_find(in, name, &path, NULL), 0);
	assert_string_equal(path, recording);
	free(path);
	free(recording);
}

static void check_not_found(struct store *in, const char *name, int error, const char *before,
			    const char *after_path)
{
	struct stream_id id;
	enum stream_state found;
	struct err_text err = {0};
	char expected[512], *path;

	assert_int_equal(store_find_id(in, name, &id, &found, &err), error);
	snprintf(expected, sizeof(expected), "%s%s%s", before, after_path ? folder : "",
		 after_path ? after_path : "");
	assert_string_equal(err.text, expected);
	assert_int_equal(store_find(in, name, &path, NULL), error);
}

static void check_names(struct store *in)
{
	check_found(in, "last", LIVE, STREAM_LIVE);
	check_found(in, "1", ENDED, STREAM_ENDED);
	check_found(in, "10101010101010101010101010101010", ENDED, STREAM_ENDED);
	check_found(in, "20", UNSUMMED, STREAM_ENDED);
	check_found(in, "212", BROKEN, STREAM_INTERRUPTED);
	check_found(in, "22", LIVE, STREAM_LIVE);
	check_not_found(in, "", -ENOENT, "an empty name is no stream", NULL);
	check_not_found(in, "2", -EEXIST,
			"'2' is the beginning of 3 streams' ids: 222222222222 (example), "
			"212121212121 (example), 202020202020 (example)",
			NULL);
	check_not_found(in, "3", -ENOENT, "no stream in ",
			" is called '3'; the newest are 222222222222 (example), 212121212121 "
			"(example), 202020202020 (example), 101010101010 (example)");
	check_not_found(in, "0", -ENOENT, "no stream in ",
			" is called '0'; the newest are 222222222222 (example), 212121212121 "
			"(example), 202020202020 (example), 101010101010 (example)");
	check_not_found(in, "1x", -ENOENT, "no stream in ",
			" is called '1x'; the newest are 222222222222 (example), 212121212121 "
			"(example), 202020202020 (example), 101010101010 (example)");
	check_not_found(in, "101010101010101010101010101010101", -ENOENT, "no stream in ",
			" is called '101010101010101010101010101010101'; the newest are "
			"222222222222 (example), 212121212121 "
			"(example), 202020202020 (example), 101010101010 (example)");
}

static void names(void **state)
{
	struct store *reader;

	(void)state;
	check_names(store);
	without_catalogue(store);
	assert_int_equal(store_open(folder, STORE_READ, &reader, NULL), 0);
	check_names(reader);
	store_close(reader);
}

/* Looks a name up; tells whether the folder of all streams was read for it. */
static bool reads_all(const char *name, int expected)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char streams[160], events[4096];
	enum stream_state found;
	struct stream_id id;
	ssize_t n;

	snprintf(streams, sizeof(streams), "%s/streams", folder);
	assert_true(inotify_add_watch(watch, streams, IN_OPEN | IN_ONLYDIR) >= 0);
	assert_int_equal(store_find_id(store, name, &id, &found, NULL), expected);
	n = read(watch, events, sizeof(events));
	close(watch);
	return n > 0;
}

/* Of ten thousand streams one is found without a look at the others. */
static void names_of_the_catalogue(void **state)
{
	(void)state;
	assert_false(reads_all("last", 0));
	assert_false(reads_all("1", 0));
	assert_false(reads_all("2222", 0));
	assert_true(reads_all("2", -EEXIST));
	assert_true(reads_all("3", -ENOENT));
}

/* Five at most, and the newest. */
static void not_all_are_suggested(void **state)
{
	(void)state;
	for (uint8_t i = 0; i < 3; i++)
		stream_writer_close(put_stream(0x40 + i, true));
	check_not_found(store, "2", -EEXIST,
			"'2' is the beginning of 3 streams' ids: 222222222222 (example), "
			"212121212121 (example), 202020202020 (example)",
			NULL);
	check_not_found(store, "9", -ENOENT, "no stream in ",
			" is called '9'; the newest are 424242424242 (example), 414141414141 "
			"(example), 404040404040 (example), 222222222222 (example), 212121212121 "
			"(example)");
}

static void paths(void **state)
{
	struct err_text err = {0};
	char name[160], expected[256], *path;

	(void)state;
	assert_true(store_name_is_path("/") && store_name_is_path("a.b") &&
		    store_name_is_path("./a"));
	assert_false(store_name_is_path("last") || store_name_is_path("snapshot:a/b"));
	assert_false(store_name_is_path("10"));
	snprintf(name, sizeof(name), "%s/streams/10101010101010101010101010101010", folder);
	assert_int_equal(store_find(store, name, &path, NULL), 0);
	snprintf(expected, sizeof(expected), "%s/recording.heapcast", name);
	assert_string_equal(path, expected);
	free(path);
	assert_int_equal(store_find(NULL, expected, &path, NULL), 0);
	assert_string_equal(path, expected);
	free(path);
	assert_int_equal(store_find(store, folder, &path, &err), -EISDIR);
	snprintf(expected, sizeof(expected), "%s is a folder without a recording", folder);
	assert_string_equal(err.text, expected);
	assert_int_equal(store_find(NULL, "nowhere", &path, &err), -ENOENT);
	assert_string_equal(err.text, "cannot open nowhere: No such file or directory");
}

static void nothing_there(void **state)
{
	struct store *other;
	char path[128], expected[256];
	struct err_text err = {0};
	struct stream_id id;
	enum stream_state found;

	(void)state;
	snprintf(path, sizeof(path), "%s/other", temporary_folder);
	assert_int_equal(store_open(path, STORE_WRITE, &other, NULL), 0);
	check_listed(other, false, "");
	assert_int_equal(store_find_id(other, "last", &id, &found, &err), -ENOENT);
	snprintf(expected, sizeof(expected), "there is no recording in %s yet", path);
	assert_string_equal(err.text, expected);
	store_close(other);
	store_list_free(NULL, 3);
}

static void ids_as_text(void **state)
{
	static const char *const bad[] = {"",
					  "0",
					  "g0101010101010101010101010101010",
					  "1010101010101010101010101010101/",
					  "1010101010101010101010101010101:",
					  "1010101010101010101010101010101`",
					  "1010101010101010101010101010101A",
					  "101010101010101010101010101010",
					  "1010101010101010101010101010101010"};
	struct stream_id id = {{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xf0, 0x0f, 0x90,
				0x9a, 0xa9, 0x00, 0xff, 0x80}},
			 again;
	char text[STREAM_ID_TEXT];

	(void)state;
	assert_string_equal(stream_id_format(text, &id), "0123456789abcdeff00f909aa900ff80");
	assert_true(stream_id_parse(text, &again));
	assert_memory_equal(&id, &again, sizeof(id));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(stream_id_parse(bad[i], &again));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(all_states),
		TEST(by_beginning),
		TEST(sums_are_caught_up),
		TEST(rows_are_filled_in),
		TEST(ids_of_folders),
		TEST(names),
		TEST(names_of_the_catalogue),
		TEST(not_all_are_suggested),
		TEST(paths),
		TEST(nothing_there),
		cmocka_unit_test(ids_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
