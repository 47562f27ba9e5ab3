#pragma once
/* Writes an event and its stack as a record to its stream's ring, or counts it as lost. */
#include "bpf/capture_maps.h"
#include "proto/event.h"

ARCH_INLINE void put_count_lost(struct capture_thread *thread)
{
	if (event_class(thread->kind) == EVENT_CLASS_FREE) {
		thread->lost_frees++;
		return;
	}
	thread->lost_allocations++;
	thread->lost_bytes += thread->size;
}

ARCH_INLINE void put_fill(struct capture_record *record, const struct capture_stream *stream,
			  const struct capture_thread *thread, uint32_t number, uint64_t before)
{
	record->stamp = bpf_ktime_get_ns();
	record->before = before;
	record->type = CAPTURE_EVENT;
	record->kind = (uint8_t)thread->kind;
	record->flags = 0;
	record->thread = number;
	record->tid = thread->tid;
	record->keep = record->count = 0;
	record->loads = stream->loads;
	record->address = thread->address;
	record->size = thread->size;
	record->old_address = thread->old_address;
	record->call_stamp = thread->call_stamp;
	record->interval = thread->event_interval;
}

/* Returns the flags that wake the agent once when the ring holds `wake_bytes`. */
ARCH_INLINE uint64_t put_flags(void *ring, struct capture_stream *stream)
{
	if (stream->rung || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < stream->wake_bytes)
		return BPF_RB_NO_WAKEUP;
	stream->rung = 1;
	return BPF_RB_FORCE_WAKEUP;
}

/* A record with room for N program counters; the verifier requires constant sizes. */
#define PUT(N)                                                                                     \
	({                                                                                         \
		uint64_t before = bpf_ktime_get_ns();                                              \
		struct capture_record *record =                                                    \
			bpf_ringbuf_reserve(ring, sizeof(*record) + (N)*8ull, 0);                  \
                                                                                                   \
		if (record) {                                                                      \
			put_fill(record, stream, thread, number, before);                          \
			record->flags = (uint16_t)flags;                                           \
			record->keep = result.keep;                                                \
			record->count = result.count;                                              \
			if (N)                                                                     \
				bpf_probe_read_kernel(record + 1, (N)*8ull, slot->pcs);            \
			bpf_ringbuf_submit(record, put_flags(ring, stream));                       \
		}                                                                                  \
		record != NULL;                                                                    \
	})

#define PUT_WAIT_ROUNDS 64 /* in one piece, which the verifier checks once */
#define PUT_WAIT_PIECES 32
#define PUT_WAIT_NS	100000 /* at most, for one event */
#define PUT_WAIT_LESS	20000

/* Waits for room for a bounded number of rounds. Returns 1 if the caller should go on waiting:
 * there is no room yet, and `until` has not passed. A global function, so that the verifier checks
 * it only once. */
__attribute__((noinline)) int put_wait_room(uint32_t stream_number, uint64_t until)
{
	void *ring = bpf_map_lookup_elem(&capture_rings, &stream_number);
	struct capture_stream *stream = capture_stream_of(stream_number);

	if (!ring || !stream)
		return 0;
	for (uint32_t i = 0; i < PUT_WAIT_ROUNDS; i++)
		if (bpf_ktime_get_ns() > until ||
		    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < stream->wake_bytes)
			return 0;
	return 1;
}

/*
 * Back-pressure, within the kernel's limits: makes the program wait for a bounded time while the
 * agent makes room on another processor. For a stack that the agent has to walk, the wait begins at
 * a lower fill level: after the agent's walk the kernel may be able to walk the next such stack.
 */
ARCH_INLINE void put_wait(void *ring, uint32_t stream_number, struct capture_stream *stream,
			  bool raw)
{
	uint64_t from = bpf_ktime_get_ns(), least = stream->wake_bytes,
		 waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA), most = PUT_WAIT_NS;

	if (!raw && waiting < 3 * least)
		most = PUT_WAIT_LESS;
	if (!stream->block || waiting < (raw ? least : 2 * least))
		return;
	for (uint32_t i = 0; i < PUT_WAIT_PIECES; i++)
		if (!put_wait_room(stream_number, from + most))
			break;
	__sync_fetch_and_add(&stream->waited_ns, bpf_ktime_get_ns() - from);
}

/* Returns the flags that wake the agent at once: every event takes this path until the agent has
 * enabled the kernel to walk this stack. */
ARCH_INLINE uint64_t put_raw_flags(struct capture_stream *stream)
{
	if (stream->rung)
		return BPF_RB_NO_WAKEUP;
	stream->rung = 1;
	return BPF_RB_FORCE_WAKEUP;
}

#define PUT_RAW(PAGES)                                                                             \
	({                                                                                         \
		uint64_t before = bpf_ktime_get_ns();                                              \
		struct capture_raw *raw =                                                          \
			bpf_ringbuf_reserve(ring, sizeof(*raw) + (PAGES)*CAPTURE_PAGE, 0);         \
                                                                                                   \
		if (raw) {                                                                         \
			put_fill(&raw->record, stream, thread, number, before);                    \
			raw->record.type = CAPTURE_RAW;                                            \
			raw->record.flags = CAPTURE_HAS_STACK;                                     \
			raw->pc = thread->pc;                                                      \
			raw->sp = thread->sp;                                                      \
			raw->fp = thread->fp;                                                      \
			__builtin_memcpy(raw->saved, thread->saved, sizeof(raw->saved));           \
			raw->miss = miss;                                                          \
			raw->length = walk_copy(raw->copy, PAGES, thread->sp);                     \
			bpf_ringbuf_submit(raw, put_raw_flags(stream));                            \
		}                                                                                  \
		raw != NULL;                                                                       \
	})

/* True if the stack extends beyond this many pages. */
ARCH_INLINE bool put_goes_on(const struct capture_thread *thread, uint32_t pages)
{
	uint64_t page = thread->sp & ~(uint64_t)(CAPTURE_PAGE - 1);
	uint8_t byte;

	return !bpf_probe_read_user(&byte, 1, (void *)(page + pages * CAPTURE_PAGE));
}

/* Writes a record for the agent to walk. The fuller the ring, the less of the stack is copied,
 * because a truncated stack is better than a lost event. */
ARCH_INLINE bool put_raw(void *ring, struct capture_stream *stream, struct capture_thread *thread,
			 uint32_t number, uint32_t miss)
{
	uint64_t waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA), quarter = stream->wake_bytes;
	bool large = quarter >= 2 * CAPTURE_COPY;

	if (waiting < (large ? 2 * quarter : quarter) && put_goes_on(thread, 1)) {
		if (large && waiting < quarter && put_goes_on(thread, 4))
			return PUT_RAW(CAPTURE_COPY / CAPTURE_PAGE);
		return PUT_RAW(4);
	}
	if (waiting < 3 * quarter)
		return PUT_RAW(2); /* the first page may contain no more than one word of the
				    * stack */
	stream->cut++;
	return PUT_RAW(0);
}

/* Records the event of the thread with this number. A global function, so that the verifier checks
 * it only once. */
__attribute__((noinline)) int put_event(uint32_t number, uint32_t stream_number)
{
	void *ring = bpf_map_lookup_elem(&capture_rings, &stream_number);
	struct capture_stream *stream = capture_stream_of(stream_number);
	struct capture_thread *thread = capture_thread_of(number);
	struct walk_slot *slot = walk_slot_of(number);
	uint32_t flags, miss = WALK_DONE;
	struct walk_result result = {0};
	struct walk_start start;
	bool has_stack, done;

	if (!ring || !stream || !thread || !slot)
		return 0;
	has_stack = event_class(thread->kind) != EVENT_CLASS_FREE || stream->free_stacks;
	flags = has_stack ? CAPTURE_HAS_STACK : 0;
	start = (struct walk_start){.pc = thread->pc, .sp = thread->sp, .fp = thread->fp};
	thread->produced++;
	if (has_stack && slot->space == WALK_SPACE_NONE)
		slot->space = stream->space;
	if (has_stack)
		miss = walk(number, slot, &start, &result);
	put_wait(ring, stream_number, stream, miss != WALK_DONE);
	if (miss != WALK_DONE)
		done = put_raw(ring, stream, thread, number, miss);
	else if (!result.count)
		done = PUT(0);
	else if (result.count <= 4)
		done = PUT(4);
	else if (result.count <= 16)
		done = PUT(16);
	else if (result.count <= 64)
		done = PUT(64);
	else
		done = PUT(WALK_FRAMES);
	if (has_stack && (miss != WALK_DONE || !done))
		walk_forget(slot);
	if (!done)
		put_count_lost(thread);
	return 0;
}

#define PUT_LOADER_NS	  5000000
#define PUT_ANSWER_ROUNDS 1000

/* Waits for the agent's answer for a bounded time. Returns 1 if it has not come yet. A global
 * function, so that the verifier checks it only once. */
__attribute__((noinline)) int put_wait_answer(uint32_t stream_number, uint32_t call)
{
	struct capture_stream *stream = capture_stream_of(stream_number);
	uint64_t from = bpf_ktime_get_ns();

	if (!stream)
		return 0;
	for (uint32_t i = 0; i < PUT_ANSWER_ROUNDS; i++) {
		if (*(volatile uint32_t *)&stream->answered == call)
			return 0;
		if (bpf_ktime_get_ns() - from > PUT_WAIT_NS)
			break;
	}
	return 1;
}

/*
 * Makes the loader wait a while for the agent. Before the loader unmaps a library, the agent can
 * thus still walk pending stacks. Afterwards, the agent can read the maps before they change again,
 * and set the probes of new libraries.
 */
ARCH_INLINE void put_loader(uint32_t stream_number, struct capture_stream *stream)
{
	void *ring = bpf_map_lookup_elem(&capture_rings, &stream_number);
	uint64_t before = bpf_ktime_get_ns();
	struct capture_record *record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : NULL;
	uint32_t call = stream->calls + 1;

	if (!record)
		return;
	stream->calls = call;
	__builtin_memset(record, 0, sizeof(*record));
	record->type = CAPTURE_LOADER;
	record->before = before;
	record->stamp = bpf_ktime_get_ns();
	record->loads = stream->loads;
	record->keep = call;
	stream->rung = 1;
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	for (uint32_t i = 0; i < PUT_LOADER_NS / PUT_WAIT_NS && stream->answers; i++)
		if (!put_wait_answer(stream_number, call))
			break;
	__sync_fetch_and_add(&stream->waited_ns, bpf_ktime_get_ns() - before);
}
