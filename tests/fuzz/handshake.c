/*
 * Programs that ask for a ring: the input is a row of messages, `length 1, length bytes`, each sent
 * to the agent over a connection of its own; a length of 255 sends two in one. What reaches the
 * agent must be the start of what was sent, as long as a hello (a newer one may be longer), and
 * from us; each connection must end.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "agent/net/handshake.h"
#include "tests/fuzz/fuzz.h"

#define TURNS 3

static struct handshake handshake;
static uv_loop_t loop;
static const uint8_t *sent;
static size_t sent_length;
static unsigned asked_count;

static void asked(void *context, struct handshake_client *client, const struct ring_hello *hello)
{
	(void)context;
	must(sent_length >= sizeof(*hello) && !memcmp(hello, sent, sizeof(*hello)));
	must(client->pid == getpid() && client->uid == getuid());
	asked_count++;
	handshake_answer(client, hello->flags & 1 ? RING_REFUSED : RING_BUSY);
}

static void ask(const uint8_t *data, size_t length, bool twice)
{
	struct ring_answer answer;
	int pair[2];
	ssize_t n;

	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) &&
	     !handshake_add(&handshake, pair[0]));
	/* A program that the agent starts is told to wait before it asks. */
	must(recv(pair[1], &answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer) &&
	     answer.kind == RING_WAIT);
	sent = data;
	sent_length = length;
	asked_count = 0;
	send(pair[1], data, length, MSG_NOSIGNAL);
	if (twice)
		send(pair[1], data, length, MSG_NOSIGNAL);
	for (int i = 0; i < TURNS; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	must(asked_count == (length >= sizeof(struct ring_hello)));
	n = recv(pair[1], &answer, sizeof(answer), MSG_DONTWAIT);
	/* A second message, unread, turns the answer into a reset. */
	must(n == sizeof(answer) ? asked_count && answer.magic == RING_MAGIC
				 : n <= 0 && (!asked_count || twice));
	close(pair[1]);
	for (int i = 0; i < TURNS; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++)
		must(handshake.client[i].fd < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!handshake.asked)
		must(!uv_loop_init(&loop) && !handshake_open(&handshake, &loop, -1, asked, NULL));
	while (size >= 1) {
		bool twice = data[0] == 255;
		size_t length = twice ? sizeof(struct ring_hello) : data[0];

		if (length > size - 1)
			length = size - 1;
		ask(data + 1, length, twice);
		data += 1 + length;
		size -= 1 + length;
	}
	return 0;
}
