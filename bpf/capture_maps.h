#pragma once
/* The maps of capture.bpf.c, and the lookup of the current process and thread. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

#include "bpf/events.h"
#include "bpf/walk.h"

/* Set by the agent before the programs are loaded. */
const volatile bool capture_has_cookies = true;
/* True: report every exec of all processes. */
const volatile bool capture_wants_execs = false;
/* The agent's pid namespace, in which it identifies processes; 0: the host's. */
const volatile uint64_t capture_ns_dev = 0;
const volatile uint64_t capture_ns_ino = 0;
/* The kernel's page size, less one. */
const volatile uint32_t capture_page_mask = 4095;
/* Number of entries of these maps, minus one. The numbers are powers of two. */
const volatile uint32_t capture_hint_mask = 0;
const volatile uint32_t capture_tally_mask = 0;

/* The stream number of each watched process (thread group). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, uint32_t);
	__type(value, uint32_t);
} capture_targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct capture_stream);
} capture_streams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct capture_thread);
} capture_threads SEC(".maps");

/* The numbers of free thread places; and the place of each thread. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(value_size, sizeof(uint32_t));
} capture_free SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} capture_tids SEC(".maps");

/* A guess at a thread's place, for a few thousand threads: a lookup in an array costs less than one
 * in a hash table. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} capture_hints SEC(".maps");

/*
 * The number of the stream plus 1 if its process is the only one with probes and its links filter
 * by process; otherwise 0. (Multi links filter; perf events run the programs for any process.) The
 * agent writes it.
 */
volatile uint32_t capture_alone = 0;

/* The thread on whose stack a page was at the last hit (pass_page in bpf/pass.h). Only code for
 * which a guess is enough reads it. */
#define CAPTURE_PAGES 256 /* as many as a byte can index */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAPTURE_PAGES);
	__type(key, uint32_t);
	__type(value, uint64_t);
} capture_pages SEC(".maps");

struct capture_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
};

/* The ring buffer of each stream. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__array(values, struct capture_ring);
} capture_rings SEC(".maps");

/* Reports to the agent's main loop: struct capture_news. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} capture_newses SEC(".maps");

/* Live sampled blocks. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct capture_block);
	__type(value, uint64_t);
} capture_blocks SEC(".maps");

/* The number of live sampled blocks, by a hash of their address. If it is 0, as in most cases, no
 * further lookup is needed. The agent subtracts the blocks that it removes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct capture_tally);
} capture_tallies SEC(".maps");

/* Site words by place, for kernels without cookies. */
struct capture_place {
	uint32_t tgid;
	uint32_t reserved;
	uint64_t pc;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct capture_place);
	__type(value, uint64_t);
} capture_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAPTURE_WORDS);
	__type(key, uint32_t);
	__type(value, struct capture_word);
} capture_words SEC(".maps");

ARCH_INLINE struct capture_stream *capture_stream_of(uint32_t number)
{
	return bpf_map_lookup_elem(&capture_streams, &number);
}

/* Returns the process (upper half) and thread in which this program runs, or 0 if they belong to
 * another pid namespace. */
ARCH_INLINE uint64_t capture_id(void)
{
	struct bpf_pidns_info info = {0};

	if (!capture_ns_ino)
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(capture_ns_dev, capture_ns_ino, &info, sizeof(info)))
		return 0;
	return (uint64_t)info.tgid << 32 | info.pid;
}

ARCH_INLINE struct capture_stream *capture_watched(uint32_t tgid, uint32_t *ret_number)
{
	uint32_t *number = bpf_map_lookup_elem(&capture_targets, &tgid);
	struct capture_stream *stream;

	if (!number)
		return NULL;
	*ret_number = *number;
	stream = capture_stream_of(*ret_number);
	return stream && stream->tgid == tgid ? stream : NULL;
}

/* Returns the stream of the process in which this program runs, or NULL if the process is not
 * watched or not all of its probes are set. */
ARCH_INLINE struct capture_stream *capture_current(uint32_t *ret_number)
{
	struct capture_stream *stream = capture_watched(capture_id() >> 32, ret_number);

	return stream && stream->ready ? stream : NULL;
}

ARCH_INLINE struct capture_thread *capture_thread_of(uint32_t number)
{
	return bpf_map_lookup_elem(&capture_threads, &number);
}

/* The process and thread in which a program runs. */
struct capture_here {
	/* NULL: the process is not watched, or not all of its probes are set */
	struct capture_stream *stream;
	struct capture_thread *thread; /* NULL: it has no place */
	uint32_t stream_number;
	uint32_t number;
};

#define CAPTURE_NO_THREAD (-1)

/* Gives the current thread a place. Returns its number or CAPTURE_NO_THREAD. A global function, so
 * that the verifier checks it only once. */
__attribute__((noinline)) int capture_thread_new(uint32_t stream_number)
{
	struct capture_stream *stream = capture_stream_of(stream_number);
	uint64_t id = capture_id();
	uint32_t tid = (uint32_t)id, number = 0;
	struct capture_thread *thread;
	struct walk_slot *slot;

	if (!stream || bpf_map_pop_elem(&capture_free, &number))
		return CAPTURE_NO_THREAD;
	thread = capture_thread_of(number);
	slot = walk_slot_of(number);
	if (!thread || !slot)
		return CAPTURE_NO_THREAD;
	if (bpf_map_update_elem(&capture_tids, &tid, &number, BPF_ANY)) {
		bpf_map_push_elem(&capture_free, &number, BPF_ANY);
		return CAPTURE_NO_THREAD;
	}
	thread->tid = tid;
	thread->tgid = id >> 32;
	thread->stream = stream_number;
	thread->image = stream->image;
	thread->depth = 0;
	thread->produced = thread->not_sampled = thread->passed = 0;
	thread->lost_allocations = thread->lost_frees = thread->lost_bytes = 0;
	thread->left = thread->inner = 0;
	thread->unanswered = thread->unanswered_bytes = 0;
	thread->interval = thread->distance = 0;
	/* Each thread gets its own seed: two threads at different points of one sequence would
	 * sample alike. */
	thread->random =
		stream->seed ^ ((uint64_t)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32());
	walk_begin(slot, stream->space);
	thread->state = CAPTURE_THREAD_USED;
	return (int)number;
}

/* True if this is the thread's place. */
ARCH_INLINE bool capture_is(struct capture_here *here, uint64_t id, uint32_t number)
{
	struct capture_thread *thread = capture_thread_of(number);
	struct capture_stream *stream;

	if (!thread || thread->tid != (uint32_t)id || thread->tgid != id >> 32 ||
	    thread->state != CAPTURE_THREAD_USED)
		return false;
	here->stream_number = thread->stream;
	stream = capture_stream_of(here->stream_number);
	if (!stream || stream->tgid != thread->tgid)
		return false;
	here->number = number;
	here->thread = thread;
	here->stream = stream->ready ? stream : NULL;
	return true;
}

/* Returns the number of the current thread's place, and gives it one if possible. A global
 * function, as above. */
__attribute__((noinline)) int capture_number(uint32_t tid)
{
	uint32_t at = tid & capture_hint_mask, stream_number = 0,
		 *known = bpf_map_lookup_elem(&capture_tids, &tid),
		 *hint = bpf_map_lookup_elem(&capture_hints, &at);
	int number = CAPTURE_NO_THREAD;

	if (known)
		number = (int)*known;
	else if (capture_current(&stream_number))
		number = capture_thread_new(stream_number);
	if (hint && number != CAPTURE_NO_THREAD)
		*hint = (uint32_t)number;
	return number;
}

ARCH_INLINE void capture_find(struct capture_here *here)
{
	uint64_t id = capture_id();
	uint32_t at = (uint32_t)id & capture_hint_mask,
		 *hint = bpf_map_lookup_elem(&capture_hints, &at);
	int number;

	*here = (struct capture_here){0}; /* all members: a compiler may leave unused ones
					   * uninitialized, and the verifier objects */
	if (hint && capture_is(here, id, *hint))
		return;
	number = capture_number((uint32_t)id);
	if (number != CAPTURE_NO_THREAD && capture_is(here, id, (uint32_t)number))
		return;
	/* the thread has no place, or its place belonged to another process, so nothing more is
	 * known */
	here->stream = capture_current(&here->stream_number);
}

ARCH_INLINE struct capture_word *capture_word_at(uint64_t pc)
{
	uint32_t at = (uint32_t)(pc * 0x9e3779b97f4a7c15ull >> 56);

	return bpf_map_lookup_elem(&capture_words, &at);
}

/* Returns the site word of this place if an earlier hit has stored it, else 0. Asking the kernel
 * for the word takes one or two helper calls, which would double the cost of a hit. */
ARCH_INLINE uint64_t capture_known_word(const struct capture_here *here, uint64_t pc)
{
	const volatile struct capture_word *known = capture_word_at(pc);
	uint64_t word;

	if (!known || !here->stream)
		return 0;
	word = known->word;
	return (known->check ^ word ^ here->stream->salt) == pc ? word : 0;
}

ARCH_INLINE void capture_know_word(const struct capture_here *here, uint64_t pc, uint64_t word)
{
	volatile struct capture_word *known = capture_word_at(pc);

	if (!known || !here->stream)
		return;
	known->check = pc ^ word ^ here->stream->salt;
	known->word = word;
}
