/* Where symbol files are found, also of programs that ended, and what becomes of files that
 * change. */
#include "tests/unit/streamer/asked_files.h"

/* Of several refusals the one that says most counts, and a file that can be read before all. */
static void test_places(void **state)
{
	char hidden[160];

	(void)state;
	snprintf(hidden, sizeof(hidden), "%s/hidden", temporary_folder);
	copy_to(hidden);
	chmod(hidden, 0600);
	announce_past("/no/such/file", own, ELF_MADE_ID);
	ask(0);
	expect_own_refused(0, REFUSED(GONE));
	announce_past(hidden, own, ELF_MADE_ID);
	ask(0);
	expect_own_refused(0, REFUSED(PRIVATE));
	s.bench.stream.target.uid = 0x12345678;
	announce_past("/no/other/file", own, ELF_MADE_ID);
	s.bench.stream.target.uid = getuid();
	ask(0);
	expect_own_refused(0, REFUSED(PRIVATE));
	assert_int_equal(s.files.places, 3);
	announce_past(s.path, own, ELF_MADE_ID);
	ask(0);
	expect_rest(0, 0);
	assert_int_equal(s.files.places, 4);
	announce("/no/live/file", own, ELF_MADE_ID);
	ask(0); /* four are tried, and no more; living programs first */
	expect_own_refused(0, REFUSED(PRIVATE));
	assert_int_equal(s.files.places, SYMBOL_PLACES_MAX);
	assert_string_equal(s.files.place[0].path, "/no/live/file");
	assert_string_equal(s.files.place[3].path, "/no/other/file");
	assert_int_equal(s.files.place[3].uid, 0x12345678);
	assert_int_equal(s.files.place[3].pid, 0);
}

/* A program that lives is asked for the file that it has mapped. */
static void test_live(void **state)
{
	struct stream *stream = &s.bench.stream;
	static const uint8_t other[3] = {9};
	enum stream_state before = stream->state;
	char longest[MODULE_PATH_MAX + 1] = {0};

	(void)state;
	announce("/first", other, sizeof(other));
	announce("/second", own, ELF_MADE_ID);
	announce("/third", own, ELF_MADE_ID); /* one of each stream is enough */
	ask(0);
	expect_own_refused(0, REFUSED(GONE));
	assert_int_equal(s.files.places, 1);
	assert_string_equal(s.files.place[0].path, "/second");
	assert_int_equal(s.files.place[0].pid, getpid());
	assert_int_equal(s.files.place[0].start, stream->modules.entry[1].start);
	assert_int_equal(s.files.place[0].build_id_length, ELF_MADE_ID);
	assert_true(modules_remove(&stream->modules, stream->modules.live[1].id, 2, 5));
	ask(0);
	expect_own_refused(0, REFUSED(GONE));
	assert_int_equal(s.files.place[0].pid, 0);
	assert_int_equal(s.files.place[0].start, 0);
	modules_clear(&stream->modules);
	announce_own();
	stream->state = STREAM_ENDED;
	ask(0);
	expect_rest(0, 0);
	assert_int_equal(s.files.place[0].pid, 0);
	stream->state = STREAM_FREE;
	ask(0);
	expect_own_refused(0, REFUSED(UNKNOWN));
	stream->state = before;
	modules_clear(&stream->modules);
	struct run_module cut = {.id = 1,
				 .end = 1,
				 .path = (const uint8_t *)"/a\0b",
				 .path_length = 4,
				 .build_id = own,
				 .build_id_length = ELF_MADE_ID};
	assert_int_equal(modules_add(&stream->modules, &cut), 0);
	ask(0);
	expect_own_refused(0, REFUSED(UNKNOWN)); /* that is no path */
	modules_clear(&stream->modules);
	memset(longest, 'p', MODULE_PATH_MAX);
	longest[0] = '/';
	announce(longest, own, ELF_MADE_ID);
	ask(0);
	expect_own_refused(0, REFUSED(GONE));
}

static void test_changed(void **state)
{
	int fd = open(s.path, O_WRONLY | O_CLOEXEC);

	(void)state;
	announce_own();
	ask(0);
	expect_piece(0, 0);
	settle();
	assert_int_equal(ftruncate(fd, SYMBOL_PIECE + 1), 0);
	expect_piece(0, SYMBOL_PIECE); /* was read before */
	expect_own_refused(0, REFUSED(CHANGED));
	expect_idle();
	copy_to(s.path);
	ask(0);
	expect_piece(0, 0);
	settle();
	assert_int_equal(ftruncate(fd, (off_t)s.size + 1), 0); /* what comes next can be read */
	expect_piece(0, SYMBOL_PIECE);
	expect_own_refused(0, REFUSED(CHANGED));
	expect_idle();
	copy_to(s.path);
	ask(0);
	expect_rest(0, 0);
	close(fd);
}

/* What comes while the worker is busy makes its result useless, and leaves nothing open. */
static void test_outdated(void **state)
{
	static const uint8_t other[3] = {9};

	(void)state;
	announce_own();
	ask(0);
	assert_true(s.files.working);
	ask_from(0, other, sizeof(other), 0, 0, 0);
	assert_true(s.files.working && s.files.outdated);
	expect_refused(0, REFUSED(UNKNOWN), other, sizeof(other));
	expect_idle();
	ask(0);
	symbol_files_leave(&s.files, link_at(0));
	assert_true(s.files.working);
	settle();
	expect_idle();
	ask(0);
	symbol_files_leave(&s.files, link_at(1)); /* has nothing to do with it */
	expect_piece(0, 0);
	settle();
	symbol_files_leave(&s.files, link_at(0)); /* a piece is ready */
	expect_idle();
	ask(0);
	expect_piece(0, 0);
	settle();
	ask(0);
	expect_rest(0, 0);
	ask(0);
	expect_piece(0, 0);
	settle();
	ask_from(0, other, sizeof(other), 0, 0, 0); /* gets nothing of the file that is open */
	expect_refused(0, REFUSED(UNKNOWN), other, sizeof(other));
	expect_idle();
	ask(0);
	expect_piece(0, 0);
	settle();
	assert_true(s.files.file.fd >= 0); /* closed by the end */
}

static void expect_known(const uint8_t *id, size_t length, bool known)
{
	ask_from(0, id, length, 0, 0, 0);
	expect_refused(0, known ? REFUSED(GONE) : REFUSED(UNKNOWN), id, length);
}

/* The table of past modules: each once, the newest stay. */
static void test_kept(void **state)
{
	uint8_t id[MODULE_BUILD_ID_MAX] = {0};
	char path[SYMBOL_KNOWN / 16 - RECORD_HEAD - sizeof(id) + 1];

	(void)state;
	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	announce_past("relative", id, 1);
	announce_past("", id, 1);
	announce_past("/path", NULL, 0);
	assert_int_equal(s.files.known_length, 0);
	announce_past("/path", id, 1);
	announce_past("/path", id, 1);
	assert_int_equal(s.files.known_length, RECORD_HEAD + 1 + 5);
	s.bench.stream.target.uid++;
	announce_past("/path", id, 1);
	s.bench.stream.target.uid--;
	announce_past("/patt", id, 1);
	announce_past("/path", id, 2);
	assert_int_equal(s.files.known_length, 4 * (RECORD_HEAD + 1 + 5) + 1);
	id[0] = 1;
	announce_past("/path", id, 1);
	assert_int_equal(s.files.known_length, 5 * (RECORD_HEAD + 1 + 5) + 1);
	id[0] = 0;
	announce_past("/path/", id, 1);
	assert_int_equal(s.files.known_length, 6 * (RECORD_HEAD + 1 + 5) + 2);
	s.files.known_length = 0;
	for (uint8_t i = 1; i <= 16; i++) {
		id[0] = i;
		announce_past(path, id, sizeof(id));
	}
	assert_int_equal(s.files.known_length, SYMBOL_KNOWN);
	id[0] = 1;
	expect_known(id, sizeof(id), true);
	id[0] = 16;
	expect_known(id, sizeof(id), true);
	id[0] = 1;
	announce_past(path, id, sizeof(id)); /* is the newest now */
	assert_int_equal(s.files.known_length, SYMBOL_KNOWN);
	id[0] = 17;
	announce_past(path, id, sizeof(id));
	assert_int_equal(s.files.known_length, SYMBOL_KNOWN);
	for (uint8_t i = 1; i <= 17; i++) {
		id[0] = i;
		expect_known(id, sizeof(id), i != 2);
	}
	id[0] = 18;
	announce_past("/", id, 1); /* smaller; one has to go for it */
	assert_int_equal(s.files.known_length, SYMBOL_KNOWN / 16 * 15 + RECORD_HEAD + 1 + 1);
	expect_known(id, 1, true);
	id[0] = 3;
	expect_known(id, sizeof(id), false);
}

static void test_memory(void **state)
{
	struct symbol_files files;
	uv_loop_t loop;
	struct arena small = s.arena;

	(void)state;
	uv_loop_init(&loop);
	small.used = 0;
	small.size = SYMBOL_KNOWN - 64;
	assert_int_equal(symbol_files_init(&files, &small, &loop, NULL, 0, pump), -ENOMEM);
	symbol_files_done(&files);
	small.used = 0;
	small.size = SYMBOL_FILES_SIZE - 256;
	assert_int_equal(symbol_files_init(&files, &small, &loop, NULL, 0, pump), -ENOMEM);
	symbol_files_done(&files);
	memset(&files, 0, sizeof(files));
	symbol_files_done(&files); /* was never begun: closes nothing */
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SYMBOL_TEST(test_places),   SYMBOL_TEST(test_live), SYMBOL_TEST(test_changed),
		SYMBOL_TEST(test_outdated), SYMBOL_TEST(test_kept), SYMBOL_TEST(test_memory),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
