/*
 * The observer of the check build. It consumes records inside the process that writes them. See
 * observe.h.
 *
 *	ring:   ... [event keep 3, pc pc] [event keep 4, pc] | head
 *	                                  ^ at                 read from here on each time
 *	stack:  root .. .. .. innermost                        rebuilt from keep and pcs
 *	full:   root .. .. .. innermost                        walked anew
 *
 * Invariant: after each observe(), `stack` is the stack that a reader of the whole slice would
 * have. It is compared as a whole, including pseudo frames, so a wrong `keep` shows even if the new
 * frames are right. The full walk has its own caches (a second struct unwind_thread), and does not
 * use the last stack of the first one.
 */
#include "observe.h"

#include <string.h>

#include "agent/preload/check/oracle.h"
#include "agent/preload/check/report.h"
#include "agent/preload/system/sys.h"
#include "proto/event.h"

#include "agent/preload/poison.h"

#define STACK_MAX	  (RING_MAX_KEEP + RING_MAX_COUNT + 2)
#define EVENT_WORDS	  3
#define FRAME_TRUNCATED	  1u /* PseudoFrame, as record.c writes them */
#define FRAME_DEPTH_LIMIT 2u
#define SAVED_DEPTH_MAX	  256 /* frames of a numbered stack */
#define SHOWN_FRAMES	  48
#define SHOWN_BYTES	  (24u << 10)

/* A slice's reader, and a thread's second walk. It stays with the struct thread, which later
 * threads reuse. */
struct check {
	struct check *next;
	const struct thread *thread;
	struct unwind_thread *unwind;
	uint64_t place; /* the slice that is read */
	uint64_t at;	/* words of the slice that were read */
	uint32_t depth;
	bool whole;		   /* the next stack must be a whole one */
	uint32_t last;		   /* kind of the last record; 0: none that is valid */
	uint64_t stack[STACK_MAX]; /* outermost first */
	uint64_t full[STACK_MAX];
	uint32_t saved_depth[RING_SAVED_MAX]; /* 0: the number is void */
	uint64_t saved[RING_SAVED_MAX][SAVED_DEPTH_MAX];
	char shown[SHOWN_BYTES];
};

static struct check *checks;
static __thread struct check *mine __attribute__((tls_model("initial-exec")));

static struct check *check_new(const struct thread *thread)
{
	struct check *check = sys_pages(sizeof(*check));
	void *memory = sys_pages(UNWIND_THREAD_SIZE);

	if (!check || !memory)
		return NULL;
	check->thread = thread;
	check->unwind = unwind_thread_init(memory);
	check->next = __atomic_load_n(&checks, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&checks, &check->next, check, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return check;
}

static struct check *check_of(const struct thread *thread)
{
	if (mine && mine->thread == thread)
		return mine;
	mine = __atomic_load_n(&checks, __ATOMIC_ACQUIRE);
	while (mine && mine->thread != thread)
		mine = mine->next;
	if (!mine)
		mine = check_new(thread);
	return mine;
}

/* The consumer. */

static void unsound(struct check *check, struct report *report, const char *what, uint64_t word0)
{
	struct text text = {check->shown, sizeof(check->shown)};

	report_count(&report->unsound, 1);
	text_put(&text, "unsound record: ");
	text_put(&text, what);
	text_put(&text, ", word 0 is 0x");
	text_put_number(&text, word0, 16);
	text_put(&text, ", depth ");
	text_put_number(&text, check->depth, 10);
	text_put(&text, "\n");
	report_append(report, check->shown, strlen(check->shown));
}

/* From here on the next stack must be a whole one, and no number counts. */
static void check_forget(struct check *check)
{
	check->whole = true;
	memset(check->saved_depth, 0, sizeof(check->saved_depth));
}

static void take_number(struct check *check, struct report *report, uint64_t word0, uint64_t number)
{
	if (number >= RING_SAVED_MAX || !check->depth || check->depth > SAVED_DEPTH_MAX) {
		unsound(check, report, "numbers a stack that it can't", word0);
		return;
	}
	check->saved_depth[number] = check->depth;
	memcpy(check->saved[number], check->stack, check->depth * sizeof(uint64_t));
}

static void check_recall(struct check *check, struct report *report, uint64_t word0)
{
	uint32_t number = ring_keep(word0) - RING_RECALL;

	if (number >= RING_SAVED_MAX || !check->saved_depth[number]) {
		unsound(check, report, "names a number that no stack has", word0);
		return;
	}
	check->depth = check->saved_depth[number];
	memcpy(check->stack, check->saved[number], check->depth * sizeof(uint64_t));
	check->whole = true;
	report_count(&report->numbered, 1);
}

static void take_stack(struct check *check, struct report *report, uint64_t word0,
		       const uint64_t *pcs)
{
	uint32_t keep = ring_keep(word0), count = ring_count(word0);

	if (keep >= RING_RECALL && !count) {
		check_recall(check, report, word0);
		return;
	}
	if (check->whole && keep)
		unsound(check, report, "keeps frames where a whole stack is due", word0);
	if (keep > check->depth) {
		unsound(check, report, "keeps more frames than there are", word0);
		keep = check->depth;
	}
	check->whole = false;
	for (uint32_t i = 0; i < count; i++)
		check->stack[keep + i] = pcs[count - 1 - i];
	check->depth = keep + count;
}

/* Returns the number of words of an event. */
static uint64_t check_take_event(struct check *check, struct report *report, const uint64_t *record)
{
	uint64_t word0 = record[0], words = EVENT_WORDS;

	words += ring_large(word0) + ring_weighted(word0);
	if (event_class(ring_kind(word0)) == EVENT_CLASS_REALLOCATION)
		words += 2;
	if (ring_keep(word0) + ring_count(word0))
		take_stack(check, report, word0, record + words);
	return words + ring_count(word0);
}

/* Returns the number of words of the record. `left` words remain before the end of the data. */
static uint64_t take_record(struct check *check, struct report *report, const uint64_t *record,
			    uint64_t left)
{
	check->last = ring_kind(record[0]);
	switch (check->last) {
	case RING_PAD:
		return left;
	case RING_LOST:
		check_forget(check);
		return 5;
	case RING_EPOCH:
		check_forget(check);
		return 3;
	case RING_SAVE:
		take_number(check, report, record[0], record[1]);
		return 3;
	case RING_MOVE:
	case RING_MARK:
		return 3;
	case RING_TEXT:
		return 3 + ring_count(record[0]);
	default:
		return check->last < RING_AUX ? check_take_event(check, report, record) : 0;
	}
}

/* Reads up to the head. A slice starts at 0 with each claim. */
static void drain(struct check *check, struct report *report, const struct thread *thread)
{
	if (check->place != thread->place) {
		check->place = thread->place;
		check->at = 0;
		check->depth = 0;
		check_forget(check);
	}
	check->last = 0;
	while (check->at < thread->head) {
		uint64_t at = check->at & thread->mask;
		uint64_t left = thread->mask + 1 - at;
		uint64_t words = take_record(check, report, thread->data + at, left);

		if (!words || words > left || words > thread->head - check->at) {
			unsound(check, report, "of no kind, or too long", thread->data[at]);
			check->at = thread->head;
			return;
		}
		check->at += words;
	}
}

/* The comparison. */

/* Lays out the full walk as a consumer would: outermost first, with the pseudo frames in their
 * places. */
static uint32_t lay_out(struct check *check, const struct unwind_delta *delta)
{
	uint32_t depth = 0;

	if (delta->flags & UNWIND_TRUNCATED)
		check->full[depth++] = FRAME_TRUNCATED;
	for (uint32_t i = delta->count; i-- > 0;)
		check->full[depth++] = delta->pcs[i];
	if (delta->flags & UNWIND_DEPTH_LIMIT)
		check->full[depth++] = FRAME_DEPTH_LIMIT;
	return depth;
}

static void show_stack(struct text *text, const char *title, const uint64_t *stack, uint32_t depth)
{
	text_put(text, title);
	text_put(text, ", ");
	text_put_number(text, depth, 10);
	text_put(text, " frames, innermost first:\n");
	for (uint32_t i = 0; i < depth && i < SHOWN_FRAMES; i++) {
		text_put(text, "    ");
		text_put_pc(text, stack[depth - 1 - i]);
		text_put(text, "\n");
	}
}

static void show_difference(struct check *check, struct report *report, uint32_t depth)
{
	struct text text = {check->shown, sizeof(check->shown)};

	text_put(&text, "difference in thread ");
	text_put_number(&text, check->thread->slice->owner_tid, 10);
	text_put(&text, ", event ");
	text_put_number(&text, check->thread->slice->events, 10);
	text_put(&text, " of its slice\n");
	show_stack(&text, "  recorded", check->stack, check->depth);
	show_stack(&text, "  walked in full", check->full, depth);
	report_append(report, check->shown, strlen(check->shown));
}

/* Counts the places where walks end early. */
static void count_truncated(struct report *report, uint64_t outermost)
{
	struct report_class *class = report_classify(report, outermost);
	struct text text;

	report_count(&report->truncated, 1);
	if (!class)
		return;
	text = (struct text){class->text, sizeof(class->text)};
	text_put(&text, "truncated at ");
	text_put_pc(&text, outermost);
}

static void check_compare(struct check *check, struct report *report, const struct thread *thread,
			  uintptr_t frame)
{
	struct unwind_regs regs;
	struct unwind_delta delta;
	uint32_t depth;

	arch_caller(frame, &regs);
	unwind_capture_full(check->unwind, &regs, thread->depth, &delta);
	if (thread->epoch != __atomic_load_n(&shim.epoch, __ATOMIC_ACQUIRE)) {
		report_count(&report->skipped, 1);
		return;
	}
	depth = lay_out(check, &delta);
	report_count(&report->compared, 1);
	report_count(&report->frames, depth);
	if (delta.flags & UNWIND_TRUNCATED)
		count_truncated(report, check->full[1]);
	if (depth != check->depth || memcmp(check->stack, check->full, depth * sizeof(uint64_t))) {
		report_count(&report->differences, 1);
		show_difference(check, report, depth);
	}
	oracle_compare(report, &regs, delta.pcs, delta.count, delta.flags);
}

void observe(struct thread *thread, uintptr_t frame)
{
	struct report *report = report_get();
	struct check *check = report ? check_of(thread) : NULL;

	if (!check)
		return;
	drain(check, report, thread);
	report_count(&report->events, 1);
	if (!check->last || check->last >= RING_AUX)
		unsound(check, report, "the event is not the last record", check->last);
	else if (frame)
		check_compare(check, report, thread, frame);
}
