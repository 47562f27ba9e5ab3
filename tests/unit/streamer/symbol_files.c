/*
 * Symbol files on their way to a collector, piece by piece: which are found, what is refused, who
 * waits, and what becomes of files that change.
 */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <uv.h>

#include "agent/net/symbol_files.h"
#include "base/crc32.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/streamer/elf_made.h"
#include "tests/unit/temporary.h"

#define REFUSED(why) HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_##why
#define RECORD_HEAD  7
#define FILE_SIZE    (3 * SYMBOL_PIECE + 100)

struct scene {
	struct bench bench;
	uv_loop_t loop;
	struct arena arena;
	struct stream *streams[1];
	struct symbol_files files;
	uint8_t *bytes; /* of the file */
	size_t size;
	int fd; /* of the collector's link; -1: what it holds is unknown */
	unsigned descriptors;
	char path[128];
};

static struct scene s;
static const uint8_t own[ELF_MADE_ID] = {0x11, 0x22, 0x33};
static char links[3]; /* only their addresses count */
static struct link *pumped;
static unsigned pumps;

static struct link *link_at(unsigned i)
{
	return (struct link *)(void *)&links[i];
}

static void pump(struct link *link)
{
	pumped = link;
	pumps++;
}

static void copy_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, s.bytes, s.size), s.size);
	assert_int_equal(fchmod(fd, 0644), 0);
	close(fd);
}

static int begin(void **state)
{
	temporary_setup(state);
	chmod(temporary_folder, 0755);
	memset(&s, 0, sizeof(s));
	s.fd = -1;
	s.descriptors = descriptors_open();
	bench_open(&s.bench);
	uv_loop_init(&s.loop);
	s.streams[0] = &s.bench.stream;
	assert_int_equal(arena_open(&s.arena, SYMBOL_FILES_SIZE), 0);
	assert_int_equal(symbol_files_init(&s.files, &s.arena, &s.loop, s.streams, 1, pump), 0);
	s.size = FILE_SIZE;
	s.bytes = malloc(s.size);
	assert_non_null(s.bytes);
	elf_make(s.bytes, s.size, own, ELF_MADE_SYMBOLS, NULL);
	snprintf(s.path, sizeof(s.path), "%s/program", temporary_folder);
	copy_to(s.path);
	pumps = 0;
	return 0;
}

static int end(void **state)
{
	uv_close((uv_handle_t *)&s.files.timer, NULL);
	uv_run(&s.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s.loop), 0);
	symbol_files_done(&s.files);
	free(s.bytes);
	arena_close(&s.arena);
	bench_close(&s.bench);
	assert_int_equal(descriptors_open(), s.descriptors);
	return temporary_teardown(state);
}

/* The stream announces a module of this file. */
static void announce(const char *path, const uint8_t *build_id, uint32_t length)
{
	static uint32_t id;
	struct run_module m = {.id = ++id,
			       .epoch = 1,
			       .start = 0x1000 * (uint64_t)id,
			       .end = 0x1000 * (uint64_t)id + 1,
			       .path = (const uint8_t *)path,
			       .path_length = (uint32_t)strlen(path),
			       .build_id = build_id,
			       .build_id_length = length};

	assert_int_equal(modules_add(&s.bench.stream.modules, &m), 0);
}

/* Modules of an earlier stream that is forgotten. */
static void announce_past(const char *path, const uint8_t *build_id, uint32_t length)
{
	announce(path, build_id, length);
	symbol_files_keep(&s.files, &s.bench.stream);
	modules_clear(&s.bench.stream.modules);
}

static void announce_own(void)
{
	announce(s.path, own, ELF_MADE_ID);
}

static void ask_from(unsigned link, const uint8_t *build_id, size_t length, uint64_t offset,
		     uint64_t identity, uint32_t crc)
{
	Heapcast__FileRequest m = HEAPCAST__FILE_REQUEST__INIT;

	m.build_id = (ProtobufCBinaryData){length, (uint8_t *)(uintptr_t)build_id};
	m.offset = offset;
	m.identity = identity;
	m.crc = crc;
	symbol_files_ask(&s.files, link_at(link), &m);
}

static void ask(unsigned link)
{
	ask_from(link, own, ELF_MADE_ID, 0, 0, 0);
}

/* What is there for the link now; NULL: nothing. */
static Heapcast__Batch *take(unsigned link)
{
	static uint8_t out[64 << 10];
	struct err_text err = {{0}};
	Heapcast__Batch *batch;
	const uint8_t *message;
	size_t size;
	long n =
		symbol_files_next(&s.files, link_at(link), s.fd, &s.bench.packer, out, sizeof(out));

	assert_true(n >= 0);
	if (!n)
		return NULL;
	assert_int_equal(frame_decode(s.bench.decoder, out, (size_t)n, &message, &size, &err), 0);
	batch = heapcast__batch__unpack(NULL, size, message);
	assert_non_null(batch);
	assert_non_null(batch->link);
	assert_non_null(batch->link->file);
	return batch;
}

/* The next piece, as soon as it is there. */
static Heapcast__Batch *next(unsigned link)
{
	Heapcast__Batch *batch = take(link);

	for (int i = 0; !batch && i < 2000; i++) {
		uv_run(&s.loop, UV_RUN_ONCE);
		s.files.turn |= s.files.ready; /* test_turns waits for it */
		batch = take(link);
	}
	assert_non_null(batch);
	return batch;
}

/* Waits until the worker rests. */
static void settle(void)
{
	while (s.files.working)
		uv_run(&s.loop, UV_RUN_ONCE);
}

static void expect_idle(void)
{
	assert_null(s.files.to);
	assert_false(s.files.working);
	assert_int_equal(s.files.file.fd, -1);
	assert_false(uv_is_active((uv_handle_t *)&s.files.timer));
	for (unsigned i = 0; i < 3; i++)
		assert_null(take(i));
}

static void expect_refused(unsigned link, int why, const uint8_t *build_id, size_t length)
{
	Heapcast__Batch *b = next(link);
	const Heapcast__FilePiece *p = b->link->file;

	assert_int_equal(p->refusal, why);
	assert_int_equal(p->build_id.len, length);
	assert_memory_equal(p->build_id.data, build_id, length);
	assert_int_equal(p->total, 0);
	assert_int_equal(p->data.len, 0);
	heapcast__batch__free_unpacked(b, NULL);
}

static void expect_own_refused(unsigned link, int why)
{
	expect_refused(link, why, own, ELF_MADE_ID);
}

/* Takes one piece, which begins at `offset`; returns where it ends. */
static uint64_t expect_piece(unsigned link, uint64_t offset)
{
	Heapcast__Batch *b = next(link);
	const Heapcast__FilePiece *p = b->link->file;
	size_t left = s.size - (size_t)offset, length = left < SYMBOL_PIECE ? left : SYMBOL_PIECE;

	assert_int_equal(p->refusal, 0);
	assert_int_equal(p->build_id.len, ELF_MADE_ID);
	assert_memory_equal(p->build_id.data, own, ELF_MADE_ID);
	assert_int_equal(p->total, s.size);
	assert_int_not_equal(p->identity, 0);
	assert_int_equal(p->offset, offset);
	assert_int_equal(p->data.len, length);
	assert_memory_equal(p->data.data, s.bytes + offset, length);
	assert_int_equal(p->crc, crc32_add(0, s.bytes, (size_t)offset + length));
	heapcast__batch__free_unpacked(b, NULL);
	return offset + length;
}

static void expect_rest(unsigned link, uint64_t offset)
{
	while (offset < s.size)
		offset = expect_piece(link, offset);
	expect_idle();
}

static void test_whole(void **state)
{
	uint64_t asked;

	(void)state;
	announce_own();
	assert_false(symbol_files_busy(&s.files, clock_monotonic_ns()));
	ask(0);
	asked = s.files.moved_ns;
	assert_true(symbol_files_busy(&s.files, asked));
	assert_true(symbol_files_busy(&s.files, asked + 4999999999));
	assert_false(symbol_files_busy(&s.files, asked + 5000000000));
	expect_rest(0, 0);
	assert_ptr_equal(pumped, link_at(0));
	assert_true(pumps > 0);
	assert_true(s.files.moved_ns > asked);
	assert_true(symbol_files_busy(&s.files, s.files.moved_ns + 2999999999));
	assert_false(symbol_files_busy(&s.files, s.files.moved_ns + 3000000000));
	ask(1); /* and another one after that */
	expect_rest(1, 0);
}

/* Who has a part goes on behind it, if the file is still the same. */
static void test_part(void **state)
{
	uint64_t offset, identity;

	(void)state;
	announce_own();
	ask(0);
	offset = expect_piece(0, 0);
	identity = s.files.file.identity;
	symbol_files_leave(&s.files, link_at(0));
	settle();
	expect_idle();
	ask_from(0, own, ELF_MADE_ID, offset, identity, crc32_add(0, s.bytes, (size_t)offset));
	expect_rest(0, offset);
	ask_from(0, own, ELF_MADE_ID, s.size - 1, identity, crc32_add(0, s.bytes, s.size - 1));
	expect_rest(0, s.size - 1);
	ask_from(0, own, ELF_MADE_ID, s.size, identity, 1);
	expect_piece(0, 0);
	ask_from(0, own, ELF_MADE_ID, offset, identity + 1, 1);
	expect_piece(0, 0);
}

/* A piece is sent in its turn only, and while the link has hardly anything in flight. */
static void test_turns(void **state)
{
	uint8_t rest[4096] = {0}, out[100];
	int pair[2];
	size_t room = s.bench.packer.message_size;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
			 0);
	announce_own();
	ask(0);
	while (!s.files.ready)
		uv_run(&s.loop, UV_RUN_ONCE);
	s.files.turn = false;
	assert_null(take(0));
	pumps = 0;
	while (!pumps)
		uv_run(&s.loop, UV_RUN_ONCE);
	assert_true(s.files.turn);
	assert_null(take(1)); /* it is another's */
	s.fd = pair[0];
	while (send(pair[0], rest, sizeof(rest), MSG_NOSIGNAL) > 0)
		;
	assert_null(take(0));
	while (recv(pair[1], rest, sizeof(rest), 0) > 0)
		;
	expect_piece(0, 0);
	assert_false(s.files.turn);
	settle();
	s.bench.packer.message_size = 64;
	s.files.turn = true;
	assert_int_equal(
		symbol_files_next(&s.files, link_at(0), -1, &s.bench.packer, out, sizeof(out)),
		-EMSGSIZE);
	s.bench.packer.message_size = room;
	close(pair[0]);
	close(pair[1]);
	symbol_files_leave(&s.files, link_at(0));
	settle();
}

static void test_busy(void **state)
{
	static const uint8_t other[3] = {9};
	uint64_t offset;

	(void)state;
	announce_own();
	ask(0);
	offset = expect_piece(0, 0);
	ask_from(1, other, sizeof(other), 0, 0, 0);
	expect_refused(1, REFUSED(BUSY), other, sizeof(other));
	assert_null(take(1));
	ask(1);
	symbol_files_leave(&s.files, link_at(1));
	assert_null(take(1));
	ask(2);
	symbol_files_leave(&s.files, link_at(1)); /* it was told already */
	expect_own_refused(2, REFUSED(BUSY));
	offset = expect_piece(0, offset);
	ask_from(1, NULL, 0, 0, 0, 0); /* who asks for nothing stops nobody else */
	offset = expect_piece(0, offset);
	ask_from(0, NULL, 0, 0, 0, 0);
	settle();
	expect_idle();
	ask(1);
	expect_rest(1, 0);
}

static void test_requests(void **state)
{
	uint8_t id[MODULE_BUILD_ID_MAX + 1] = {1};

	(void)state;
	ask_from(0, id, sizeof(id), 0, 0, 0);
	expect_idle();
	ask_from(0, id, sizeof(id) - 1, 0, 0, 0);
	expect_refused(0, REFUSED(UNKNOWN), id, sizeof(id) - 1);
	expect_idle();
	s.files.policy = SYMBOLS_NONE;
	announce_own();
	ask(0);
	assert_false(s.files.working);
	expect_own_refused(0, REFUSED(SWITCHED_OFF));
	expect_idle();
	s.files.policy = SYMBOLS_ALL;
	ask_from(0, own, ELF_MADE_ID - 1, 0, 0, 0);
	expect_refused(0, REFUSED(UNKNOWN), own, ELF_MADE_ID - 1);
	ask(0);
	expect_piece(0, 0);
}

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

#define SYMBOL_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SYMBOL_TEST(test_whole), SYMBOL_TEST(test_part),     SYMBOL_TEST(test_turns),
		SYMBOL_TEST(test_busy),	 SYMBOL_TEST(test_requests), SYMBOL_TEST(test_places),
		SYMBOL_TEST(test_live),	 SYMBOL_TEST(test_changed),  SYMBOL_TEST(test_outdated),
		SYMBOL_TEST(test_kept),	 SYMBOL_TEST(test_memory),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
