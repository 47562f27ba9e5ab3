#pragma once
/* The number of open descriptors: the same before and after what leaves none behind. */
#include <dirent.h>
#include <stddef.h>

static inline unsigned descriptors_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}
