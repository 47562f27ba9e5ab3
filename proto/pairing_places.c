/* The connections of pairing peers and of strangers. pairing_places.h describes the interface. */
#include "proto/pairing_places.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/discovery_net.h"
#include "base/ban.h"

static void pairing_places_tell(const struct pairing_places *ps, const struct pairing_event *event)
{
	const struct pairing_options *o = ps->share.options;

	o->event(o->context, event);
}

/* ---- closing ---- */

static void close_place(struct pairing_places *ps, struct pairing_place *p, const char *why)
{
	struct pairing_talk *t = &p->talk;
	const bool kept = *t->name.text;

	if (kept)
		pairing_places_tell(ps,
				    &(struct pairing_event){.kind = t->confirmed ? PAIRING_MADE
										 : PAIRING_UNSURE,
							    .name = t->name.text,
							    .host = t->host,
							    .address = t->address,
							    .text = why});
	else if (why)
		pairing_places_tell(ps, &(struct pairing_event){.kind = PAIRING_TROUBLE,
								.address = t->address,
								.text = why});
	pairing_talk_done(t);
	secure_session_free(t->session);
	close(p->fd);
	memset(p, 0, sizeof(*p));
	p->fd = -1;
}

/* Failures of strangers are rate-limited, so that they do not flood the output. */
static void pairing_places_give_up(struct pairing_places *ps, struct pairing_place *p,
				   const char *why, uint64_t now_ms)
{
	bool known = p->shaken || p->dialled;

	err_set(&ps->last, 0, "%.400s", why);
	close_place(ps, p,
		    known || strangers_tell(&ps->strangers, &p->who.from, now_ms) ? why : NULL);
}

/* ---- data ---- */

/* Sends pending TLS output. Returns 0 or a negative errno. */
static int pairing_places_flush(struct pairing_place *p)
{
	for (;;) {
		size_t length;
		const uint8_t *data = secure_output(p->talk.session, &length);
		ssize_t n;

		if (!length)
			return 0;
		n = send(p->fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		secure_sent(p->talk.session, (size_t)n);
	}
}

static bool has_output(const struct pairing_place *p)
{
	size_t length = 0;

	if (p->talk.session)
		secure_output(p->talk.session, &length);
	return length > 0;
}

/* Encrypts and sends all pending messages, as far as the socket accepts them. */
static int speak(struct pairing_place *p)
{
	int r = pairing_places_flush(p);

	while (!r && p->shaken && p->talk.out_length && !has_output(p)) {
		r = pairing_talk_write(&p->talk);
		if (!r)
			r = pairing_places_flush(p);
	}
	return r;
}

/*
 * Continues the handshake. Returns 0, whether it is done or not, or a negative errno with a
 * sentence.
 */
static int pairing_places_shake(struct pairing_place *p, struct err_text *err)
{
	int r;

	do {
		r = secure_shake(p->talk.session, err);
		pairing_places_flush(p);
	} while (r == 1 && secure_blocked(p->talk.session) && !has_output(p));
	if (r < 0)
		return r;
	if (r == 1)
		return p->came > SECURE_SHAKE_BYTES
			       ? err_set(err, -EMSGSIZE, "its handshake is too long")
			       : 0;
	p->shaken = true;
	return pairing_talk_begin(&p->talk, err);
}

/* Reads the socket once and processes the data. */
static int hear(struct pairing_place *p, struct err_text *err)
{
	ssize_t n = recv(p->fd, p->raw, sizeof(p->raw), MSG_DONTWAIT);
	int r = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	if (n == 0)
		return err_set(err, -ENODATA, "it closed the connection");
	if (p->leaving)
		return 0;
	if (!p->came && secure_first(p->raw, (size_t)n) == SECURE_FIRST_OTHER)
		return err_set(err, -EPROTO, "it speaks no TLS");
	p->came += (size_t)n;
	secure_feed(p->talk.session, p->raw, (size_t)n);
	if (!p->shaken)
		r = pairing_places_shake(p, err);
	if (!r && p->shaken)
		r = pairing_talk_read(&p->talk, err);
	return r;
}

static int connected(struct pairing_place *p, struct err_text *err)
{
	int error = 0;
	socklen_t length = sizeof(error);

	p->connecting = false;
	getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &length);
	return error ? err_set(err, -error, "%s", strerror(error)) : pairing_places_shake(p, err);
}

/* Ends our side of the connection. The peer closes it, or its time expires. */
static void pairing_places_leave(struct pairing_place *p)
{
	secure_bye(p->talk.session);
	pairing_places_flush(p);
	shutdown(p->fd, SHUT_WR);
	p->leaving = true;
}

static void work(struct pairing_places *ps, struct pairing_place *p, short events, uint64_t now_ms)
{
	struct err_text err = {{0}};
	int r = 0;

	if (p->connecting && events)
		r = connected(p, &err);
	else if (!p->connecting && events & (POLLIN | POLLHUP | POLLERR))
		r = hear(p, &err);
	if (r == -EACCES && !p->shaken)
		err_set(&err, r, "it does not have this code");
	if (r != -ENODATA && !p->connecting) {
		int spoken = p->leaving ? 0 : speak(p);

		r = r ? r : spoken;
	}
	if (r == -ENODATA && p->talk.confirmed)
		close_place(ps, p, NULL);
	else if (r < 0)
		pairing_places_give_up(ps, p, err_get(&err, r), now_ms);
	else if (p->talk.state == PAIRING_OVER && !p->leaving && !p->talk.out_length &&
		 !has_output(p))
		pairing_places_leave(p);
}

static void check_time(struct pairing_places *ps, struct pairing_place *p, uint64_t now_ms)
{
	uint64_t age = now_ms - p->who.since_ms;

	if (age <= (p->shaken ? PAIRING_TALK_MS : STRANGERS_SHAKE_MS))
		return;
	if (p->talk.confirmed)
		close_place(ps, p, NULL);
	else
		pairing_places_give_up(
			ps, p, p->connecting ? "no answer in time" : "it did not go on in time",
			now_ms);
}

/* ---- creation ---- */

void pairing_places_init(struct pairing_places *ps, struct secure *secure,
			 const struct pairing_options *options)
{
	*ps = (struct pairing_places){.secure = secure,
				      .share = {.options = options, .uses = options->uses}};
	if (gethostname(ps->share.host, sizeof(ps->share.host) - 1) < 0)
		ps->share.host[0] = '\0';
	for (unsigned i = 0; i < PAIRING_PLACES; i++)
		ps->place[i].fd = -1;
}

static bool pairing_places_begin(struct pairing_places *ps, struct pairing_place *p, int fd,
				 const struct sockaddr_storage *other, bool accepted,
				 uint64_t now_ms)
{
	memset(p, 0, sizeof(*p));
	p->fd = fd;
	p->who = (struct stranger){stranger_address((const struct sockaddr *)other), now_ms};
	p->talk.share = &ps->share;
	p->talk.draft.folder = -1;
	p->talk.session = secure_session_new(ps->secure, accepted, 0);
	getnameinfo((const struct sockaddr *)other, sizeof(*other), p->talk.address,
		    sizeof(p->talk.address), NULL, 0, NI_NUMERICHOST);
	if (p->talk.session)
		return true;
	close(fd);
	p->fd = -1;
	return false;
}

static struct pairing_place *pairing_places_free_place(struct pairing_places *ps)
{
	for (unsigned i = 0; i < PAIRING_PLACES; i++)
		if (ps->place[i].fd < 0)
			return &ps->place[i];
	return NULL;
}

/*
 * A newcomer takes the place of the oldest stranger of the address that has the most connections.
 */
static void pairing_places_make_room(struct pairing_places *ps, const struct stranger_address *from,
				     uint64_t now_ms)
{
	struct stranger who[PAIRING_PLACES];
	struct pairing_place *place[PAIRING_PLACES];
	size_t count = 0, taken = 0;
	int leaver;

	for (unsigned i = 0; i < PAIRING_PLACES; i++) {
		struct pairing_place *p = &ps->place[i];

		taken += p->fd >= 0 && (p->shaken || p->dialled);
		if (p->fd < 0 || p->shaken || p->dialled)
			continue;
		who[count] = p->who;
		place[count++] = p;
	}
	leaver = count ? strangers_gives_way(who, count, PAIRING_PLACES - taken, PAIRING_EACH, from)
		       : -1;
	if (leaver >= 0)
		pairing_places_give_up(ps, place[leaver],
				       "it has not said who it is, and others want its place",
				       now_ms);
}

void pairing_places_accept(struct pairing_places *ps, int fd, const struct sockaddr_storage *from,
			   uint64_t now_ms)
{
	struct stranger_address address = stranger_address((const struct sockaddr *)from);
	struct pairing_place *p;

	pairing_places_make_room(ps, &address, now_ms);
	p = pairing_places_free_place(ps);
	if (!p)
		close(fd);
	else
		pairing_places_begin(ps, p, fd, from, true, now_ms);
}

int pairing_places_dial(struct pairing_places *ps, const struct sockaddr_storage *to,
			uint64_t now_ms)
{
	struct stranger_address address = stranger_address((const struct sockaddr *)to);
	struct pairing_place *p;
	int fd, r;

	pairing_places_make_room(ps, &address, now_ms);
	p = pairing_places_free_place(ps);
	fd = p ? socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
	if (fd < 0)
		return p ? -errno : -EBUSY;
	r = connect(fd, (const struct sockaddr *)to,
		    to->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in));
	if (r < 0 && errno != EINPROGRESS) {
		r = -errno;
		close(fd);
		return r;
	}
	if (!pairing_places_begin(ps, p, fd, to, false, now_ms))
		return -ENOMEM;
	p->dialled = p->connecting = true;
	return 0;
}

bool pairing_places_dialling(const struct pairing_places *ps)
{
	for (unsigned i = 0; i < PAIRING_PLACES; i++)
		if (ps->place[i].fd >= 0 && ps->place[i].dialled)
			return true;
	return false;
}

bool pairing_places_busy(const struct pairing_places *ps)
{
	for (unsigned i = 0; i < PAIRING_PLACES; i++)
		if (ps->place[i].fd >= 0 && ps->place[i].shaken)
			return true;
	return false;
}

void pairing_places_poll(const struct pairing_places *ps, struct pollfd *polls)
{
	for (unsigned i = 0; i < PAIRING_PLACES; i++) {
		const struct pairing_place *p = &ps->place[i];

		polls[i] = (struct pollfd){
			.fd = p->fd,
			.events = p->connecting ? POLLOUT
						: (short)(POLLIN | (has_output(p) ? POLLOUT : 0))};
	}
}

void pairing_places_work(struct pairing_places *ps, const struct pollfd *polls, uint64_t now_ms)
{
	for (unsigned i = 0; i < PAIRING_PLACES; i++) {
		struct pairing_place *p = &ps->place[i];

		if (p->fd >= 0 && p->fd == polls[i].fd && polls[i].revents)
			work(ps, p, polls[i].revents, now_ms);
		if (p->fd >= 0)
			check_time(ps, p, now_ms);
	}
}

void pairing_places_done(struct pairing_places *ps)
{
	for (unsigned i = 0; i < PAIRING_PLACES; i++)
		if (ps->place[i].fd >= 0)
			close_place(ps, &ps->place[i], "it was stopped");
}
