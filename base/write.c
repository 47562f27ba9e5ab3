/* Writes whole buffers. write.h describes the interface. */
#include "base/write.h"

#include <errno.h>
#include <unistd.h>

int write_all(int fd, const void *data, size_t length)
{
	const char *at = data;

	while (length) {
		ssize_t n = write(fd, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}
