/* signals [alt]: handlers that allocate, on the ordinary or an alternate stack: of a signal that the program raises, of a
 * fault in the middle of a function, of a signal within that handler. The chain goes on behind the signal's frame. */
#include <signal.h>
#include <sys/mman.h>

#include "tests/targets/chains/chain.h"

#define ROUNDS 40

static char stack[1 << 16];
static volatile char *page;

FRAME static void grab(size_t size)
{
	free(keep(malloc(size)));
	STAY;
}

FRAME static void on_raise(int number)
{
	(void)number;
	grab(48);
	STAY;
}

FRAME static void on_fault(int number)
{
	(void)number;
	grab(64);
	raise(SIGUSR1);
	grab(64);
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

FRAME static void interrupted(void)
{
	grab(24);
	raise(SIGUSR1);
	grab(24);
}

FRAME static void touch(void)
{
	grab(32);
	*page = 1;
	grab(32);
}

int main(int argc, char **argv)
{
	const int flags = argc > 1 && !strcmp(argv[1], "alt") ? SA_ONSTACK : 0;
	struct sigaction raised = {.sa_handler = on_raise, .sa_flags = flags};
	struct sigaction fault = {.sa_handler = on_fault, .sa_flags = flags};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const unsigned long n = ROUNDS;

	truth("site", "interrupted", 2 * n, 2 * n * 24, START "main;interrupted;grab");
	truth("site", "touch", 2 * n, 2 * n * 32, START "main;touch;grab");
	truth("site", "raised", n, n * 48, START "main;interrupted;*;on_raise;grab");
	truth("site", "fault", 2 * n, 2 * n * 64, START "main;touch;*;on_fault;grab");
	truth("site", "in-handler", n, n * 48, START "main;touch;*;on_fault;*;on_raise;grab");
	truth("gone", "in-handler", n, n * 48, START "main;touch;*;on_fault;*;on_raise;grab");
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || sigaltstack(&alternate, NULL) ||
	    sigaction(SIGUSR1, &raised, NULL) || sigaction(SIGSEGV, &fault, NULL))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		interrupted();
		touch();
		mprotect((void *)page, 4096, PROT_NONE);
	}
	return 14;
}
