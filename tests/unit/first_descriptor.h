#pragma once
/*
 * Descriptor 0, which is as good as any other: between these two calls the next file that is opened
 * gets it. Code that takes 0 for none, or does not close it, is found.
 */
#include <fcntl.h>
#include <unistd.h>

static inline void first_descriptor_free(void)
{
	close(STDIN_FILENO);
}

static inline void first_descriptor_take(void)
{
	(void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
}
