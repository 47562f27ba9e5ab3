/*
 * Allocations of running programs, by uprobes on their allocators: at a call's entry its arguments, at its end the result;
 * the program is not changed otherwise, and nothing is loaded into it. See events.h for what comes out.
 *
 *	allocation	entry: noted; end: stamp, stack, record		(failed ones are none)
 *	reallocation	entry: noted with a stamp; end: one record with both stamps
 *	free		entry: stamp, stack, record
 *
 * so that between the stamps of its birth and its death a block is truly this caller's. The stack at a call's end is that of
 * its caller, as at its entry: the callee has given the saved registers back. realloc(p, 0) is a free at its entry, and what
 * it gives, if anything, a new block at its end.
 *
 * No state is kept by processor: these programs can be interrupted by another thread's. All is in the thread's own memory.
 */
#include "agent/allocator_functions.h"
#include "bpf/calls.h"
#include "bpf/sample.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The caller's frame, which the stack begins with. */
ARCH_INLINE void set_caller(struct capture_thread *thread, struct arch_registers *ctx, uint64_t pc,
			    uint64_t frame)
{
	thread->pc = pc;
	thread->sp = frame + ARCH_RETURN_SLOT;
	thread->fp = arch_fp(ctx);
}

/* Where the call returns to, at its entry. */
ARCH_INLINE uint64_t return_address(struct arch_registers *ctx, uint64_t word, uint64_t frame)
{
	uint64_t pc = 0;

	if (site_flags(word) & SITE_LINK)
		return arch_link(ctx);
	bpf_probe_read_user(&pc, sizeof(pc), (void *)frame);
	return pc;
}

/* The event in `thread` happens. Events of what is switched off are none; but of a block that is on record its end is. */
ARCH_INLINE void happen(struct arch_registers *ctx, struct capture_stream *stream,
			uint32_t stream_number, struct capture_thread *thread, uint32_t number)
{
	uint32_t mode = stream->mode;

	thread->event_interval = 0;
	if (mode == CAPTURE_OFF) {
		if (event_class(thread->kind) == EVENT_CLASS_ALLOCATION)
			return;
		if (event_class(thread->kind) == EVENT_CLASS_REALLOCATION) {
			if (!thread->address || !thread->old_address ||
			    !(thread->was_sampled || stream->closed))
				return;
			thread->kind = SAMPLE_KIND_REALLOC_FREE;
			thread->address = thread->old_address;
			thread->old_address = thread->call_stamp = thread->size = 0;
		} else if (!thread->was_sampled && !stream->closed) {
			return;
		}
	} else if (mode == CAPTURE_SAMPLE && !sample_wants(stream, stream_number, thread, number)) {
		thread->produced++;
		thread->not_sampled++;
		return;
	}
	put_event(ctx, stream, stream_number, thread, number);
}

ARCH_INLINE void happen_free(struct arch_registers *ctx, struct capture_stream *stream,
			     uint32_t stream_number, struct capture_thread *thread, uint32_t number,
			     uint32_t kind, uint64_t address)
{
	thread->kind = kind;
	thread->address = address;
	thread->size = thread->old_address = thread->call_stamp = 0;
	thread->was_sampled = sample_take(stream, stream_number, address);
	happen(ctx, stream, stream_number, thread, number);
}

/* A product that does not fit is asked for in vain. */
ARCH_INLINE uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t large = a > b ? a : b, small = a > b ? b : a, high = (large >> 32) * small;

	if (small >> 32 || high >> 32)
		return UINT64_MAX;
	large = (large & UINT32_MAX) * small;
	return large > UINT64_MAX - (high << 32) ? UINT64_MAX : (high << 32) + large;
}

ARCH_INLINE uint64_t argument(struct arch_registers *ctx, uint32_t number)
{
	return number == SITE_NO_REGISTER ? 0 : arch_register(ctx, number);
}

/* What is to be known at the call's end. */
ARCH_INLINE void note_arguments(struct capture_call *call, struct arch_registers *ctx,
				uint64_t word)
{
	uint64_t a = argument(ctx, site_a(word)), b = argument(ctx, site_b(word)),
		 c = argument(ctx, site_c(word));

	call->size = call->old = 0;
	call->nowhere = 0;
	switch (site_shape(word)) {
	case SHAPE_SIZE_A:
		call->size = a;
		break;
	case SHAPE_SIZE_B:
		call->size = b;
		break;
	case SHAPE_COUNT_AB:
		call->size = product(a, b);
		break;
	case SHAPE_POSIX:
		call->size = c;
		call->old = a;
		break;
	case SHAPE_MOVE_AB:
	case SHAPE_MOVE_OR_END:
	case SHAPE_RESIZE:
		call->size = b;
		call->old = a;
		break;
	case SHAPE_MOVE_ABC:
		call->size = product(b, c);
		call->old = a;
		break;
	case SHAPE_TEXT_OWN:
		call->nowhere = b != 0;
		break;
	}
}

ARCH_INLINE bool moves(uint64_t word)
{
	uint32_t shape = site_shape(word);

	return shape == SHAPE_MOVE_AB || shape == SHAPE_MOVE_ABC || shape == SHAPE_MOVE_OR_END ||
	       shape == SHAPE_RESIZE;
}

ARCH_INLINE void count_nobody(struct capture_stream *stream, uint64_t word, uint64_t size)
{
	if (event_class(site_kind(word)) == EVENT_CLASS_FREE) {
		__sync_fetch_and_add(&stream->no_thread_frees, 1);
		return;
	}
	__sync_fetch_and_add(&stream->no_thread_allocations, 1);
	__sync_fetch_and_add(&stream->no_thread_bytes, size);
}

ARCH_INLINE int enter(struct arch_registers *ctx, uint64_t word)
{
	uint64_t frame = site_frame(word, arch_sp(ctx)), pc;
	uint32_t number = 0, stream_number = 0;
	struct capture_stream *stream = capture_current(&stream_number);
	struct capture_thread *thread;
	struct capture_call *call;

	if (!stream)
		return 0;
	if (site_shape(word) == SHAPE_END && !argument(ctx, site_a(word)))
		return 0;
	thread = capture_self(stream, stream_number, &number);
	if (!thread) {
		if (stream->mode != CAPTURE_OFF)
			count_nobody(stream, word, 0);
		return 0;
	}
	calls_enter(thread, word, frame);
	if (site_shape(word) == SHAPE_END) {
		if (thread->depth) {
			thread->inner++;
			return 0;
		}
		set_caller(thread, ctx, return_address(ctx, word, frame), frame);
		happen_free(ctx, stream, stream_number, thread, number, site_kind(word),
			    argument(ctx, site_a(word)));
		return 0;
	}
	if (!(site_flags(word) & (SITE_RETURN_OK | SITE_HAS_EXITS)))
		return 0; /* nobody tells its result */
	pc = return_address(ctx, word, frame);
	call = calls_push(thread);
	if (!call)
		return 0;
	call->word = word;
	call->frame = frame;
	call->pc = pc;
	call->was_sampled = 0;
	note_arguments(call, ctx, word);
	call->stamp = bpf_ktime_get_ns();
	if (thread->depth > 1 || !moves(word) || !call->old)
		return 0;
	if (!call->size && site_shape(word) != SHAPE_RESIZE) {
		set_caller(thread, ctx, pc, frame);
		happen_free(ctx, stream, stream_number, thread, number, SAMPLE_KIND_REALLOC_FREE,
			    call->old);
		call->old = 0;
	} else if (stream->mode != CAPTURE_FULL) {
		call->was_sampled = sample_take(stream, stream_number, call->old);
	}
	return 0;
}

/* The block that a call gives; 0: none. `old` is what it ends. */
ARCH_INLINE uint64_t block_of(const struct capture_call *call, uint64_t result)
{
	uint64_t address = 0;

	switch (site_shape(call->word)) {
	case SHAPE_POSIX:
		if (!(uint32_t)result)
			bpf_probe_read_user(&address, sizeof(address), (void *)call->old);
		return address;
	case SHAPE_RESIZE:
		return result >= call->size ? call->old : 0;
	case SHAPE_TEXT_OWN:
		return call->nowhere ? 0 : result;
	default:
		return result;
	}
}

ARCH_INLINE int leave(struct arch_registers *ctx, uint64_t frame, bool at_site)
{
	uint32_t number = 0, stream_number = 0;
	struct capture_stream *stream = capture_current(&stream_number);
	struct capture_thread *thread;
	struct capture_call *call;

	if (!stream)
		return 0;
	thread = capture_self(stream, stream_number, &number);
	if (!thread)
		return 0;
	call = calls_pop(thread, frame, at_site);
	if (!call)
		return 0;
	thread->kind = site_kind(call->word);
	thread->address = block_of(call, arch_result(ctx));
	thread->size = call->size;
	thread->old_address = moves(call->word) ? call->old : 0;
	thread->call_stamp = moves(call->word) ? call->stamp : 0;
	thread->was_sampled = call->was_sampled;
	set_caller(thread, ctx, call->pc, call->frame);
	if (!thread->address && thread->old_address &&
	    site_shape(call->word) == SHAPE_MOVE_OR_END) {
		thread->kind = SAMPLE_KIND_REALLOC_FREE;
		thread->address = thread->old_address;
		thread->old_address = thread->call_stamp = thread->size = 0;
	}
	if (!thread->address && (!thread->old_address || site_shape(call->word) == SHAPE_RESIZE))
		return 0;
	happen(ctx, stream, stream_number, thread, number);
	return 0;
}

ARCH_INLINE uint64_t word_of(struct arch_registers *ctx)
{
	struct capture_place place = {.pc = arch_pc(ctx)};
	uint64_t *word;

	if (capture_has_cookies)
		return bpf_get_attach_cookie(ctx);
	place.tgid = capture_id() >> 32;
	word = bpf_map_lookup_elem(&capture_places, &place);
	return word ? *word : 0;
}

SEC("uprobe")
int capture_entry(struct arch_registers *ctx)
{
	uint64_t word = word_of(ctx);

	return word ? enter(ctx, word) : 0;
}

/* At a return instruction. */
SEC("uprobe")
int capture_exit(struct arch_registers *ctx)
{
	uint64_t word = word_of(ctx);

	return word ? leave(ctx, site_frame(word, arch_sp(ctx)), true) : 0;
}

/* Behind the return: sp is the caller's. Whose call it was says the frame. */
SEC("uretprobe")
int capture_return(struct arch_registers *ctx)
{
	return leave(ctx, arch_sp(ctx) - ARCH_RETURN_SLOT, false);
}

/* The thread that ends. */
SEC("raw_tp/sched_process_exit")
int capture_thread_exit(void *ctx)
{
	uint32_t tid = (uint32_t)capture_id();
	uint32_t *number = bpf_map_lookup_elem(&capture_tids, &tid);
	struct capture_thread *thread = number ? capture_thread_of(*number) : NULL;

	(void)ctx;
	if (!thread || thread->tid != tid)
		return 0;
	bpf_map_delete_elem(&capture_tids, &tid);
	thread->state = CAPTURE_THREAD_DEAD;
	return 0;
}

/* The process has another program now: what its probes and rows meant is over. The agent lets it go. */
SEC("raw_tp/sched_process_exec")
int capture_exec(void *ctx)
{
	uint32_t stream_number = 0;
	struct capture_stream *stream = capture_current(&stream_number);

	(void)ctx;
	if (stream) {
		stream->ready = 0;
		stream->image++;
	}
	return 0;
}
