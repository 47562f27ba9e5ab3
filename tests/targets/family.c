/* Each function of the malloc family, each result put to use, errno and alignment checked; three
 * frames deep. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/targets/target.h"

/* From C23; libheapcast.so has them where libc does not. */
__attribute__((weak)) void free_sized(void *p, size_t size);
__attribute__((weak)) void free_aligned_sized(void *p, size_t alignment, size_t size);

static unsigned failures;

/* (Half of all addresses can be had by a 32-bit program on a kernel of 64.) */
#define TOO_MUCH (sizeof(size_t) == 4 ? SIZE_MAX - 4096 : (size_t)PTRDIFF_MAX)

static void expect(int truth, const char *what)
{
	if (truth)
		return;
	failures++;
	say(what, 0);
}

static int aligned(const void *p, uintptr_t to)
{
	return p && (uintptr_t)p % to == 0;
}

/* Calls that the compiler would rather not see: they must fail, and leave the block alone. */
static void *(*volatile failing_malloc)(size_t) = malloc;
static void *(*volatile failing_realloc)(void *, size_t) = realloc;
static void *(*volatile failing_reallocarray)(void *, size_t, size_t) = reallocarray;

__attribute__((noinline)) static void all(void)
{
	void *p = use(malloc(own(100))), *q = use(calloc(1, own(200))), *r = NULL;

	errno = 4711;
	p = use(realloc(p, own(300)));
	expect(malloc_usable_size(p) >= own(300), "usable size");
	p = use(reallocarray(p, 1, own(400)));
	expect(!posix_memalign(&r, 64, own(500)) && aligned(r, 64), "posix_memalign");
	free(r);
	r = use(aligned_alloc(128, own(600)));
	expect(aligned(r, 128), "aligned_alloc");
	free(r);
	r = use(memalign(256, own(700)));
	expect(aligned(r, 256), "memalign");
	free(r);
	r = use(valloc(own(800)));
	expect(aligned(r, 4096), "valloc");
	free(r);
	r = use(pvalloc(own(900)));
	expect(aligned(r, 4096), "pvalloc");
	free(r);
	free(NULL);
	expect(errno == 4711, "errno after success");
	r = failing_malloc(TOO_MUCH);
	expect(!r && errno == ENOMEM, "malloc that fails");
	errno = 0;
	r = failing_realloc(p, TOO_MUCH);
	expect(!r && errno == ENOMEM, "realloc that fails");
	errno = 0;
	r = failing_reallocarray(p, SIZE_MAX / 2, 16);
	expect(!r && errno == ENOMEM, "reallocarray that overflows");
	expect(posix_memalign(&r, 3, 8) == EINVAL, "posix_memalign that is wrong");
	errno = 4711;
	r = failing_realloc(p, 0);
	expect(!r, "realloc to 0");
	free(q);
	expect(errno == 4711, "errno after free");
}

__attribute__((noinline)) static void sized(void)
{
	if (!free_sized || !free_aligned_sized) {
		say("sized", 0);
		return;
	}
	free_sized(use(malloc(own(1000))), own(1000));
	free_aligned_sized(use(aligned_alloc(64, own(1100))), 64, own(1100));
	free_sized(NULL, 0);
	say("sized", 2);
}

__attribute__((noinline)) static void settings(void)
{
	errno = 4711;
	expect(mallopt(M_MMAP_THRESHOLD, 262144) == 1, "mallopt");
	expect(mallopt(M_PERTURB, 0) == 1, "mallopt of a negative parameter");
	expect(mallopt(-4711, 3) == 1, "mallopt of nonsense"); /* as glibc answers */
	expect(malloc_trim(4096) >= 0, "malloc_trim");
	expect(errno == 4711, "errno after settings");
}

__attribute__((noinline)) static void outer(void)
{
	all();
	sized();
	settings();
	__asm__ volatile("");
}

int main(void)
{
	outer();
	say("failures", failures);
	return failures ? 1 : 0;
}
