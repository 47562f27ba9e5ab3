/* The control socket's address. place.h describes it. */
#include "collector/control/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "collector/control/control.h"
#include "base/ban.h"

int control_place(const char *folder, struct sockaddr_un *ret_address)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret_address->sun_path, sizeof(ret_address->sun_path),
		 "/proc/self/fd/%d/" CONTROL_SOCKET, fd);
	return fd;
}
