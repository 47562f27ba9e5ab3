#pragma once
/*
 * A network namespace of the program's own, with a loopback interface and nothing else, so that no
 * datagram or port of another program is in the way.
 */
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* False where the system does not allow it (not root, and no user namespaces). */
static inline bool own_network_enter(void)
{
	struct ifreq lo = {.ifr_name = "lo"};
	bool up;
	int fd;

	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	up = !ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
	return up;
}
