/* jumper TIMES: with jump_alloc, a handler that jumps out of malloc each time; between, ordinary
 * allocations. Not one of the interrupted requests was granted. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/targets/jump_alloc.h"
#include "tests/targets/target.h"

static sigjmp_buf back;
static char stack[1 << 16];

static void leave(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

__attribute__((noinline)) static void deeper(int depth)
{
	if (depth)
		deeper(depth - 1);
	else
		(void)use(malloc(SIGNAL_SIZE));
	__asm__ volatile("");
}

/* Far below where the jump came from: the hook that was left seems to be still under way. */
__attribute__((noinline)) static void work_below(int depth, int times)
{
	if (depth)
		work_below(depth - 1, times);
	else
		for (int i = 0; i < times; i++)
			free(use(malloc(own(80))));
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 10;
	struct sigaction action = {.sa_handler = leave, .sa_flags = argc > 2 ? SA_ONSTACK : 0};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	volatile unsigned long allocations = 0;

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (volatile int i = 0; i < times; i++) {
		if (!sigsetjmp(back, 1))
			deeper(i % 30);
		if (i % 3 == 0) {
			work_below(50, 100);
			allocations += 100;
		}
		for (int j = 0; j < 10; j++) {
			free(use(malloc(own(64))));
			allocations++;
		}
	}
	say("allocations", allocations);
	say("frees", allocations);
	return 0;
}
