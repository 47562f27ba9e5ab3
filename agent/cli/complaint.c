/* Tells programs why they are not recorded. See complaint.h. */
#include "agent/cli/complaint.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "agent/cli/daemon_socket.h"
#include "agent/core/clock.h"
#include "agent/net/handshake.h"
#include "agent/core/target.h"
#include "base/error.h"
#include "base/ban.h"

#define LINGER_NS UINT64_C(10000000000)
#define TICK_MS	  250
#define TOLD	  64

struct complaint {
	uv_loop_t loop;
	uv_timer_t tick;
	struct handshake handshake;
	struct err_text text;
	uint64_t asked_ns;
	struct {
		pid_t pid;
		uint64_t start_ticks;
	} told[TOLD]; /* processes that were told; an exec does not make a process new */
	unsigned told_next;
};

const char *complaint_socket(int argc, char **argv)
{
	const char *socket = NULL;
	bool started = false;

	for (int i = 1; i + 1 < argc; i++) {
		started |= !strcmp(argv[i], "--for-pid");
		if (!strcmp(argv[i], "--socket"))
			socket = argv[i + 1];
	}
	return started ? socket : NULL;
}

static bool complaint_is_new(struct complaint *c, pid_t pid)
{
	uint64_t start_ticks;
	pid_t parent;

	if (target_identity(pid, &parent, &start_ticks) < 0)
		return false;
	for (unsigned i = 0; i < TOLD; i++)
		if (c->told[i].pid == pid && c->told[i].start_ticks == start_ticks)
			return false;
	c->told[c->told_next % TOLD].pid = pid;
	c->told[c->told_next++ % TOLD].start_ticks = start_ticks;
	return true;
}

static void asked(void *context, struct handshake_client *client, const struct ring_hello *hello)
{
	struct complaint *c = context;

	c->asked_ns = clock_monotonic_ns();
	if (!(hello->flags & RING_HELLO_FORKED) && complaint_is_new(c, client->pid))
		handshake_say(client, c->text.text);
	handshake_answer(client, RING_REFUSED);
}

static void complaint_tick(uv_timer_t *timer)
{
	struct complaint *c = timer->data;
	uint64_t now = clock_monotonic_ns();

	handshake_tick(&c->handshake, now);
	if (now - c->asked_ns > LINGER_NS)
		uv_stop(&c->loop);
}

void complaint_serve(const char *socket, int fd, const struct err_text *why)
{
	static struct complaint c;
	struct daemon_socket s = {.lock_fd = -1};

	if (fd < 0)
		fd = daemon_socket_open(&s, socket, NULL);
	if (fd < 0 || chdir("/") < 0)
		return; /* another agent serves there */
	err_set(&c.text, 0, "%s: this program is not recorded", why->text);
	c.asked_ns = clock_monotonic_ns();
	c.tick.data = &c;
	uv_loop_init(&c.loop);
	uv_timer_init(&c.loop, &c.tick);
	uv_timer_start(&c.tick, complaint_tick, TICK_MS, TICK_MS);
	if (handshake_open(&c.handshake, &c.loop, fd, asked, &c) == 0)
		uv_run(&c.loop, UV_RUN_DEFAULT);
	daemon_socket_close(&s);
}
