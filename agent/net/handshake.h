#pragma once
/*
 * Serves the sockets on which programs ask for a ring: Unix sockets of type SOCK_SEQPACKET. A
 * program sends one message and gets one or two back (proto/ring.h). The agent identifies a program
 * by the credentials that the kernel attaches to the message, never by the message's content.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

#include "proto/ring.h"
#include "proto/ring_handshake.h"

#define HANDSHAKE_CLIENTS 64

struct handshake;

struct handshake_client {
	struct handshake *handshake;
	uv_poll_t poll;
	int fd; /* -1: the place is free */
	bool closing;
	bool asked;
	bool waits; /* the program was told to wait */
	/* The program connected itself; SO_PEERCRED has its identity at that time. */
	bool accepted;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	pid_t pid;
	uid_t uid;
	uint32_t flags; /* RING_HELLO_*, reported by the program */
	bool follow;	/* for the answer: fork children must ask, too */
	char *settings; /* NAME=VALUE, each with its NUL; freed with the place */
	size_t settings_length;
};

struct handshake {
	uv_loop_t *loop;
	uv_poll_t poll;
	int fd;	   /* listening; -1: none */
	bool full; /* no place is free: further connections wait in the socket's queue */
	struct handshake_client client[HANDSHAKE_CLIENTS];
	/* Called when a program asks. The callee answers now, or later with handshake_answer. */
	void (*asked)(void *context, struct handshake_client *client,
		      const struct ring_hello *hello);
	void *context;
};

/* Makes a socket address of a path. A path that begins with '@' is abstract. Returns 0 or
 * -ENAMETOOLONG. */
struct sockaddr_un;
int handshake_address(const char *path, struct sockaddr_un *ret_address, unsigned *ret_length);
/* Creates a bound, listening socket. Replaces a socket that a killed agent left behind. Returns a
 * descriptor, -EADDRINUSE if another process listens there, -EEXIST if the path is a file of
 * another kind, or another negative errno. */
int handshake_socket(const char *path);
/* Starts to serve `listen_fd` (-1: none), which it owns from now on. Returns 0 or a negative
 * errno. */
int handshake_open(struct handshake *handshake, uv_loop_t *loop, int listen_fd,
		   void (*asked)(void *context, struct handshake_client *client,
				 const struct ring_hello *hello),
		   void *context);
/* Also serves a connected socket, which it owns from now on: one end of a socketpair. A program
 * that is not started yet inherits the other end. The user has asked to record that program, so the
 * program is told to wait longer than others do. Returns 0 or a negative errno. */
int handshake_add(struct handshake *handshake, int fd);
/* Call this regularly: it closes connections that do not ask, and accepts again. */
void handshake_tick(struct handshake *handshake, uint64_t now_ns);
/* Returns true if a program has connected or asked, and is not answered yet. */
bool handshake_pending(const struct handshake *handshake);
/* Answer a program and close the connection. A program whose request is accepted gets `ring_fd` and
 * `count` entries. Returns 0, -EPIPE if the program did not wait for the answer, or another
 * negative errno. */
void handshake_answer(struct handshake_client *client, enum ring_answer_kind kind);
int handshake_answer_with(struct handshake_client *client, enum ring_answer_kind kind, int ring_fd,
			  uint64_t size, const struct ring_entry *entry, uint32_t count);
/* Makes the program write a text to its standard error before it is answered (RING_SAY). */
void handshake_say(struct handshake_client *client, const char *text);
/* Tells the program that the answer takes longer than programs usually wait. Only the first call
 * sends something. */
void handshake_wait(struct handshake_client *client);
void handshake_close(struct handshake *handshake);
