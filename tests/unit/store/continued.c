/*
 * Streams that go on from files: what of them is new is stored, what is missing, damaged or refused
 * is told, and what cannot be taken leaves the store as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/beginning.h"
#include "collector/catalogue/continue.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/recording.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

#define BATCHES 6

static struct store *store;
static struct builder b;
static struct stream_id id;
static char *recording, *folder;
static size_t definitions; /* number of the frame that has them all again */
static unsigned opened;

static int begin(void **state)
{
	char data[128];

	if (temporary_setup(state) < 0)
		return -1;
	opened = descriptors_open();
	snprintf(data, sizeof(data), "%s/store", temporary_folder);
	assert_int_equal(store_open(data, STORE_WRITE, &store, NULL), 0);
	builder_init(&b, 0x21);
	for (uint64_t i = 1; i <= BATCHES; i++) {
		if (i == 4) {
			definitions = b.frame_count;
			b.catch_up = true;
			builder_close(&b, 100 * i);
		}
		builder_malloc(&b, 100 * i, 1, 0x1000 * i, i);
		if (i == BATCHES)
			builder_end(&b, 0);
		else
			builder_close(&b, 100 * i);
	}
	memcpy(id.bytes, b.id, sizeof(id.bytes));
	recording = stream_recording_path(store, &id);
	folder = stream_folder_path(store, &id);
	first_descriptor_free();
	return 0;
}

static int end(void **state)
{
	first_descriptor_take();
	store_close(store);
	builder_done(&b);
	free(recording);
	free(folder);
	if (descriptors_open() != opened)
		return -1;
	return temporary_teardown(state);
}

static const char *file_path(const char *name)
{
	static char path[4][128];
	static unsigned k;

	k = (k + 1) % 4;
	snprintf(path[k], sizeof(path[k]), "%s/%s", temporary_folder, name);
	return path[k];
}

/* Frames `from` to `to` (not included) in a file, and `more` bytes of the next one. */
static const char *put_file(const char *name, size_t from, size_t to, size_t more)
{
	const char *path = file_path(name);
	size_t start = from ? b.ends[from - 1] : 0, stop = b.ends[to - 1] + more;
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(b.file.data + start, 1, stop - start, file), stop - start);
	fclose(file);
	return path;
}

static void change_byte(const char *path, size_t at)
{
	FILE *file = fopen(path, "r+");
	int byte;

	assert_non_null(file);
	fseek(file, (long)at, SEEK_SET);
	byte = getc(file);
	fseek(file, (long)at, SEEK_SET);
	putc(byte ^ 0x55, file);
	fclose(file);
}

static int go_on(const char *first, const char *second, struct stream_continued *ret,
		 struct err_text *err)
{
	const char *paths[] = {first, second};

	*ret = (struct stream_continued){.pid = 99};
	err->text[0] = 0;
	return store_continue(store, paths, second ? 2 : 1, NULL, NULL, ret, err);
}

static off_t stored(void)
{
	struct stat st;

	return stat(recording, &st) < 0 ? -1 : st.st_size;
}

static void check(const struct stream_continued *c, uint64_t before, uint64_t events,
		  uint64_t missing, bool ended)
{
	assert_memory_equal(&c->id, &id, sizeof(id));
	assert_string_equal(c->name, "example");
	assert_int_equal(c->pid, 4711);
	assert_int_equal(c->before, before);
	assert_int_equal(c->events, events);
	assert_int_equal(c->missing, missing);
	assert_int_equal(c->ended, ended);
	assert_null(c->damaged);
	assert_int_equal(c->damaged_at, 0);
}

static void check_store(enum stream_state state, uint64_t events, uint64_t blocks)
{
	struct stream_summary *list;
	size_t count;

	assert_int_equal(store_list(store, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].state, state);
	assert_int_equal(list[0].events, events);
	assert_int_equal(list[0].in_use_blocks, blocks);
	assert_int_equal(list[0].recording_bytes, stored());
	store_list_free(list, count);
}

/* ---- what is taken ---- */

static void from_one_file(void **state)
{
	struct stream_continued c;
	struct err_text err;

	(void)state;
	assert_int_equal(go_on(put_file("all", 0, b.frame_count, 0), NULL, &c, &err), 0);
	check(&c, 0, BATCHES, 0, true);
	/* The definitions that it has again were known. */
	assert_int_equal(stored(), b.file.length - (b.ends[definitions] - b.ends[definitions - 1]));
	check_store(STREAM_ENDED, BATCHES, BATCHES);
	/* Once more: nothing is new. */
	assert_int_equal(go_on(file_path("all"), NULL, &c, &err), 0);
	check(&c, BATCHES, 0, 0, true);
	check_store(STREAM_ENDED, BATCHES, BATCHES);
}

static void from_two_files(void **state)
{
	struct stream_continued c;
	struct err_text err;
	const char *first = put_file("first", 0, 2, 0);
	const char *second = put_file("second", definitions, b.frame_count, 0);

	(void)state;
	assert_int_equal(go_on(put_file("start", 0, 1, 0), NULL, &c, &err), 0);
	check(&c, 0, 1, 0, false);
	check_store(STREAM_INTERRUPTED, 1, 1);
	/* Batch 3 is in neither. */
	assert_int_equal(go_on(first, second, &c, &err), 0);
	check(&c, 1, 4, 1, true);
	/* Of what was there before the hole was seen, nobody knows whether it is in use. */
	check_store(STREAM_ENDED, 5, 2);
}

/* The frames of `b` from `from` to `to`, and then those from `again` on: the agent was elsewhere in
 * between. */
static const char *put_two(const char *name, size_t from, size_t to, size_t again, size_t end)
{
	const char *path = put_file(name, from, to, 0);
	FILE *file = fopen(path, "a");
	size_t start = b.ends[again - 1], length = b.ends[end - 1] - start;

	assert_non_null(file);
	assert_int_equal(fwrite(b.file.data + start, 1, length, file), length);
	fclose(file);
	return path;
}

static const char *outer, *inner;

/* The agent went to another collector, and came back: batches 1, 2 and 6 are in one file, 3 to 5 in
 * the other one. All definitions precede 3 and 6, which say who had what was before. */
static void go_there_and_back(void)
{
	static Heapcast__Part part;
	static Heapcast__Part *parts = &part;

	builder_done(&b);
	builder_init(&b, 0x21);
	for (uint64_t i = 1; i <= BATCHES; i++) {
		if (i == 3 || i == 6) {
			heapcast__part__init(&part);
			part.host = (char *)(uintptr_t)(i == 3 ? "desk1" : "desk2");
			part.upto = part.events = i - 1;
			b.parts = &parts;
			b.part_count = 1;
			b.catch_up = true;
			builder_close(&b, 100 * i);
		}
		builder_malloc(&b, 100 * i, 1, 0x1000 * i, i);
		if (i == BATCHES)
			builder_end(&b, 0);
		else
			builder_close(&b, 100 * i);
	}
	assert_int_equal(b.frame_count, BATCHES + 2);
	outer = put_two("outer", 0, 2, BATCHES, BATCHES + 2);
	inner = put_file("inner", 2, BATCHES, 0);
}

static void outer_first(void **state)
{
	struct stream_continued c;
	struct err_text err;

	(void)state;
	go_there_and_back();
	assert_int_equal(go_on(outer, inner, &c, &err), 0);
	check(&c, 0, BATCHES, 0, true);
	assert_int_equal(c.unplaced, 0);
	check_store(STREAM_ENDED, BATCHES, BATCHES);
	/* Once more: all is there. */
	assert_int_equal(go_on(inner, outer, &c, &err), 0);
	check(&c, BATCHES, 0, 0, true);
	assert_int_equal(c.unplaced, 0);
}

static void inner_first(void **state)
{
	struct stream_continued c;
	struct err_text err;

	(void)state;
	go_there_and_back();
	assert_int_equal(go_on(inner, outer, &c, &err), 0);
	check(&c, 0, BATCHES, 0, true);
	check_store(STREAM_ENDED, BATCHES, BATCHES);
}

/* What has the end can take nothing before it. That is said. */
static void too_late_for_the_middle(void **state)
{
	struct stream_continued c;
	struct err_text err;

	(void)state;
	go_there_and_back();
	assert_int_equal(go_on(outer, NULL, &c, &err), 0);
	check(&c, 0, 3, 3, true);
	assert_string_equal(c.held_by, "desk2");
	assert_int_equal(go_on(inner, NULL, &c, &err), 0);
	assert_int_equal(c.before, 3);
	assert_int_equal(c.events, 0);
	assert_int_equal(c.unplaced, 3);
	assert_int_equal(go_on(outer, NULL, &c, &err), 0);
	assert_int_equal(c.unplaced, 0);
}

/* Nor what has the middle the beginning. */
static void too_late_for_the_beginning(void **state)
{
	struct stream_continued c;
	struct err_text err;

	(void)state;
	go_there_and_back();
	assert_int_equal(go_on(inner, NULL, &c, &err), 0);
	assert_int_equal(c.events, 3);
	assert_int_equal(c.missing, 0);
	assert_int_equal(go_on(outer, NULL, &c, &err), 0);
	assert_int_equal(c.events, 1);
	assert_int_equal(c.unplaced, 2);
	assert_int_equal(c.missing, 0);
}

/* What a collector had half written when it was killed is cut off, and said. */
static void half_a_frame_in_the_store(void **state)
{
	struct stream_continued c;
	struct err_text err;
	FILE *file;

	(void)state;
	assert_int_equal(go_on(put_file("start", 0, 1, 0), NULL, &c, &err), 0);
	assert_int_equal(c.cut_bytes, 0);
	file = fopen(recording, "a");
	assert_non_null(file);
	assert_int_equal(fwrite(b.file.data + b.ends[0], 1, 21, file), 21);
	fclose(file);
	assert_int_equal(go_on(put_file("second", 1, 2, 0), NULL, &c, &err), 0);
	assert_int_equal(c.before, 1);
	assert_int_equal(c.events, 1);
	assert_int_equal(c.missing, 0);
	assert_int_equal(c.cut_bytes, 21);
	assert_int_equal(stored(), b.ends[1]);
}

struct told {
	unsigned calls, until;
	uint64_t last, all;
};

static int tell(void *context, uint64_t done, uint64_t of)
{
	struct told *t = context;

	assert_true(!t->calls || done > t->last);
	t->last = done;
	t->all = of;
	return ++t->calls == t->until ? -ECANCELED : 0;
}

static void progress(void **state)
{
	const char *path = put_file("all", 0, b.frame_count, 0);
	struct stream_continued c = {.pid = 99};
	struct told told = {.until = 3};
	struct err_text err = {0};

	(void)state;
	assert_int_equal(store_continue(store, &path, 1, tell, &told, &c, &err), -ECANCELED);
	assert_int_equal(told.calls, 3);
	assert_int_equal(c.pid, 99);
	assert_int_equal(access(folder, F_OK), -1); /* it was new */
	told = (struct told){0};
	assert_int_equal(store_continue(store, &path, 1, tell, &told, &c, &err), 0);
	assert_int_equal(told.calls, b.frame_count);
	assert_int_equal(told.last, b.ends[b.frame_count - 2]);
	assert_int_equal(told.all, b.file.length);
}

/* ---- what is damaged ---- */

static void half_frames(void **state)
{
	struct stream_continued c;
	struct err_text err;
	const char *path;

	(void)state;
	/* A frame that is cut off may have been on its way: no damage. */
	assert_int_equal(go_on(put_file("cut", 0, 2, 10), NULL, &c, &err), 0);
	check(&c, 0, 2, 0, false);
	/* What makes no sense is: nothing behind it is taken, of no later file either. */
	path = put_file("damaged", 0, b.frame_count, 0);
	change_byte(path, b.ends[3] + 20);
	assert_int_equal(go_on(path, put_file("later", definitions, b.frame_count, 0), &c, &err),
			 0);
	assert_ptr_equal(c.damaged, path);
	assert_int_equal(c.damaged_at, b.ends[3]);
	assert_int_equal(c.before, 2);
	assert_int_equal(c.events, 1);
	assert_false(c.ended);
	check_store(STREAM_INTERRUPTED, 3, 3);
}

static void a_damaged_end(void **state)
{
	struct stream_continued c;
	struct err_text err;
	const char *path = put_file("end", 0, 3, 0);

	(void)state;
	change_byte(path, b.ends[1] + 20);
	assert_int_equal(go_on(path, NULL, &c, &err), 0);
	assert_ptr_equal(c.damaged, path);
	assert_int_equal(c.damaged_at, b.ends[1]);
	assert_int_equal(c.events, 2);
}

/* ---- what is refused ---- */

static void check_refused(int error, const char *first, const char *second, const char *sentence)
{
	struct stream_continued c;
	struct err_text err;
	off_t before = stored();

	assert_int_equal(go_on(first, second, &c, &err), error);
	assert_string_equal(err.text, sentence);
	assert_int_equal(stored(), before);
	assert_int_equal(c.pid, 99);
}

static void no_recordings(void **state)
{
	char sentence[256];
	const char *path = file_path("garbage");
	FILE *file = fopen(path, "w");

	(void)state;
	snprintf(sentence, sizeof(sentence), "cannot open %s: No such file or directory",
		 file_path("none"));
	check_refused(-ENOENT, file_path("none"), NULL, sentence);
	fclose(file); /* an empty one */
	snprintf(sentence, sizeof(sentence), "%s is no recording", path);
	check_refused(-EBADMSG, path, NULL, sentence);
	assert_int_equal(access(folder, F_OK), -1);
}

static void other_streams(void **state)
{
	struct stream_continued c;
	struct err_text err;
	struct builder other;
	char *path, sentence[256];

	(void)state;
	builder_init(&other, 0x22);
	builder_malloc(&other, 10, 1, 0x1000, 1);
	builder_close(&other, 10);
	path = builder_save(&other, other.file.length);
	snprintf(sentence, sizeof(sentence), "%s: a batch of another stream", path);
	/* Nothing is left of a stream that would have been new. */
	check_refused(-EBADMSG, put_file("start", 0, 2, 0), path, sentence);
	assert_int_equal(access(folder, F_OK), -1);
	assert_int_equal(go_on(file_path("start"), NULL, &c, &err), 0);
	check_refused(-EBADMSG, put_file("third", 2, 3, 0), path, sentence);
	/* A hole without definitions. */
	snprintf(sentence, sizeof(sentence), "%s: batch 5 came, but 3 was expected",
		 put_file("hole", definitions + 2, definitions + 3, 0));
	check_refused(-EBADMSG, file_path("hole"), NULL, sentence);
	check_store(STREAM_INTERRUPTED, 2, 2);
	unlink(path);
	free(path);
	builder_done(&other);
}

static void somebody_writes_it(void **state)
{
	struct stream_writer *writer;
	struct stream_continued c;
	struct err_text err;
	char sentence[256];
	uint64_t cut;

	(void)state;
	assert_int_equal(go_on(put_file("start", 0, 2, 0), NULL, &c, &err), 0);
	assert_int_equal(stream_writer_open(store, &id, &writer, &cut, NULL), 0);
	snprintf(sentence, sizeof(sentence), "%s is being written by somebody else", recording);
	check_refused(-EBUSY, put_file("all", 0, b.frame_count, 0), NULL, sentence);
	stream_writer_close(writer);
}

/* ---- beginnings ---- */

static void beginnings(void **state)
{
	struct recording_beginning start, again, same;
	struct err_text err = {0};
	char sentence[256];
	FILE *file;

	(void)state;
	assert_int_equal(recording_beginning(put_file("a", 1, 3, 0), &start, &err), 0);
	assert_memory_equal(&start.id, &id, sizeof(id));
	assert_true(start.incarnation == 1 && start.first == 2 && !start.definitions);
	assert_int_equal(
		recording_beginning(put_file("b", definitions, b.frame_count, 0), &again, &err), 0);
	assert_true(again.incarnation == 1 && again.first == 4 && again.definitions);
	file = fopen(file_path("c"), "w");
	fclose(file);
	assert_int_equal(recording_beginning(file_path("c"), &same, &err), -EBADMSG);
	snprintf(sentence, sizeof(sentence), "%s is no recording", file_path("c"));
	assert_string_equal(err.text, sentence);
	assert_int_equal(recording_beginning(file_path("none"), &same, &err), -ENOENT);

	assert_true(recording_beginning_compare(&start, &start) == 0);
	assert_true(recording_beginning_compare(&start, &again) < 0);
	assert_true(recording_beginning_compare(&again, &start) > 0);
	same = again;
	same.definitions = false;
	assert_true(recording_beginning_compare(&again, &same) < 0);
	assert_true(recording_beginning_compare(&same, &again) > 0);
	same = again;
	same.incarnation = 2;
	same.first = 1;
	assert_true(recording_beginning_compare(&again, &same) < 0);
	assert_true(recording_beginning_compare(&same, &again) > 0);
	same.id.bytes[15]--;
	assert_true(recording_beginning_compare(&again, &same) > 0);
	assert_true(recording_beginning_compare(&same, &again) < 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(from_one_file),
		TEST(from_two_files),
		TEST(progress),
		TEST(half_frames),
		TEST(a_damaged_end),
		TEST(no_recordings),
		TEST(other_streams),
		TEST(somebody_writes_it),
		TEST(beginnings),
		TEST(half_a_frame_in_the_store),
		TEST(outer_first),
		TEST(inner_first),
		TEST(too_late_for_the_middle),
		TEST(too_late_for_the_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
