/* A program's file made by a stranger, in which places of probes are looked for. What is found must
 * be in its code. */
#include "agent/ebpf/sites.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/allocator_functions.h"
#include "agent/mapping_functions.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct site *site, size_t size)
{
	uint32_t flags = site_flags(site->word);

	if (site->offset >= size || site_shape(site->word) > SHAPE_SBRK || site_own(site->word) ||
	    !memchr(site->name, 0, sizeof(site->name)) ||
	    !memchr(site->leads_to, 0, sizeof(site->leads_to)))
		abort();
	if (site->kind == SITE_ENTRY && (site->offset < site->function || site->function >= size))
		abort();
	if ((flags & SITE_RETURN_OK && (flags & SITE_THROWS || site_words(site->word))) ||
	    (site->kind == SITE_EXIT) != ((flags & SITE_EXIT_PROBE) != 0))
		abort();
	if (site->followed_word &&
	    (site->followed_offset < site->function || site->followed_offset >= size ||
	     site_words(site->followed_word) || site_shape(site->followed_word) != SHAPE_END))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sites_options options;
	static int fd = -1;
	struct sites_choice *choice;
	struct sites_module module;
	struct sites sites;
	size_t count;

	if (fd < 0)
		fd = memfd_create("program", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (sites_find(fd, &options, &sites, NULL))
		return 0;
	for (size_t i = 0; i < sites.count; i++)
		check(&sites.site[i], size);
	module = (struct sites_module){&sites, "/program"};
	if (sites_choose(&module, 1, &choice, &count) || count > sites.count)
		abort();
	free(choice);
	sites_done(&sites);
	return 0;
}
