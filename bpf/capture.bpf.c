/*
 * Records allocations of running programs by uprobes on their allocators. A probe reads the
 * arguments at a call's entry and the result at its end. The program is not changed otherwise, and
 * nothing is loaded into it. events.h describes the output.
 *
 *	allocation	entry: noted; end: stamp, stack, record		(not if it failed)
 *	reallocation	entry: noted with a stamp; end: one record with both stamps
 *	free		entry: stamp, stack, record
 *
 * A block therefore belongs to its caller throughout the time between the stamps of its birth and
 * its death. The stack at a call's end is the caller's, as at the entry, because the callee has
 * restored the saved registers. realloc(p, 0) is recorded as a free at its entry; if it returns a
 * block, that is a new block at its end.
 *
 * No state is stored per CPU, because another thread's program may interrupt these programs. All
 * state is in the thread's own memory.
 */
#include "agent/allocator_functions.h"
#include "bpf/calls.h"
#include "bpf/mappings.h"
#include "bpf/pass.h"
#include "bpf/sample.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Sets the caller's frame, where the stack begins. */
ARCH_INLINE void set_caller(struct capture_thread *thread, struct arch_registers *ctx, uint64_t pc,
			    uint64_t frame)
{
	thread->pc = pc;
	thread->sp = frame + ARCH_RETURN_SLOT;
	thread->fp = arch_fp(ctx);
	arch_saved_registers(ctx, thread->saved);
}

/* Returns the call's return address, at its entry. */
ARCH_INLINE uint64_t return_address(struct arch_registers *ctx, uint64_t word, uint64_t frame)
{
	uint64_t pc = 0;

	if (site_flags(word) & SITE_LINK)
		return arch_link(ctx);
	bpf_probe_read_user(&pc, sizeof(pc), (void *)frame);
	return pc;
}

/* Records the event in `thread` if the mode wants it. When recording is off, only the end of a
 * recorded block is an event. */
ARCH_INLINE void happen(struct capture_stream *stream, uint32_t stream_number,
			struct capture_thread *thread, uint32_t number)
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
	put_event(number, stream_number);
}

ARCH_INLINE void happen_free(const struct capture_here *here, uint32_t kind, uint64_t address)
{
	struct capture_thread *thread = here->thread;

	thread->kind = kind;
	thread->address = address;
	thread->size = thread->old_address = thread->call_stamp = 0;
	happen(here->stream, here->stream_number, thread, here->number);
}

/* Restores a register of the caller that the function has pushed to the stack. */
ARCH_INLINE void set_pushed(struct capture_thread *thread, uint32_t number, uint64_t slot)
{
	uint64_t value = 0;

	if (number != SITE_NO_REGISTER && !bpf_probe_read_user(&value, sizeof(value), (void *)slot))
		arch_give_back(number, value, &thread->fp, thread->saved);
}

/* Handles a free. With sampling most blocks were not recorded, and the function returns early. */
ARCH_INLINE void enter_free(struct arch_registers *ctx, const struct capture_here *here,
			    uint64_t word, uint64_t frame, uint64_t block)
{
	const struct capture_stream *stream = here->stream;
	struct capture_thread *thread = here->thread;
	bool sampled = stream->mode == CAPTURE_SAMPLE;

	thread->was_sampled = sample_take(stream, here->stream_number, block);
	if (sampled && !thread->was_sampled && !stream->closed) {
		thread->produced++;
		thread->not_sampled++;
		return;
	}
	set_caller(thread, ctx, return_address(ctx, word, frame), frame);
	set_pushed(thread, site_b(word), frame - SITE_WORD_BYTES);
	set_pushed(thread, site_c(word), frame - 2 * SITE_WORD_BYTES);
	happen_free(here, site_kind(word), block);
}

/* Returns the saturated product. An allocation of UINT64_MAX bytes fails. */
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

/* Notes the arguments that are needed at the call's end. */
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
	case SHAPE_MAP:
	case SHAPE_UNMAP:
		call->old = a;
		call->size = b;
		break;
	case SHAPE_REMAP:
		call->interval = b;
		call->size = c;
		call->old = a;
		break;
	case SHAPE_SBRK:
		call->old = a;
		break;
	}
}

ARCH_INLINE bool moves(uint64_t word)
{
	uint32_t shape = site_shape(word);

	return shape == SHAPE_MOVE_AB || shape == SHAPE_MOVE_ABC || shape == SHAPE_MOVE_OR_END ||
	       shape == SHAPE_RESIZE;
}

/* Counts an event of a thread without a place. Its bytes are not counted: the size is known only at
 * the call's end, which is not tracked. */
ARCH_INLINE void count_nobody(struct capture_stream *stream, uint64_t word)
{
	if (event_class(site_kind(word)) == EVENT_CLASS_FREE)
		__sync_fetch_and_add(&stream->no_thread_frees, 1);
	else
		__sync_fetch_and_add(&stream->no_thread_allocations, 1);
}

/* Returns true, and the size, if the call only allocates. */
ARCH_INLINE bool allocates(struct arch_registers *ctx, uint64_t word, uint64_t *ret_size)
{
	switch (site_shape(word)) {
	case SHAPE_SIZE_A:
		*ret_size = argument(ctx, site_a(word));
		return true;
	case SHAPE_COUNT_AB:
		*ret_size = product(argument(ctx, site_a(word)), argument(ctx, site_b(word)));
		return true;
	case SHAPE_SIZE_B:
		*ret_size = argument(ctx, site_b(word));
		return true;
	default:
		return false;
	}
}

/*
 * True if the entry shows that the result is not needed; the call's end is then not tracked. False
 * for calls that call other functions of the allocator, because the nested calls would be taken for
 * the program's own. (A sample that fails has consumed its sampling point. Points are random, so
 * this does not affect the next ones.)
 */
ARCH_INLINE bool passes(struct arch_registers *ctx, const struct capture_here *here, uint64_t word)
{
	struct capture_thread *thread = here->thread;
	uint32_t mode = here->stream->mode;
	uint64_t size;

	thread->chosen = 0;
	if (mode == CAPTURE_FULL || !(site_flags(word) & SITE_LEAF) ||
	    event_class(site_kind(word)) != EVENT_CLASS_ALLOCATION || !allocates(ctx, word, &size))
		return false;
	if (mode == CAPTURE_OFF)
		return true;
	thread->size = size;
	thread->event_interval = 0;
	if (sample_hits(here->stream, thread, here->number)) {
		thread->chosen = 1;
		return false;
	}
	thread->produced++;
	thread->not_sampled++;
	return true;
}

/* Handles mmap and related calls. They are not sampled: all are recorded unless recording is off.
 */
ARCH_INLINE bool enter_mapping(struct arch_registers *ctx, const struct capture_here *here,
			       uint64_t word, uint64_t frame)
{
	uint64_t pc = return_address(ctx, word, frame);
	struct capture_thread *thread = here->thread;
	struct capture_call *call;

	if (thread->depth || here->stream->mode == CAPTURE_OFF ||
	    mappings_are_theirs(here->stream_number, pc))
		return false;
	call = calls_push(thread);
	if (!call)
		return false;
	call->word = word;
	call->frame = frame;
	call->pc = pc;
	call->was_sampled = call->chosen = 0;
	call->interval = 0;
	note_arguments(call, ctx, word);
	call->stamp = bpf_ktime_get_ns();
	if (event_class(site_kind(word)) == EVENT_CLASS_FREE)
		set_caller(thread, ctx, pc, frame);
	if (mappings_enter(here, call) && site_flags(word) & SITE_RETURN_OK)
		return true;
	thread->depth--;
	return false;
}

/* Tracks a call, of the program or of the allocator itself, to its end. */
ARCH_INLINE void follow(struct arch_registers *ctx, const struct capture_here *here, uint64_t word,
			uint64_t frame, bool chosen)
{
	struct capture_thread *thread = here->thread;
	struct capture_stream *stream = here->stream;
	struct capture_call *call = calls_push(thread);

	if (!call)
		return;
	call->word = word;
	call->frame = frame;
	call->was_sampled = 0;
	call->chosen = chosen;
	call->interval = thread->event_interval;
	note_arguments(call, ctx, word);
	call->pc = return_address(ctx, word, frame);
	call->stamp = bpf_ktime_get_ns();
	if (thread->depth > 1 || !moves(word) || !call->old)
		return;
	if (!call->size && site_shape(word) != SHAPE_RESIZE) {
		thread->was_sampled = sample_take(stream, here->stream_number, call->old);
		set_caller(thread, ctx, call->pc, frame);
		happen_free(here, SAMPLE_KIND_REALLOC_FREE, call->old);
		call->old = 0;
	} else if (stream->mode != CAPTURE_FULL) {
		call->was_sampled = sample_take(stream, here->stream_number, call->old);
	}
}

/* Tracks a free, which is already recorded, to its end. The frees that it calls are not events. */
ARCH_INLINE bool follow_free(struct arch_registers *ctx, struct capture_thread *thread,
			     uint64_t word, uint64_t frame)
{
	struct capture_call *call = calls_push(thread);

	if (!call)
		return false;
	call->word = word;
	call->frame = frame;
	call->pc = return_address(ctx, word, frame);
	return true;
}

/* Handles a call's entry. Returns whether the call's end must be seen. Only a `session` uses the
 * result; otherwise the probe at the end runs in any case. */
ARCH_INLINE bool enter(struct arch_registers *ctx, const struct capture_here *here, uint64_t word,
		       uint64_t sp, bool session)
{
	uint64_t frame = site_frame(word, sp), block = 0, size;
	bool ends = site_shape(word) == SHAPE_END, counted;
	struct capture_thread *thread = here->thread;

	if (!here->stream)
		return false;
	if (ends) {
		block = argument(ctx, site_a(word));
		if (!block)
			return false;
	}
	if (!thread) {
		if (here->stream->mode != CAPTURE_OFF &&
		    (site_shape(word) < SHAPE_MAP ||
		     !mappings_are_theirs(here->stream_number, return_address(ctx, word, frame))))
			count_nobody(here->stream, word);
		return false;
	}
	counted = here->stream->mode != CAPTURE_OFF;
	calls_enter(thread, word, frame, counted);
	if (site_shape(word) >= SHAPE_MAP)
		return enter_mapping(ctx, here, word, frame);
	if (ends) {
		if (thread->depth) {
			thread->inner++;
			return false;
		}
		enter_free(ctx, here, word, frame, block);
		return site_flags(word) & SITE_FOLLOWED && follow_free(ctx, thread, word, frame);
	}
	if (session && thread->depth) {
		thread->inner++;
		return false;
	}
	if (session && passes(ctx, here, word))
		return false;
	if (!(site_flags(word) & (SITE_RETURN_OK | SITE_HAS_EXITS))) { /* no probe sees the
									* result */
		if (counted && !thread->depth)
			calls_unanswered(thread, allocates(ctx, word, &size) ? size : 0);
		return false;
	}
	follow(ctx, here, word, frame, session && thread->chosen);
	return true;
}

/* Returns the block that a call returned, or 0. For a reallocation, call->old is the block that it
 * ends. */
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

ARCH_INLINE int leave(struct arch_registers *ctx, const struct capture_here *here, uint64_t frame,
		      bool at_site)
{
	struct capture_thread *thread = here->thread;
	struct capture_call *call;

	if (!here->stream || !thread)
		return 0;
	call = calls_pop(thread, frame, at_site, here->stream->mode != CAPTURE_OFF);
	if (!call || site_shape(call->word) == SHAPE_END)
		return 0;
	if (site_shape(call->word) >= SHAPE_MAP) {
		set_caller(thread, ctx, call->pc, call->frame);
		if (here->stream->mode != CAPTURE_OFF)
			mappings_leave(here, call, arch_result(ctx));
		return 0;
	}
	thread->kind = site_kind(call->word);
	thread->address = block_of(call, arch_result(ctx));
	thread->size = call->size;
	thread->old_address = moves(call->word) ? call->old : 0;
	thread->call_stamp = moves(call->word) ? call->stamp : 0;
	thread->was_sampled = call->was_sampled;
	thread->chosen = call->chosen;
	thread->chosen_interval = call->interval;
	set_caller(thread, ctx, call->pc, call->frame);
	if (!thread->address && thread->old_address &&
	    site_shape(call->word) == SHAPE_MOVE_OR_END) {
		thread->kind = SAMPLE_KIND_REALLOC_FREE;
		thread->address = thread->old_address;
		thread->old_address = thread->call_stamp = thread->size = 0;
	}
	if (!thread->address && (!thread->old_address || site_shape(call->word) == SHAPE_RESIZE))
		return 0;
	happen(here->stream, here->stream_number, thread, here->number);
	return 0;
}

/* Counts an event that is not sampled, at a known place. Returns false if it is not such an
 * event. */
ARCH_INLINE bool pass(struct arch_registers *ctx, uint64_t pc, uint64_t sp, bool session)
{
	struct capture_here here = {0};
	uint64_t word, size;

	if (!pass_guess(&here, sp))
		return false;
	word = capture_known_word(&here, pc);
	if (!word)
		return false;
	if (!session)
		return site_shape(word) == SHAPE_END &&
		       pass_end(&here, argument(ctx, site_a(word)));
	return site_flags(word) & SITE_LEAF &&
	       event_class(site_kind(word)) == EVENT_CLASS_ALLOCATION &&
	       allocates(ctx, word, &size) && pass_allocation(&here, size);
}

/* Asks the kernel for the site word of this place. Returns 0 if the place has none. */
ARCH_INLINE uint64_t ask_word(struct arch_registers *ctx)
{
	struct capture_place place = {.pc = arch_pc(ctx)};
	uint64_t *word;

	if (capture_has_cookies)
		return bpf_get_attach_cookie(ctx);
	place.tgid = capture_id() >> 32;
	word = bpf_map_lookup_elem(&capture_places, &place);
	return word ? *word : 0;
}

ARCH_INLINE uint64_t word_of(struct arch_registers *ctx, const struct capture_here *here,
			     uint64_t pc)
{
	uint64_t word = capture_known_word(here, pc);

	if (!word) {
		word = ask_word(ctx);
		capture_know_word(here, pc, word);
	}
	return word;
}

SEC("uprobe")
int capture_entry(struct arch_registers *ctx)
{
	uint64_t pc = ARCH_READ(arch_pc(ctx)), sp = ARCH_READ(arch_sp(ctx)), word;
	struct capture_here here = {0};

	if (pass(ctx, pc, sp, false))
		return 0;
	capture_find(&here);
	pass_learn(&here, sp);
	word = word_of(ctx, &here, pc);
	if (word)
		enter(ctx, &here, word, sp, false);
	return 0;
}

/*
 * Runs at entry and return on kernels with sessions (6.13): the entry decides whether the program
 * also runs at the return. The kernel has a function that tells which of the two it is, but calling
 * it needs type information. The program counter tells, too: a known place is an entry.
 */
SEC("uprobe")
int capture_session(struct arch_registers *ctx)
{
	uint64_t pc = ARCH_READ(arch_pc(ctx)), sp = ARCH_READ(arch_sp(ctx)), word;
	struct capture_here here = {0};

	if (pass(ctx, pc, sp, true))
		return 1;
	capture_find(&here);
	pass_learn(&here, sp);
	word = capture_known_word(&here, pc);
	if (!word) {
		if (bpf_get_func_ip(ctx) != pc)
			return leave(ctx, &here, sp - ARCH_RETURN_SLOT, false);
		word = bpf_get_attach_cookie(ctx);
		capture_know_word(&here, pc, word);
	}
	return !enter(ctx, &here, word, sp, true);
}

/* Runs at a return instruction. */
SEC("uprobe")
int capture_exit(struct arch_registers *ctx)
{
	struct capture_here here = {0};
	uint64_t word;

	capture_find(&here);
	word = word_of(ctx, &here, arch_pc(ctx));
	return word ? leave(ctx, &here, site_frame(word, arch_sp(ctx)), true) : 0;
}

/* Runs after the return, when sp is the caller's. The frame identifies the call. */
SEC("uretprobe")
int capture_return(struct arch_registers *ctx)
{
	struct capture_here here = {0};

	capture_find(&here);
	return leave(ctx, &here, arch_sp(ctx) - ARCH_RETURN_SLOT, false);
}

/*
 * Runs at the loader's breakpoint for debuggers (r_debug.r_brk), which the loader passes before it
 * maps or unmaps libraries, and again afterwards. Rows are not used until the agent has read the
 * maps.
 */
SEC("uprobe")
int capture_loader(void *ctx)
{
	uint32_t stream_number = 0, state = 0;
	struct capture_stream *stream = capture_watched(capture_id() >> 32, &stream_number);

	(void)ctx;
	if (!stream)
		return 0;
	walk_close(stream->space);
	if (stream->loader_state)
		bpf_probe_read_user(&state, sizeof(state), (void *)stream->loader_state);
	if (!state) { /* RT_CONSISTENT: the change is done. Only one runs at a time */
		stream->loads++;
		/* Another place of a file with probes may now be at the address of an earlier
		 * one. */
		stream->salt = stream->salt * 0x9e3779b97f4a7c15ull + 1;
	}
	if (stream->ready)
		put_loader(stream_number, stream);
	return 0;
}

#include "bpf/processes.h"
