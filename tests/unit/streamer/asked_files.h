#pragma once
/* Symbol files that collectors ask for: a stream that knows them, and what is sent. */
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

static inline struct link *link_at(unsigned i)
{
	return (struct link *)(void *)&links[i];
}

static inline void pump(struct link *link)
{
	pumped = link;
	pumps++;
}

static inline void copy_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, s.bytes, s.size), s.size);
	assert_int_equal(fchmod(fd, 0644), 0);
	close(fd);
}

static inline int begin(void **state)
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

static inline int end(void **state)
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
static inline void announce(const char *path, const uint8_t *build_id, uint32_t length)
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
static inline void announce_past(const char *path, const uint8_t *build_id, uint32_t length)
{
	announce(path, build_id, length);
	symbol_files_keep(&s.files, &s.bench.stream);
	modules_clear(&s.bench.stream.modules);
}

static inline void announce_own(void)
{
	announce(s.path, own, ELF_MADE_ID);
}

static inline void ask_from(unsigned link, const uint8_t *build_id, size_t length, uint64_t offset,
			    uint64_t identity, uint32_t crc)
{
	Heapcast__FileRequest m = HEAPCAST__FILE_REQUEST__INIT;

	m.build_id = (ProtobufCBinaryData){length, (uint8_t *)(uintptr_t)build_id};
	m.offset = offset;
	m.identity = identity;
	m.crc = crc;
	symbol_files_ask(&s.files, link_at(link), &m);
}

static inline void ask(unsigned link)
{
	ask_from(link, own, ELF_MADE_ID, 0, 0, 0);
}

/* What is there for the link now; NULL: nothing. */
static inline Heapcast__Batch *take(unsigned link)
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
static inline Heapcast__Batch *next(unsigned link)
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
static inline void settle(void)
{
	while (s.files.working)
		uv_run(&s.loop, UV_RUN_ONCE);
}

static inline void expect_idle(void)
{
	assert_null(s.files.to);
	assert_false(s.files.working);
	assert_int_equal(s.files.file.fd, -1);
	assert_false(uv_is_active((uv_handle_t *)&s.files.timer));
	for (unsigned i = 0; i < 3; i++)
		assert_null(take(i));
}

static inline void expect_refused(unsigned link, int why, const uint8_t *build_id, size_t length)
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

static inline void expect_own_refused(unsigned link, int why)
{
	expect_refused(link, why, own, ELF_MADE_ID);
}

/* Takes one piece, which begins at `offset`; returns where it ends. */
static inline uint64_t expect_piece(unsigned link, uint64_t offset)
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

static inline void expect_rest(unsigned link, uint64_t offset)
{
	while (offset < s.size)
		offset = expect_piece(link, offset);
	expect_idle();
}

#define SYMBOL_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
