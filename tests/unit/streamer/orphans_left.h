#pragma once
/* What an agent that is gone has left of a stream in the temporary folder. */
#include "tests/unit/streamer/harness.h"

#include "agent/spool/spool_files.h"
#include "tests/unit/temporary.h"

#define LIMIT SPOOL_LIMIT_MIN

/* The agent that goes. */
struct writer_scene {
	struct spool spool;
	struct spool_folder folder;
	struct arena arena;
	struct frame_encoder *encoder;
	uint8_t id[STREAM_ID_SIZE];
	uint32_t incarnation;
};

/* Random bytes, so that LZ4 leaves the frame as long as it is. */
static inline size_t make_frame(struct writer_scene *s, uint64_t number, uint64_t next,
				uint8_t *out, size_t size)
{
	uint8_t memory[4096], name[2000];
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	long length;

	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (uint8_t)random();
	memcpy(name, "/bin/left\n", 10);
	process.pid = 4711;
	process.executable = (ProtobufCBinaryData){sizeof(name), name};
	batch.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, s->id};
	batch.incarnation = s->incarnation;
	batch.number = number;
	batch.catch_up = !number;
	batch.next = next;
	batch.process = &process;
	length = frame_encode(s->encoder, memory + FRAME_HEADROOM,
			      heapcast__batch__pack(&batch, memory + FRAME_HEADROOM), out, size);
	assert_true(length > 2000);
	return (size_t)length;
}

static inline long define(void *context, int fd, uint64_t next, const struct spool_account *before)
{
	uint8_t frame[4096];
	uint64_t offset = 0;

	(void)before;
	for (int i = 0; i < 3; i++) {
		size_t length = make_frame(context, 0, next, frame, sizeof(frame));

		assert_int_equal(spool_file_write(fd, frame, length, offset), 0);
		offset += length;
	}
	return (long)offset;
}

/* Leaves batches from `acked` + 1 or before up to `count`. */
static inline void leave_orphan(uint8_t id, uint32_t incarnation, uint64_t count, uint64_t acked)
{
	static struct writer_scene s;
	uint8_t frame[4096];

	memset(&s, 0, sizeof(s));
	s.id[0] = id;
	s.incarnation = incarnation;
	s.encoder = frame_encoder_new();
	assert_int_equal(spool_folder_open(&s.folder, temporary_folder, LIMIT), 0);
	assert_int_equal(arena_open(&s.arena, 65536), 0);
	assert_int_equal(spool_init(&s.spool, &s.arena, 32768, 32768), 0);
	s.spool.disk.folder = &s.folder;
	s.spool.disk.id = s.id;
	s.spool.disk.incarnation = incarnation;
	s.spool.disk.define = define;
	s.spool.disk.context = &s;
	for (uint64_t i = 1; i <= count; i++) {
		struct spool_account account = {.events = i};
		size_t length = make_frame(&s, i, 0, frame, sizeof(frame));

		assert_int_equal(spool_put(&s.spool, frame, length, &account), 0);
		if (i == count / 2)
			spool_ack(&s.spool, acked, acked);
	}
	spool_leave(&s.spool);
	spool_folder_close(&s.folder);
	arena_close(&s.arena);
	frame_encoder_free(s.encoder);
}
