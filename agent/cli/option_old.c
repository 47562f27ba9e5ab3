/* Former names of options. Scripts, environments and configuration files that use one go on
 * working; help and manual know the present names only. See option_row.h. */
#include <string.h>

#include "agent/cli/option_row.h"
#include "base/ban.h"

static const struct {
	const char *old, *name;
} names[] = {
	{"cull", "short-lived"},
	{"cull-pending", "short-lived-pending"},
	{"cull-memory", "short-lived-memory"},
};

#define COUNT (sizeof(names) / sizeof(names[0]))

const char *option_present_name(const char *old, size_t length)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strlen(names[i].old) == length && !strncmp(names[i].old, old, length))
			return names[i].name;
	return NULL;
}

const char *option_old_name(const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(names[i].name, name))
			return names[i].old;
	return NULL;
}
