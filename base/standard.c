/* Occupies the numbers of closed standard descriptors. standard.h describes the interface. */
#include "base/standard.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/ban.h"

void standard_reserve(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0) /* open takes the lowest free number, which is fd */
			open("/dev/null",
			     (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC | O_NOCTTY);
}
