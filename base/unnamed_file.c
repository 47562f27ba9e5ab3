#include "base/unnamed_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ban.h"

int unnamed_file(void)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	int fd;

	if (!folder || !*folder)
		folder = "/var/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 ||
	    (size_t)snprintf(path, sizeof(path), "%s/heapcast-XXXXXX", folder) >= sizeof(path))
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}
