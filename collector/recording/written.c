/* The lock of a recording's writer. written.h describes it. */
#include "collector/recording/written.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/ban.h"

static struct flock whole_file(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

int recording_mark_written(int fd)
{
	struct flock lock = whole_file(F_WRLCK);

	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	return 0;
}

bool recording_is_written(int fd)
{
	struct flock lock = whole_file(F_RDLCK);

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}
