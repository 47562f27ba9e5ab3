/* The call frame tables of this program and its libraries, read in the processor's own byte order: what the unwinder finds for
 * an instruction is what libgcc finds, and a stack out of libc's code is the one that libgcc walks. Without cmocka, which Debian
 * has not for every processor that the library is built for. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

#include "agent/unwind/eh_frame.h"
#include "agent/unwind/regs.h"
#include "tests/unit/unwind/modules.h"

#define FRAMES_MAX 64
#define STEP	   12 /* bytes between the instructions that are looked up */

struct bases { /* of libgcc's unwind-dw2-fde.h */
	void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *pc, struct bases *bases);

static const struct unwind_host host = {
	.find_module = host_loaded, .readable = host_readable, .pages = host_pages};

static unsigned compare_tables(unsigned *faults)
{
	unsigned same = 0;

	for (size_t i = 0; i < host_module_count; i++) {
		const struct unwind_module *m = &host_modules[i];

		for (uint64_t pc = m->start; m->eh_frame_hdr && pc < m->end; pc += STEP) {
			struct bases bases = {0};
			const void *theirs = _Unwind_Find_FDE((void *)(uintptr_t)pc, &bases);
			struct eh_entry ours;
			int error = eh_frame_find(m, pc, &ours);

			if (!theirs != !!error ||
			    (theirs && ours.start != (uintptr_t)bases.function)) {
				if ((*faults)++ < 5)
					printf("%#llx: libgcc's function %p, ours %d\n",
					       (unsigned long long)pc, bases.function, error);
			} else {
				same += !!theirs;
			}
		}
	}
	return same;
}

struct frames {
	uint64_t pcs[FRAMES_MAX];
	unsigned count;
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *to)
{
	struct frames *f = to;
	uint64_t pc = _Unwind_GetIP(context);

	if (!pc || f->count == FRAMES_MAX)
		return _URC_END_OF_STACK;
	f->pcs[f->count++] = pc;
	return _URC_NO_REASON;
}

static struct unwind_thread *thread;
static struct frames ours, theirs;

static __attribute__((noinline)) void capture(void)
{
	struct unwind_regs regs;
	struct unwind_delta delta;

	unwind_regs_here(&regs);
	unwind_capture_full(thread, &regs, FRAMES_MAX, &delta);
	for (ours.count = 0; ours.count < delta.count; ours.count++)
		ours.pcs[ours.count] = delta.pcs[ours.count];
	theirs.count = 0;
	_Unwind_Backtrace(note_frame, &theirs);
}

static int compare_numbers(const void *a, const void *b)
{
	if (!ours.count)
		capture();
	return *(const int *)a - *(const int *)b;
}

/* libgcc's stack begins with capture() itself, ours with its caller, at the same return address. */
static unsigned compare_stacks(unsigned *faults)
{
	unsigned same = 0;

	for (unsigned i = 0; i + 1 < theirs.count && i < ours.count; i++) {
		if (theirs.pcs[i + 1] != ours.pcs[i]) {
			printf("frame %u: libgcc's %#llx, ours %#llx\n", i,
			       (unsigned long long)theirs.pcs[i + 1],
			       (unsigned long long)ours.pcs[i]);
			++*faults;
		}
		same++;
	}
	return same;
}

int main(void)
{
	int numbers[] = {3, 1, 2};
	unsigned faults = 0, functions, frames;

	dl_iterate_phdr(host_add_module, NULL);
	if (unwind_init(&host))
		return 1;
	thread = unwind_thread_init(host_pages(NULL, UNWIND_THREAD_SIZE));
	functions = compare_tables(&faults);
	qsort(numbers, 3, sizeof(numbers[0]), compare_numbers);
	frames = compare_stacks(&faults);
	printf("%u instructions, %u frames, %u faults\n", functions, frames, faults);
	return faults || functions < 1000 || frames < 4;
}
