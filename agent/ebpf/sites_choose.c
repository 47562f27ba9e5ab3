/* Chooses the sites of a process to probe. See sites.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ebpf/functions.h"
#include "agent/ebpf/sites.h"
#include "base/ban.h"

static const char *sites_choose_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Returns true for modules that are never probed: our own hooks, which forward to the allocator;
 * the loader, whose malloc serves only itself until libc is mapped; and files that could not be
 * read. */
static bool is_left_out(const struct sites_module *module)
{
	static const char *const beginnings[] = {"libheapcast.so", "ld-linux", "ld64.so", "ld.so",
						 "ld-2."};
	const char *name = sites_choose_base_name(module->path);

	for (unsigned i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return !module->sites;
}

/* Returns true for glibc, musl and other C libraries. Their functions forward to no other file. */
static bool is_libc(const struct sites_module *module)
{
	static const char *const beginnings[] = {"libc.", "libc-", "ld-musl", "libuClibc"};
	const char *name = sites_choose_base_name(module->path);

	for (unsigned i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/* Returns the offset and the word to probe with. */
static struct sites_choice chosen_of(uint32_t module, const struct site *site, bool hands_on)
{
	struct sites_choice choice = {module, site, site->offset, site->word};

	if (!hands_on || site->kind != SITE_ENTRY)
		return choice;
	if (site->followed_word) {
		choice.offset = site->followed_offset;
		choice.word = site->followed_word;
	}
	choice.word = site_with_flags(choice.word, site_flags(choice.word) & ~(uint32_t)SITE_LEAF);
	return choice;
}

static int sort_of(const char *name)
{
	bool heap;
	int number = function_of_name(name, &heap);

	return number < 0 ? -1 : (int)function_sort((unsigned)number);
}

/* Returns true if another module defines a function of this sort that is called from any module. */
static bool is_provided(const struct sites_module *module, size_t count, size_t own, int sort)
{
	for (size_t m = 0; m < count; m++) {
		const struct sites *sites = module[m].sites;

		if (m == own || is_left_out(&module[m]))
			continue;
		for (size_t i = 0; i < sites->count; i++)
			if (sites->site[i].common && sites->site[i].kind == SITE_ENTRY &&
			    !*sites->site[i].leads_to && sort_of(sites->site[i].name) == sort)
				return true;
	}
	return false;
}

static size_t choose_in(const struct sites_module *module, size_t count, size_t m,
			struct sites_choice *choice)
{
	const struct sites *sites = module[m].sites;
	bool hands_on = sites->hands_on && !is_libc(&module[m]);
	size_t chosen = 0;

	for (size_t i = 0; i < sites->count; i++) {
		const struct site *site = &sites->site[i];

		if (*site->leads_to && is_provided(module, count, m, sort_of(site->leads_to)))
			continue;
		choice[chosen++] = chosen_of((uint32_t)m, site, hands_on);
	}
	return chosen;
}

int sites_choose(const struct sites_module *module, size_t count, struct sites_choice **ret,
		 size_t *ret_count)
{
	struct sites_choice *choice;
	size_t most = 1, chosen = 0;

	for (size_t m = 0; m < count; m++)
		most += is_left_out(&module[m]) ? 0 : module[m].sites->count;
	choice = calloc(most, sizeof(*choice));
	if (!choice)
		return -ENOMEM;
	for (size_t m = 0; m < count; m++)
		if (!is_left_out(&module[m]))
			chosen += choose_in(module, count, m, choice + chosen);
	*ret = choice;
	*ret_count = chosen;
	return 0;
}
