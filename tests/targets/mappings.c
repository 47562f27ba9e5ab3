/* Mappings of every kind, with sizes that nobody else uses, beside blocks of the heap whose numbers
 * must not change by them. Results and errno are checked. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/targets/target.h"

#define PAGE   4096ul
#define PAGES  37ul
#define BYTES  (PAGES * PAGE)
#define HUGE_  ((size_t)1 << (sizeof(size_t) == 8 ? 40 : 30))
#define PIECES 3

static unsigned failures;

static void expect(int truth, const char *what)
{
	if (truth)
		return;
	failures++;
	say(what, 0);
}

static void *map(size_t size, int flags, void *at)
{
	return mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void ranges(void)
{
	char *p = map(BYTES, 0, NULL), *q;

	expect(p != MAP_FAILED, "mmap");
	for (size_t i = 0; i < BYTES; i += PAGE)
		p[i] = 1;
	/* A hole, then another mapping in the place of the rest. */
	expect(!munmap(p + 4 * PAGE, PIECES * PAGE), "munmap of a part");
	q = map(2 * PAGE, MAP_FIXED, p + 20 * PAGE);
	expect(q == p + 20 * PAGE && !q[0] && p[0] == 1, "MAP_FIXED");
	expect(!munmap(p, BYTES), "munmap");
}

static void moves(void)
{
	char *p = map(BYTES, 0, NULL), *room = map(4 * BYTES, 0, NULL), *q;

	p[0] = 7;
	q = mremap(p, BYTES, 2 * BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	expect(q == room && q[0] == 7, "mremap");
	q = mremap(room, 2 * BYTES, BYTES, 0);
	expect(q == room, "mremap that shrinks");
	expect(!munmap(room, 4 * BYTES), "munmap of all");
}

static void failing(void)
{
	errno = 0;
	expect(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
		       errno == EINVAL,
	       "mmap of nothing");
	errno = 0;
	expect(mmap64(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF,
	       "mmap of no file");
	errno = 0;
	expect(munmap((void *)1, PAGE) < 0 && errno == EINVAL, "munmap of nonsense");
	errno = 0;
	expect(mremap((void *)1, PAGE, PAGE, 0) == MAP_FAILED && errno == EINVAL,
	       "mremap of nonsense");
	expect(!brk((void *)1) && sbrk(0) != (void *)1, "brk of nonsense"); /* as libc answers */
}

static void breaks(void)
{
	char *before = sbrk(3 * PAGE);

	expect(before != (void *)-1, "sbrk");
	before[0] = 1;
	expect(sbrk(-2 * (intptr_t)PAGE) == before + 3 * PAGE, "sbrk back");
	expect(!brk(before + 5 * PAGE), "brk");
	expect(sbrk(0) == before + 5 * PAGE, "where the break is");
	expect(!brk(before), "brk back");
}

/* With a file's name it waits until that is there, to be attached to meanwhile. */
int main(int argc, char **argv)
{
	struct stat st;
	void *block = use(malloc(own(100))), *huge;

	while (argc > 1 && stat(argv[1], &st))
		usleep(10000);
	errno = 4711;
	ranges();
	moves();
	huge = mmap64(NULL, HUGE_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	expect(huge != MAP_FAILED && !munmap(huge, HUGE_), "a huge one");
	expect(errno == 4711, "errno after success");
	breaks();
	failing();
	/* libc's own mappings for a big block are not the program's. */
	free(use(malloc(own(4 << 20))));
	free(block);
	say("failures", failures);
	say("bytes", BYTES);
	say("allocations", 2);
	say("frees", 2);
	return failures ? 1 : 0;
}
