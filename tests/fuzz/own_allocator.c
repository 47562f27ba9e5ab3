/* A program's file made by a stranger, in which the agent looks for an allocator. What it says to
 * patch must be possible at all. */
#include "agent/serve/own_allocator.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/allocator_functions.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct ring_entry *e)
{
	if (e->function >= ALLOCATOR_FUNCTIONS || e->length < 5 || e->length > RING_ENTRY_WAS ||
	    !e->moved_length || e->moved_length > RING_ENTRY_MOVED - 5)
		abort();
	for (unsigned i = 0; i < sizeof(e->fix); i++)
		if (e->fix[i] && e->fix[i] + 3 > e->moved_length)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct own_allocator own;
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("program", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	own_allocator_find(fd, true, &own);
	if (own.count > RING_ENTRIES_MAX)
		abort();
	for (unsigned i = 0; i < own.count; i++)
		check(&own.entry[i]);
	return 0;
}
