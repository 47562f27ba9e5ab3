#pragma once
/*
 * Where programs ask for a ring: Unix sockets of type SOCK_SEQPACKET, one message each way, or two
 * back (proto/ring.h). Who asks is taken from the credentials that the kernel attaches to the
 * message, never from the message.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

#include "proto/ring.h"

#define HANDSHAKE_CLIENTS 64

struct handshake;

struct handshake_client {
	struct handshake *handshake;
	uv_poll_t poll;
	int fd; /* -1: the place is free */
	bool closing;
	bool asked;
	bool waits;	   /* it was told to */
	bool accepted;	   /* it has connected by itself: who it is was noted then (SO_PEERCRED) */
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	pid_t pid;
	uid_t uid;
	uint32_t flags; /* RING_HELLO_*, as it says */
	bool swapped;	/* it is of the other byte order, and is answered in that */
	bool follow;	/* said with the answer: fork children are to ask, too */
	char *settings; /* NAME=VALUE, each with its zero; as long as the place is taken */
	size_t settings_length;
};

struct handshake {
	uv_loop_t *loop;
	uv_poll_t poll;
	int fd;	   /* listening; -1: none */
	bool full; /* further ones wait in the socket's queue */
	struct handshake_client client[HANDSHAKE_CLIENTS];
	/* Somebody asks: answer at once or later with handshake_answer. The hello is in our byte
	 * order. */
	void (*asked)(void *context, struct handshake_client *client,
		      const struct ring_hello *hello);
	void *context;
};

/* The words of a hello, from the other byte order to this one. */
void handshake_turn(struct ring_hello *hello);
/* An address for a path; one that begins with '@' is abstract. 0 or -ENAMETOOLONG. */
struct sockaddr_un;
int handshake_address(const char *path, struct sockaddr_un *ret_address, unsigned *ret_length);
/* A bound, listening socket; one that an agent left behind when it was killed is replaced. A
 * descriptor; -EADDRINUSE: somebody listens there; -EEXIST: the path is a file of another kind;
 * other negative errno. */
int handshake_socket(const char *path);
/* Takes over `listen_fd` (-1: none). 0 or a negative errno. */
int handshake_open(struct handshake *handshake, uv_loop_t *loop, int listen_fd,
		   void (*asked)(void *context, struct handshake_client *client,
				 const struct ring_hello *hello),
		   void *context);
/* Serves one connected socket as well (an end of a socketpair, the other one is inherited by a
 * program that is yet to be started); takes it over. Whoever starts a program wants it recorded: it
 * is told to wait longer than others do. */
int handshake_add(struct handshake *handshake, int fd);
/* To be called now and then: those that connect and do not ask give their places up. */
void handshake_tick(struct handshake *handshake, uint64_t now_ns);
/* Answers; an accepted one gets `ring_fd`, and `count` entries. The connection ends. 0; -EPIPE: it
 * has not waited for the answer; another negative errno. */
void handshake_answer(struct handshake_client *client, enum ring_answer_kind kind);
int handshake_answer_with(struct handshake_client *client, enum ring_answer_kind kind, int ring_fd,
			  uint64_t size, const struct ring_entry *entry, uint32_t count);
/* Has it write this to its standard error, before it is answered: RING_SAY. */
void handshake_say(struct handshake_client *client, const char *text);
/* Says that the answer takes longer than those who ask wait for it. Said once, however often it is
 * called. */
void handshake_wait(struct handshake_client *client);
void handshake_close(struct handshake *handshake);
