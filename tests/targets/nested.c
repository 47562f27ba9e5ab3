/* nested TIMES [alt]: with jump_alloc, a handler that allocates and frees inside of malloc, on the ordinary or an alternate
 * stack; by functions that call malloc and free by name, too. */
#include <signal.h>
#include <stdlib.h>

#include "tests/targets/jump_alloc.h"
#include "tests/targets/target.h"

static char stack[1 << 16];
static unsigned long allocations, frees;

static void handler(int number)
{
	(void)number;
	(void)use(malloc(own(48)));
	free(use(malloc(own(64))));
	free(use(calloc(1, own(72))));
	free(use(realloc(use(malloc(own(80))), own(96))));
	allocations += 5;
	frees += 4;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 10;
	struct sigaction action = {.sa_handler = handler, .sa_flags = argc > 2 ? SA_ONSTACK : 0};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	void *block = NULL;

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < times; i++) {
		free(use(malloc(SIGNAL_SIZE)));
		block = use(realloc(block, own(256)));
		allocations += 2;
		frees += i ? 2 : 1;
	}
	say("allocations", allocations);
	say("frees", frees);
	return 0;
}
