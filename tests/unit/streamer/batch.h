#pragma once
/* Batches packed from a stream and read again, and what is put into it: modules and threads whose
 * members differ. */
#include <stdio.h>

#include "tests/unit/streamer/harness.h"

static inline void assert_bytes(ProtobufCBinaryData got, const void *bytes, size_t size)
{
	assert_int_equal(got.len, size);
	assert_memory_equal(got.data, bytes, size);
}

static inline void assert_text(ProtobufCBinaryData got, const char *text)
{
	assert_bytes(got, text, strlen(text));
}

static inline Heapcast__Batch *unpack(struct bench *b, const uint8_t *frame, long length)
{
	struct err_text err = {{0}};
	const uint8_t *message;
	Heapcast__Batch *batch;
	size_t size;

	assert_true(length > 0);
	assert_int_equal(frame_decode(b->decoder, frame, (size_t)length, &message, &size, &err), 0);
	batch = heapcast__batch__unpack(NULL, size, message);
	assert_non_null(batch);
	return batch;
}

static inline Heapcast__Batch *packed(struct bench *b, bool end)
{
	long length = batch_pack(&b->stream, &b->packer, end);

	return unpack(b, b->stream.batch.memory, length);
}

static inline void forget(Heapcast__Batch *batch)
{
	heapcast__batch__free_unpacked(batch, NULL);
}

static inline struct run_module module_of(uint32_t id)
{
	return (struct run_module){
		.id = id,
		.time_ns = 1000 * id,
		.bias = 0x10000 * id,
		.start = 0x10000 * id + 0x100,
		.end = 0x10000 * id + 0x200,
		.path = (const uint8_t *)(id == 1 ? "/lib/one" : "/lib/other"),
		.path_length = id == 1 ? 8 : 10,
		.build_id = (const uint8_t *)"\1\2\3",
		.build_id_length = id,
		.print = 70 + id,
		.segment_count = id,
		.segment = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}},
	};
}

static inline void assert_module(const Heapcast__Module *m, uint32_t number)
{
	struct run_module from = module_of(number);

	assert_int_equal(m->number, number);
	assert_bytes(m->path, from.path, from.path_length);
	assert_bytes(m->build_id, from.build_id, from.build_id_length);
	assert_int_equal(m->bias, from.bias);
	assert_int_equal(m->start, from.start);
	assert_int_equal(m->end, from.end);
	assert_int_equal(m->loaded_ns, from.time_ns);
	assert_int_equal(m->print, from.print);
	assert_int_equal(m->n_segment, from.segment_count);
	for (size_t i = 0; i < m->n_segment; i++) {
		assert_int_equal(m->segment[i]->address, 4 * i + 1);
		assert_int_equal(m->segment[i]->size, 4 * i + 2);
		assert_int_equal(m->segment[i]->file_offset, 4 * i + 3);
		assert_int_equal(m->segment[i]->flags, 4 * i + 4);
	}
}

static inline struct thread *add_thread(struct bench *b, uint32_t tid, const char *name)
{
	struct thread *t = threads_add(&b->stream.threads, tid, 10 * (uint64_t)tid);

	assert_non_null(t);
	threads_name(&b->stream.threads, t, name);
	t->earlier_delivered = tid + 1;
	t->earlier_lost = tid + 2;
	t->counts = (struct thread_counts){.produced = tid + 20,
					   .not_sampled = 3,
					   .delivered = tid + 5,
					   .culled = 7,
					   .lost = 5};
	t->counts_news = true;
	return t;
}

static inline void assert_thread(const Heapcast__Thread *m, uint32_t tid, const char *name,
				 uint64_t ended)
{
	assert_int_equal(m->tid, tid);
	assert_text(m->name, name);
	assert_int_equal(m->started_ns, 10 * tid);
	assert_int_equal(m->ended_ns, ended);
	assert_int_equal(m->earlier_delivered, tid + 1);
	assert_int_equal(m->earlier_lost, tid + 2);
}
