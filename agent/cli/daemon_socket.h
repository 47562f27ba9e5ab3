#pragma once
/*
 * The socket that programs ask at. Its name is where libheapcast.so looks
 * (agent/preload/start/agent_link.c):
 *
 *   root     /run/heapcast/agent.sock
 *   others   $XDG_RUNTIME_DIR/heapcast/agent.sock; without that variable the abstract @heapcast-UID
 *
 * One agent a name: who serves at a path holds a lock on PATH.lock, so of two that start at once
 * one gives way, and what a killed one left behind is replaced. Whom the mode lets connect follows
 * from who may be recorded; programs that can't connect are free to start an agent of their own.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "agent/serve/access.h"

#define DAEMON_SOCKET_NAME_MAX 112

struct daemon_socket {
	char name[DAEMON_SOCKET_NAME_MAX];
	int lock_fd; /* -1: none is needed */
	dev_t device;
	ino_t inode;
	bool given; /* by the service manager: name and mode are its business */
};

/* Where an agent of this user is looked for. */
void daemon_socket_default(char *out, size_t size);
/* Binds and listens at `name` (NULL: the default). A descriptor; -EADDRINUSE: another agent serves
 * there; another negative errno; all with the reason. */
int daemon_socket_open(struct daemon_socket *ret_socket, const char *name, struct err_text *err);
/* Uses `fd` instead, which listens already. */
void daemon_socket_adopt(struct daemon_socket *ret_socket, int fd);
/* Lets those connect who may be recorded. */
void daemon_socket_admit(const struct daemon_socket *socket, const struct access *access);
/* "at NAME (mode 0660, group dev)". */
void daemon_socket_text(const struct daemon_socket *socket, char *out, size_t size);
/* Takes the name away, if it is still ours. Nothing happens if it was never opened (all zero). */
void daemon_socket_close(struct daemon_socket *socket);
