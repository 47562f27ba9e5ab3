#pragma once
/*
 * Opens the socket where programs ask to be recorded. libheapcast.so looks for it at these names
 * (agent/preload/start/agent_link.c):
 *
 *   root     /run/heapcast/agent.sock
 *   others   $XDG_RUNTIME_DIR/heapcast/agent.sock; without that variable the abstract @heapcast-UID
 *
 * One agent serves a name. An agent that serves at a path holds a lock on PATH.lock. So if two
 * agents start at the same time, one gives way, and the socket file of a killed agent is replaced.
 * The access control determines the file mode. Programs that can't connect may start an agent of
 * their own.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "agent/serve/access.h"

#define DAEMON_SOCKET_NAME_MAX 112

struct daemon_socket {
	char name[DAEMON_SOCKET_NAME_MAX];
	int lock_fd; /* -1: no lock is needed */
	dev_t device;
	ino_t inode;
	bool given; /* passed by the service manager, which owns its name and mode */
};

/* Writes the default name for this user. */
void daemon_socket_default(char *out, size_t size);
/* Binds and listens at `name` (NULL: the default). Returns a descriptor; -EADDRINUSE if another
 * agent serves there; or another negative errno. Errors come with the reason. */
int daemon_socket_open(struct daemon_socket *ret_socket, const char *name, struct err_text *err);
/* Uses the listening socket `fd` instead. */
void daemon_socket_adopt(struct daemon_socket *ret_socket, int fd);
/* Sets the file mode so that the users of recordable programs can connect. */
void daemon_socket_admit(const struct daemon_socket *socket, const struct access *access);
/* Formats "at NAME (mode 0660, group dev)". */
void daemon_socket_text(const struct daemon_socket *socket, char *out, size_t size);
/* Removes the socket file if it is still ours. Does nothing for a socket that was never opened (all
 * zero). */
void daemon_socket_close(struct daemon_socket *socket);
