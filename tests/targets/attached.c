/*
 * A program to attach to: it waits until a file is there, and then makes calls whose number and sizes are known. Its main thread and
 * THREADS others do the same work; each says nothing, and main ends without the library's own clearing up.
 *
 *	attached FILE [THREADS [ROUNDS [SAID]]]		with SAID it makes that file when it is done, and stays
 *
 * In a round, of the family:	events		bytes
 *	malloc, free		2		SIZE
 *	calloc, free		2		3 * 20
 *	posix_memalign, free	2		100
 *	aligned_alloc, free	2		128
 *	memalign, free		2		200
 *	malloc, realloc, free	3		30 + 300
 *	reallocarray x 2, free	3		250 + 600
 *	malloc, realloc to 0	2		20 (2 more, where that gives a block: musl, mimalloc)
 *	malloc, failing realloc, free	3	30 (and what was asked for in vain)
 *	failing malloc, calloc, posix_memalign, free(NULL): none
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS_MAX 64

static void *volatile sink;
static volatile size_t huge = SIZE_MAX / 2;
static unsigned rounds = 100;

static void *keep(void *p)
{
	sink = p;
	return p;
}

/* So that stacks differ. */
__attribute__((noinline)) static void *deep(unsigned frames, size_t size)
{
	void *p = frames ? deep(frames - 1, size) : keep(malloc(size));

	__asm__ volatile("" : "+r"(p));
	return p;
}

/* Frees from functions whose callers are found by fp (its frame has a variable size), and, on x86-64, by rbx: an allocator's free
 * may have put these on the stack before it is recorded. */
__attribute__((noinline)) static void free_by_fp(void *p, unsigned bytes)
{
	volatile char room[1 + bytes];

	room[bytes] = 0;
	free(p);
	room[0] = room[bytes];
}

#ifdef __x86_64__
void free_by_rbx(void *p);
__asm__(".text\n.type free_by_rbx, @function\nfree_by_rbx:\n.cfi_startproc\n"
	"push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
	"mov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
	"sub $200, %rsp\nand $-64, %rsp\ncall free@PLT\n"
	"mov %rbx, %rsp\n.cfi_def_cfa_register %rsp\npop %rbx\n.cfi_def_cfa_offset 8\nret\n"
	".cfi_endproc\n.size free_by_rbx, .-free_by_rbx\n");
#else
__attribute__((noinline)) static void free_by_rbx(void *p)
{
	free(p);
	__asm__ volatile("");
}
#endif

static void family(unsigned round)
{
	void *p = NULL;

	free(deep(round % 20, 64));
	free(keep(calloc(3, 20)));
	if (posix_memalign(&p, 64, 100))
		abort();
	free(keep(p));
	free_by_fp(keep(aligned_alloc(64, 128)), round);
	free_by_rbx(keep(memalign(64, 200)));
	p = keep(malloc(30));
	free(keep(realloc(p, 300)));
	p = keep(reallocarray(NULL, 5, 50));
	free(keep(reallocarray(p, 6, 100)));
	p = keep(malloc(20));
	free(keep(realloc(p, 0)));
	p = keep(malloc(30));
	if (realloc(p, huge))
		abort();
	free(p);
	if (malloc(huge) || calloc(huge, 4) || posix_memalign(&p, 3, 100) != EINVAL)
		abort();
	free(NULL);
}

static void *work(void *argument)
{
	for (unsigned i = 0; i < rounds; i++)
		family(i);
	return argument;
}

/* Threads that were there before, and wait. */
static pthread_barrier_t go;

static void *thread(void *argument)
{
	pthread_barrier_wait(&go);
	work(argument);
	pthread_barrier_wait(&go);
	pause();
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	struct stat st;
	pthread_t t;

	rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : rounds;
	pthread_barrier_init(&go, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&t, NULL, thread, NULL))
			abort();
	while (argc > 1 && stat(argv[1], &st))
		usleep(10000);
	pthread_barrier_wait(&go);
	work(NULL);
	pthread_barrier_wait(&go);
	if (argc > 4) {
		close(open(argv[4], O_WRONLY | O_CREAT, 0600));
		pause();
	}
	_exit(7);
}
