/*
 * Functions whose tables lie: they say that the caller's frame is 256 KiB farther out than it is, or 8 MiB. Each allocates (4321
 * bytes) on a small stack between pages that must not be touched: a thread's, one made by makecontext, and a signal's. Whoever
 * believes a table there and reads dies. Before and after the lie a block of 1234 bytes is allocated as everybody does.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK (128u << 10)
#define GUARD (16u << 20)

#ifdef __arm__ /* .ARM.exidx holds for a whole function */
void lie_little(void);
void lie_much(void);
void *allocate(size_t size);
#define LIAR(name, distance)                                                                       \
	__asm__(".text\n\t.syntax unified\n\t.thumb\n\t.thumb_func\n\t.global " #name              \
		"\n\t.type " #name ", %function\n" #name ":\n\t.fnstart\n\t"                       \
		".save {r4, lr}\n\t.pad #" #distance "\n\tpush {r4, lr}\n\tmovw r0, #4321\n\t"     \
		"bl allocate\n\tpop {r4, pc}\n\t.fnend\n");
LIAR(lie_little, 0x40000)
LIAR(lie_much, 0x800000)
#else
void *allocate(size_t size);
#define LIAR(name, distance)                                                                       \
	static __attribute__((noinline)) void name(void)                                           \
	{                                                                                          \
		__asm__ volatile(".cfi_adjust_cfa_offset " #distance);                             \
		allocate(4321);                                                                    \
		__asm__ volatile(".cfi_adjust_cfa_offset -" #distance);                            \
	}
LIAR(lie_little, 0x40000)
LIAR(lie_much, 0x800000)
#endif

static void *volatile kept;

__attribute__((noinline, used)) void *allocate(size_t size)
{
	kept = malloc(size);
	return kept;
}

static void lie(void)
{
	allocate(1234);
	lie_little();
	lie_much();
	allocate(1234);
}

static void on_signal(int number)
{
	(void)number;
	lie();
}

static void *thread(void *argument)
{
	lie();
	return argument;
}

static char *stack_make(void)
{
	char *memory = mmap(NULL, STACK + 2 * (size_t)GUARD, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + GUARD, STACK, PROT_READ | PROT_WRITE))
		exit(3);
	return memory + GUARD;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t alternate = {.ss_sp = stack_make(), .ss_size = STACK};
	ucontext_t here, there;
	pthread_attr_t attr;
	pthread_t other;

	lie();

	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, stack_make(), STACK) ||
	    pthread_create(&other, &attr, thread, NULL))
		return 3;
	pthread_join(other, NULL);

	getcontext(&there);
	there.uc_stack = (stack_t){.ss_sp = stack_make(), .ss_size = STACK};
	there.uc_link = &here;
	makecontext(&there, lie, 0);
	swapcontext(&here, &there);

	if (sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1))
		return 3;
	return 0;
}
