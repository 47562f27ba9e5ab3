/*
 * libcounting.so: an independent witness of a program's allocations. See counting.h for what counts how.
 *
 * Preloaded behind libheapcast.so it is what that library finds with RTLD_NEXT, so it sees exactly the calls that the
 * recorder passes on, from the first one in the loader to the last destructor. The counters live in a mapped file,
 * COUNTING_OUTPUT.PID, so they outlast SIGKILL. Without COUNTING_OUTPUT it only passes calls on.
 *
 *   program -> libheapcast.so -> libcounting.so -> the allocator (glibc, jemalloc...)
 *
 * A function of the allocator that calls another one through the PLT (glibc: reallocarray calls realloc) comes in here
 * again; `depth` keeps that from being counted twice. In a forked child counting stops: the child is another process.
 */
#include "tests/e2e/counting/counting.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CACHED __attribute__((tls_model("initial-exec")))

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} next;

static struct counting_file *file;
static atomic_int state; /* 0: nobody was here; 1: looking up; 2: ready */
static CACHED _Thread_local unsigned depth;

/* What dlsym itself may ask for while `next` is still empty. Never freed. */
static _Alignas(16) unsigned char early[16384];
static atomic_size_t early_used;

static void *early_take(size_t size)
{
	size_t at = atomic_fetch_add(&early_used, (size + 15) & ~(size_t)15);

	return at + size <= sizeof(early) ? early + at : NULL;
}

static bool early_owns(const void *p)
{
	return (const unsigned char *)p >= early &&
	       (const unsigned char *)p < early + sizeof(early);
}

/* Opens COUNTING_OUTPUT.PID; no allocation, no stdio stream. */
static struct counting_file *file_open(void)
{
	const char *prefix = getenv("COUNTING_OUTPUT");
	char path[512];
	struct counting_file *f;
	ssize_t n;
	int fd;

	if (!prefix || !*prefix ||
	    (size_t)snprintf(path, sizeof(path), "%s.%d", prefix, (int)getpid()) >= sizeof(path))
		return NULL;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	f = ftruncate(fd, sizeof(*f))
		    ? MAP_FAILED
		    : mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (f == MAP_FAILED)
		return NULL;
	n = readlink("/proc/self/exe", f->executable, sizeof(f->executable) - 1);
	if (n < 0)
		f->executable[0] = 0;
	f->pid = (uint32_t)getpid();
	f->magic = COUNTING_MAGIC;
	return f;
}

#define LOOK_UP_AS(to, name) to = (__typeof__(to))dlsym(RTLD_NEXT, name)
#define LOOK_UP(name)	     LOOK_UP_AS(next.name, #name)

static void set_up(void)
{
	int nobody = 0;
	int saved = errno;

	if (!atomic_compare_exchange_strong(&state, &nobody, 1)) {
		while (atomic_load(&state) == 1 && !depth)
			syscall(SYS_sched_yield);
		return;
	}
	depth++;
	LOOK_UP(malloc);
	LOOK_UP(calloc);
	LOOK_UP(realloc);
	LOOK_UP(reallocarray);
	LOOK_UP(free);
	LOOK_UP(posix_memalign);
	LOOK_UP(aligned_alloc);
	LOOK_UP(memalign);
	LOOK_UP(valloc);
	LOOK_UP(pvalloc);
	file = file_open();
	depth--;
	atomic_store(&state, 2);
	errno = saved;
}

/* True if this call is one of the program's own. Every true is followed by leave(). */
static bool enter(void)
{
	if (atomic_load_explicit(&state, memory_order_acquire) != 2)
		set_up();
	return !depth++;
}

static void leave(void)
{
	depth--;
}

/* The counters, or NULL in a child that inherited them. */
static struct counting_file *mine(void)
{
	return file && file->pid == (uint32_t)syscall(SYS_getpid) ? file : NULL;
}

static void add(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static void count(enum counting_function function, bool outermost, bool worked, size_t bytes)
{
	struct counting_file *f = outermost ? mine() : NULL;

	leave();
	if (!f)
		return;
	if (!worked) {
		add(&f->row[function].failed, 1);
		return;
	}
	add(&f->row[function].calls, 1);
	add(&f->row[function].bytes, bytes);
}

EXPORT void *malloc(size_t size)
{
	bool outermost = enter();
	void *p = next.malloc ? next.malloc(size) : early_take(size);

	count(COUNTING_malloc, outermost, p, size);
	return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
	bool outermost = enter();
	void *p = next.calloc ? next.calloc(n, size) : early_take(n * size);

	count(COUNTING_calloc, outermost, p, n * size);
	return p;
}

static void count_realloc(enum counting_function function, bool outermost, const void *old,
			  const void *p, size_t size)
{
	struct counting_file *f = outermost ? mine() : NULL;

	if (f && old && p)
		add(&f->reallocated, 1);
	if (p || !old || size) {
		count(function, outermost, p, size);
		return;
	}
	if (f)
		add(&f->realloc_free, 1);
	leave();
}

/* A block of `early` can't be handed on: it moves. Its length is unknown, its row ends with the array. */
static void *early_leave(void *old, size_t size)
{
	size_t left = (size_t)(early + sizeof(early) - (unsigned char *)old);
	void *p = next.malloc ? next.malloc(size) : early_take(size);

	return p ? memcpy(p, old, size < left ? size : left) : NULL;
}

EXPORT void *realloc(void *old, size_t size)
{
	bool outermost = enter();
	bool was_early = early_owns(old) || !next.realloc;
	void *p = was_early ? (old ? early_leave(old, size) : early_take(size))
			    : next.realloc(old, size);

	count_realloc(COUNTING_realloc, outermost, old, p, size);
	return p;
}

EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	bool outermost = enter();
	void *p = next.reallocarray(old, n, size);

	count_realloc(COUNTING_reallocarray, outermost, old, p, n * size);
	return p;
}

EXPORT void free(void *p)
{
	bool outermost = enter();
	struct counting_file *f = outermost ? mine() : NULL;

	if (f)
		add(p ? &f->free_ : &f->free_null, 1);
	if (next.free && !early_owns(p))
		next.free(p);
	leave();
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t size)
{
	bool outermost = enter();
	int error = next.posix_memalign(ret, alignment, size);

	count(COUNTING_posix_memalign, outermost, !error, size);
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	bool outermost = enter();
	void *p = next.aligned_alloc(alignment, size);

	count(COUNTING_aligned_alloc, outermost, p, size);
	return p;
}

/* So that who asks sees one allocator, not two: blocks are handed on as they are. */
EXPORT size_t malloc_usable_size(void *p)
{
	static size_t (*usable)(void *);

	if (!usable)
		LOOK_UP_AS(usable, "malloc_usable_size");
	return early_owns(p) || !usable ? 0 : usable(p);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	bool outermost = enter();
	void *p = next.memalign(alignment, size);

	count(COUNTING_memalign, outermost, p, size);
	return p;
}

EXPORT void *valloc(size_t size)
{
	bool outermost = enter();
	void *p = next.valloc(size);

	count(COUNTING_valloc, outermost, p, size);
	return p;
}

EXPORT void *pvalloc(size_t size)
{
	bool outermost = enter();
	void *p = next.pvalloc(size);

	count(COUNTING_pvalloc, outermost, p, size);
	return p;
}
