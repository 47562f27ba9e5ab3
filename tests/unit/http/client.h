#pragma once
/* A plain HTTP client for tests: sends what it is told, however wrong, and takes answers apart. */
#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"

struct answer {
	int status; /* 0: none came */
	char head[4096];
	struct buf body;
	bool complete; /* as long as it said */
};

/* With so many bytes of room for what comes; 0: as usual. */
static inline int client_connect_room(uint16_t port, int room)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert(fd >= 0);
	if (room)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	return fd;
}

static inline int client_connect(uint16_t port)
{
	return client_connect_room(port, 0);
}

/* A reader who takes little at a time. */
static inline int client_connect_small(uint16_t port)
{
	return client_connect_room(port, 4096);
}

static inline void client_send(int fd, const void *data, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = send(fd, (const char *)data + done, length - done, MSG_NOSIGNAL);

		if (n <= 0)
			return; /* it has closed: the answer tells */
		done += (size_t)n;
	}
}

/* One byte at a time is slow, and keeps what follows for the next answer. */
static inline bool client_byte(int fd, char *out)
{
	return recv(fd, out, 1, 0) == 1;
}

static inline bool client_line(int fd, char *out, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && client_byte(fd, &out[n]))
		if (out[n++] == '\n')
			break;
	out[n] = 0;
	return n && out[n - 1] == '\n';
}

static inline const char *client_header(const struct answer *a, const char *name)
{
	const char *at = strcasestr(a->head, name);

	return at ? at + strlen(name) + 2 : NULL;
}

static inline bool client_take(int fd, struct answer *a, size_t length)
{
	uint8_t *to = buf_reserve(&a->body, length + 1);
	size_t done = 0;

	assert(to);
	while (done < length) {
		ssize_t n = recv(fd, to + done, length - done, 0);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	a->body.length += done;
	return done == length;
}

static inline bool client_chunks(int fd, struct answer *a)
{
	char line[64];

	for (;;) {
		size_t length;

		if (!client_line(fd, line, sizeof(line)))
			return false;
		length = strtoul(line, NULL, 16);
		if (!client_take(fd, a, length) || !client_line(fd, line, sizeof(line)))
			return false;
		if (!length)
			return true;
	}
}

static inline void client_read(int fd, struct answer *a, bool head_only)
{
	char line[2048];
	const char *length;

	memset(a, 0, sizeof(*a));
	if (!client_line(fd, line, sizeof(line)) || strncmp(line, "HTTP/1.", 7) != 0)
		return;
	a->status = (int)strtol(line + 9, NULL, 10);
	while (client_line(fd, line, sizeof(line)) && strcmp(line, "\r\n") != 0) {
		size_t used = strlen(a->head);

		snprintf(a->head + used, sizeof(a->head) - used, "%s", line);
	}
	if (head_only) {
		a->complete = true;
		return;
	}
	length = client_header(a, "content-length");
	if (client_header(a, "transfer-encoding"))
		a->complete = client_chunks(fd, a);
	else if (length)
		a->complete = client_take(fd, a, strtoul(length, NULL, 10));
	else
		a->complete = !client_take(fd, a, 64u << 20);
	assert(buf_text(&a->body));
}

/* Of the server under test: some paths take it on loopback, too. */
#define CLIENT_TOKEN "a-token-of-the-tests"

static inline void client_get(uint16_t port, const char *target, struct answer *a)
{
	struct buf request = {0};
	int fd = client_connect(port);

	buf_printf(&request,
		   "GET %s HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer " CLIENT_TOKEN
		   "\r\nConnection: close\r\n\r\n",
		   target, port);
	client_send(fd, request.data, request.length);
	client_read(fd, a, false);
	buf_done(&request);
	close(fd);
}

/* Sends bytes as they are and reads one answer. */
static inline void client_raw(uint16_t port, const void *data, size_t length, struct answer *a)
{
	int fd = client_connect(port);

	client_send(fd, data, length);
	shutdown(fd, SHUT_WR);
	client_read(fd, a, false);
	close(fd);
}
