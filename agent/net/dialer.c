/* Dials collectors. See dialer.h. */
#include "agent/net/dialer.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/ban.h"

#define RETRY_MS 1000
/* An attempt lasts so many times RETRY_MS. A new attempt is as good as a SYN that the kernel
 * retransmits, and comes sooner. */
#define DIAL_TRIES   3
#define KEEP_IDLE_S  4
#define KEEP_EVERY_S 2
#define KEEP_COUNT   3

void link_socket(int fd, size_t buffer)
{
	int size = (int)buffer, small = (int)buffer / 2, on = 1, idle = KEEP_IDLE_S,
	    every = KEEP_EVERY_S, count = KEEP_COUNT, silent = LINK_SILENT_MS;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent, sizeof(silent));
}

/* ---- the addresses ---- */

/* Adds the addresses of the item that was looked up. */
static void keep_addresses(struct dialer *d, const struct addrinfo *list)
{
	for (; list && d->fresh_count < DIAL_ADDRESSES; list = list->ai_next) {
		struct dial_address *a = &d->fresh[d->fresh_count++];

		*a = (struct dial_address){.item = d->item};
		memcpy(&a->at, list->ai_addr, list->ai_addrlen);
	}
}

static void use_addresses(struct dialer *d)
{
	unsigned count = dial_addresses_order(d->agent, d->fresh, d->fresh_count);

	dial_addresses_keep(d->fresh, count, d->address, d->addresses);
	d->addresses = count;
	d->resorted = false;
	memcpy(d->address, d->fresh, d->addresses * sizeof(*d->fresh));
	d->next = 0;
	for (unsigned i = 0; *d->preferred && i < d->addresses; i++) {
		char text[DIAL_NAME];

		if (dial_address_text(&d->address[i].at, text) && !strcmp(text, d->preferred))
			d->next = i;
	}
	*d->preferred = '\0';
}

bool dialer_at(const struct dialer *d, char out[DIAL_NAME])
{
	return d->link->greeted && !link_free(d->link) && dialer_chooses(d) &&
	       dial_address_text(&d->address[d->current].at, out);
}

void dialer_prefer(struct dialer *d, const char *address)
{
	snprintf(d->preferred, sizeof(d->preferred), "%s", address);
}

bool dialer_chooses(const struct dialer *d)
{
	return d->addresses > 1;
}

bool dialer_knows(const struct dialer *d, const struct sockaddr_storage *from)
{
	char host[NI_MAXHOST], own[NI_MAXHOST];

	if (!dial_address_numeric(from, host, NULL))
		return false;
	for (unsigned i = 0; i < d->addresses; i++)
		if (dial_address_numeric(&d->address[i].at, own, NULL) && !strcmp(own, host))
			return true;
	return false;
}

/* ---- the items of the list ---- */

/* Makes the item at this offset the one that is dialled or looked up. Returns false behind the
 * last. */
static bool use_item(struct dialer *d, uint32_t offset)
{
	char text[DIAL_LIST];
	uint16_t port = 0;
	size_t length;

	for (;;) {
		offset += (uint32_t)strspn(d->list + offset, ", \t");
		length = strcspn(d->list + offset, ",");
		if (!length)
			return false;
		d->item = offset;
		d->item_next = offset + (uint32_t)length;
		while (length && strchr(" \t", d->list[offset + length - 1]))
			length--;
		memcpy(text, d->list + offset, length);
		text[length] = '\0';
		if (parse_endpoint(text, d->host, sizeof(d->host), &port) == 0)
			break;
		offset = d->item_next; /* not reached: the list was checked */
	}
	snprintf(d->port, sizeof(d->port), "%u", port ? port : d->port_usual);
	return true;
}

/* "HOST:PORT", or with an IPv6 address "[HOST]:PORT". */
static void name_of(const struct dialer *d, char *out, size_t size)
{
	snprintf(out, size, strchr(d->host, ':') ? "[%s]:%s" : "%s:%s", d->host, d->port);
}

/* ---- collectors that are put off ---- */

bool dialer_leave(struct dialer *d)
{
	bool any = false;

	for (unsigned i = 0; i < d->addresses; i++)
		any |= i != d->current && !d->address[i].off;
	if (!any || !d->link->greeted)
		return false;
	dial_address_put_off(&d->address[d->current]);
	link_close(d->link);
	d->up = d->resorted = false;
	d->held = d->next = d->mute = 0;
	return true;
}

/* ---- attempts ---- */

static void poll_closed(uv_handle_t *handle)
{
	(void)handle;
}

/* Logs a failed attempt: once until a collector answers, with several once for each. */
static void attempt_failed(struct dialer *d, int error, bool last)
{
	const char *then = last ? "trying again every second" : "trying the next one";
	bool waits = d->held && d->addresses;
	char name[300];

	name_of(d, name, sizeof(name));
	if (waits && d->held == DIAL_HELD - 1)
		log_warn("no collector at %s any more (%s); trying again for %u s", name,
			 uv_strerror(error), DIAL_HELD);
	if (!waits && !d->said)
		log_warn("no collector at %s (%s); %s", name, uv_strerror(error), then);
	d->said |= last && !waits;
}

static void dial_failed(struct dialer *d, int error)
{
	dial_address_unanswered(&d->address[d->current]);
	attempt_failed(d, error, d->next >= d->addresses);
}

static void connected(uv_poll_t *poll, int status, int events)
{
	struct dialer *d = poll->data;
	int error = 0, fd = d->fd;
	socklen_t length = sizeof(error);
	char peer[300];

	(void)events;
	uv_close((uv_handle_t *)poll, poll_closed);
	d->fd = -1;
	/* libuv reports every failure as EBADF */
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	if (status < 0 && !error)
		error = -status;
	if (error) {
		close(fd);
		dial_failed(d, -error);
		return;
	}
	d->said = false;
	d->silent = 0;
	name_of(d, peer, sizeof(peer));
	pending_peers_dialled(d->pending_peers, fd, peer, d->link);
}

static socklen_t length_of(const struct sockaddr_storage *at)
{
	return at->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* Returns a socket that connects, or a negative errno. */
static int connecting(const struct dialer *d, const struct sockaddr_storage *to)
{
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	link_socket(fd, d->socket_buffer);
	if (connect(fd, (const struct sockaddr *)to, length_of(to)) < 0 && errno != EINPROGRESS) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

/* Dials the address at `index`. */
static void attempt(struct dialer *d, unsigned index)
{
	int fd = connecting(d, &d->address[index].at);

	d->tries++;
	d->current = index;
	use_item(d, d->address[index].item);
	if (fd < 0) {
		dial_failed(d, fd);
		return;
	}
	d->fd = fd;
	d->waited = 0;
	d->poll.data = d;
	uv_poll_init(d->loop, &d->poll, fd);
	uv_poll_start(&d->poll, UV_WRITABLE, connected);
}

/* Dials the next one, first those that are not full, then one that is. Returns false behind the
 * last. */
static bool attempt_next(struct dialer *d)
{
	unsigned last;

	while (d->next < d->addresses && d->address[d->next].full)
		d->next++;
	if (d->next < d->addresses) {
		attempt(d, d->next++);
		return true;
	}
	last = dial_addresses_least(d->address, d->addresses);
	if (d->resorted || last == d->addresses)
		return false;
	d->resorted = true;
	attempt(d, last);
	return true;
}

static void resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *list);

static void look_up(struct dialer *d)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC};

	d->resolve.data = d;
	d->resolving =
		uv_getaddrinfo(d->loop, &d->resolve, resolved, d->host, d->port, &hints) == 0;
}

/* One name after the other is looked up, then the best address is dialled. A name that can't be
 * looked up is left out. */
static void resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct dialer *d = request->data;
	bool stale = !d->open || d->outdated;

	d->resolving = d->outdated = false;
	if (!stale && !status)
		keep_addresses(d, list);
	uv_freeaddrinfo(list);
	if (stale)
		return;
	if (status < 0) {
		d->tries++;
		attempt_failed(d, status, !d->fresh_count && !d->list[d->item_next]);
	}
	if (use_item(d, d->item_next)) {
		look_up(d);
	} else if (d->fresh_count) {
		use_addresses(d);
		attempt_next(d);
	}
}

static void stop_connecting(struct dialer *d)
{
	if (d->fd < 0)
		return;
	uv_close((uv_handle_t *)&d->poll, poll_closed);
	close(d->fd);
	d->fd = -1;
}

/* Gives up an attempt that got no answer; the next timer tick starts another one. */
static void abandon(struct dialer *d)
{
	stop_connecting(d);
	dial_failed(d, UV_ETIMEDOUT);
}

/* ---- going home ---- */

static void stop_looking(struct dialer *d)
{
	if (d->home_fd < 0)
		return;
	uv_close((uv_handle_t *)&d->home, poll_closed);
	close(d->home_fd);
	d->home_fd = -1;
}

static void looked(uv_poll_t *poll, int status, int events)
{
	struct dialer *d = poll->data;
	socklen_t length = sizeof(int);
	int error = 0;

	(void)events;
	getsockopt(d->home_fd, SOL_SOCKET, SO_ERROR, &error, &length);
	stop_looking(d);
	if (status < 0 || error || !d->idle || !d->up)
		return;
	log_info("a collector that comes before %s is there again: going back to it", d->host);
	link_close(d->link);
	d->up = d->resorted = false;
	d->held = 0;
	d->next = 0;
}

/* Looks whether a better collector is there, one after the other. */
static void look_home(struct dialer *d)
{
	if (d->home_at >= d->current)
		d->home_at = 0;
	if (d->address[d->home_at].full) {
		d->home_at++;
		return;
	}
	d->home_fd = connecting(d, &d->address[d->home_at++].at);
	if (d->home_fd < 0) {
		d->home_fd = -1;
		return;
	}
	d->home.data = d;
	uv_poll_init(d->loop, &d->home, d->home_fd);
	uv_poll_start(&d->home, UV_WRITABLE, looked);
}

static void turn_homewards(struct dialer *d)
{
	if (!d->current || !d->idle) {
		stop_looking(d);
		d->home_due = d->home_wait;
		return;
	}
	if (d->home_due && --d->home_due)
		return;
	stop_looking(d);
	d->home_wait = 2 * d->home_wait < DIAL_HOME_MOST ? 2 * d->home_wait : DIAL_HOME_MOST;
	d->home_due = d->home_wait;
	look_home(d);
}

void dialer_hurry(struct dialer *d)
{
	if (d->held > 1)
		d->held = 1;
}

void dialer_rest(struct dialer *d, bool idle)
{
	d->idle = idle;
}

/* ---- the ticks ---- */

/* A collector that is sent something acknowledges it a second later. Over a slow network that takes
 * as long as the bytes do; while they arrive, it is not mute. */
static void listen_for_acks(struct dialer *d)
{
	struct link *l = d->link;
	uint64_t queued, arrived = link_io_arrived(&l->io, &queued);
	bool flows = queued && arrived != d->arrived, acks = l->acks && l->acks != d->acks;

	d->arrived = arrived;
	d->acks = l->acks;
	if (acks)
		dial_address_put_on(&d->address[d->current]);
	if (acks || flows || !link_owes(l))
		d->mute = 0;
	else if (++d->mute >= DIAL_MUTE && dialer_leave(d))
		log_warn("the collector at %s has acknowledged nothing for %u s; trying the next "
			 "one",
			 l->peer, DIAL_MUTE);
}

static void greeted(struct dialer *d)
{
	if (!d->up && !d->current)
		d->home_wait = DIAL_HOME;
	if (!d->up && !d->address[d->current].full)
		d->address[d->current].off = 0;
	d->up = true;
}

/* The link is in use. */
static void watch(struct dialer *d)
{
	if (d->link->greeted) {
		greeted(d);
		turn_homewards(d);
		if (d->up && dialer_chooses(d))
			listen_for_acks(d);
		return;
	}
	/* One that takes connections and says nothing: it hangs. */
	if (dialer_chooses(d) && ++d->silent >= DIAL_HELLO && d->link->fd >= 0) {
		log_warn("the collector at %s took the connection and says nothing; trying the "
			 "next one",
			 d->link->peer);
		dial_address_unanswered(&d->address[d->current]);
		link_close(d->link);
	}
}

/* There is no connection. */
static void dial_next(struct dialer *d)
{
	stop_looking(d);
	if (d->up && dialer_chooses(d))
		d->held = DIAL_HELD;
	d->up = false;
	if (d->held) {
		if (!--d->held) {
			d->next = 0;
			d->resorted = false;
			d->left = d->current;
		}
		attempt(d, d->current);
		return;
	}
	d->next += d->next == d->left && d->next < d->addresses;
	d->left = DIAL_ADDRESSES;
	if (d->pending_peers->again) { /* with another key */
		d->pending_peers->again = false;
		attempt(d, d->current);
		return;
	}
	if (attempt_next(d))
		return;
	d->fresh_count = 0;
	if (use_item(d, 0))
		look_up(d);
}

static void dial(uv_timer_t *timer)
{
	struct dialer *d = timer->data;

	dial_addresses_tick(d->address, d->addresses);
	if (d->fd >= 0 && ++d->waited >= DIAL_TRIES) {
		abandon(d);
		return;
	}
	if (d->resolving || d->fd >= 0 || pending_peers_dialling(d->pending_peers))
		return;
	if (link_free(d->link))
		dial_next(d);
	else
		watch(d);
}

int dialer_open(struct dialer *d, uv_loop_t *loop, struct pending_peers *pending_peers,
		struct link *link, size_t socket_buffer, const char *list, uint16_t port)
{
	*d = (struct dialer){.loop = loop,
			     .fd = -1,
			     .home_fd = -1,
			     .link = link,
			     .pending_peers = pending_peers,
			     .socket_buffer = socket_buffer,
			     .open = true};
	d->timer.data = d;
	uv_timer_init(loop, &d->timer);
	return dialer_turn(d, list, port);
}

int dialer_turn(struct dialer *d, const char *list, uint16_t port)
{
	stop_connecting(d);
	stop_looking(d);
	pending_peers_hang_up(d->pending_peers);
	if (*d->list)
		link_close(d->link);
	d->outdated = d->resolving;
	d->said = d->up = d->resorted = false;
	d->mute = 0;
	d->addresses = d->next = d->current = d->held = d->home_at = 0;
	d->left = DIAL_ADDRESSES;
	d->home_wait = d->home_due = DIAL_HOME;
	snprintf(d->list, sizeof(d->list), "%s", list);
	d->port_usual = port;
	return *list ? uv_timer_start(&d->timer, dial, 0, RETRY_MS) : uv_timer_stop(&d->timer);
}

void dialer_close(struct dialer *d)
{
	if (!d->open)
		return;
	d->open = false;
	uv_close((uv_handle_t *)&d->timer, NULL);
	if (d->resolving)
		uv_cancel((uv_req_t *)&d->resolve);
	stop_connecting(d);
	stop_looking(d);
}
