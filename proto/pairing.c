/* The main loop of pairing: listening, beacons and dialling. pairing.h describes the interface. */
#include "proto/pairing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "heapcast.pb-c.h"
#include "proto/discovery.h"
#include "proto/discovery_net.h"
#include "proto/discovery_proof.h"
#include "proto/pairing_places.h"
#include "base/ban.h"

#define TURN_MS	     100
#define RETRY_MS     1000
#define BACKLOG	     64
#define READ_TURN    64 /* datagrams per turn */
#define AGENTS_KNOWN (2 * PAIRING_USES_MAX)
#define POLLS	     (PAIRING_PLACES + DISCOVERY_SOCKETS + 1)

/* Collector: an agent that was dialled after its beacon. */
struct known_agent {
	uint8_t id[STREAM_ID_SIZE];
	uint64_t next_ms; /* earliest time of the next attempt */
};

struct pairing {
	const struct pairing_options *o;
	struct pairing_places places;
	struct discovery_net net;
	bool has_net;
	int listener; /* -1: not open */
	uint16_t port;
	uint64_t second_ms; /* start of the next second */
	uint64_t end_ms;    /* when the code expires */
	uint64_t pause_ms;  /* no connection is accepted before, because too many arrived */
	/* agent only */
	uint8_t id[STREAM_ID_SIZE];
	uint64_t sequence;
	unsigned tries;
	/* collector only */
	struct known_agent agent[AGENTS_KNOWN];
	unsigned agents;
};

static uint64_t pairing_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- listening ---- */

static int listen_at(int family, uint16_t port)
{
	struct sockaddr_storage at = {.ss_family = (sa_family_t)family};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, off = 0, r;

	if (fd < 0)
		return -errno;
	((struct sockaddr_in *)&at)->sin_port = htons(port); /* the port is at the same offset in
							      * both structs */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	r = bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, BACKLOG) < 0 ? -errno
											: 0;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

/* Listens on IPv6 and IPv4, on the first free port of the range. */
static int open_listener(struct pairing *p, uint16_t first, uint16_t last, struct err_text *err)
{
	int fd = -EADDRINUSE;

	for (uint32_t port = first; port <= last && fd == -EADDRINUSE; port++) {
		fd = listen_at(AF_INET6, (uint16_t)port);
		if (fd < 0 && fd != -EADDRINUSE)
			fd = listen_at(AF_INET, (uint16_t)port);
		p->port = (uint16_t)port;
	}
	p->listener = fd < 0 ? -1 : fd;
	if (fd == -EADDRINUSE)
		return err_set(err, fd,
			       first == last
				       ? "TCP port %u is taken by another program: is there a "
					 "'collector pair' already? --port gives another one"
				       : "all TCP ports from %u on are in use",
			       first);
	return fd < 0 ? err_set(err, fd, "cannot listen on TCP port %u: %s", first, strerror(-fd))
		      : 0;
}

/* Tells whether a new peer may still begin. */
static bool is_open(const struct pairing *p)
{
	return p->places.share.uses && pairing_now_ms() < p->end_ms;
}

static void accept_all(struct pairing *p)
{
	for (unsigned i = 0; i < PAIRING_PLACES; i++) {
		struct sockaddr_storage from = {0}, own = {0};
		socklen_t length = sizeof(from), own_length = sizeof(own);
		int fd;

		if (!strangers_admit(&p->places.strangers, pairing_now_ms())) {
			p->pause_ms = pairing_now_ms() + TURN_MS;
			return;
		}
		fd = accept4(p->listener, (struct sockaddr *)&from, &length,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		discovery_unmap(&from);
		if (p->o->interface && (getsockname(fd, (struct sockaddr *)&own, &own_length) < 0 ||
					!discovery_interface_has(p->o->interface, &own)))
			close(fd);
		else
			pairing_places_accept(&p->places, fd, &from, pairing_now_ms());
	}
}

/* ---- the agent ---- */

static void announce(struct pairing *p)
{
	Heapcast__Beacon m = HEAPCAST__BEACON__INIT;
	uint8_t packed[DISCOVERY_BEACON_MAX];
	struct secret code = *p->o->code;
	int length;

	m.magic = DISCOVERY_PAIRING_MAGIC;
	m.protocol = PROTOCOL_VERSION;
	m.agent = (ProtobufCBinaryData){STREAM_ID_SIZE, p->id};
	m.port = p->port;
	m.sequence = ++p->sequence;
	m.key_id = (ProtobufCBinaryData){SECRET_ID_SIZE, code.id};
	length = discovery_prove(&code, DISCOVERY_BEACON, packed,
				 heapcast__beacon__pack(&m, packed));
	secret_clear(&code);
	if (length > 0)
		discovery_net_send(&p->net, packed, (size_t)length);
}

static void dial_host(struct pairing *p)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct sockaddr_storage to = {0};
	struct addrinfo *list = NULL;
	const struct addrinfo *at;
	char port[8];
	int r;

	if (pairing_places_dialling(&p->places))
		return;
	snprintf(port, sizeof(port), "%u", p->o->port ? p->o->port : PAIRING_PORT);
	r = getaddrinfo(p->o->host, port, &hints, &list);
	if (r) {
		p->o->event(p->o->context, &(struct pairing_event){.kind = PAIRING_TROUBLE,
								   .address = p->o->host,
								   .text = gai_strerror(r)});
		return;
	}
	at = list;
	for (unsigned i = p->tries++ % 8; i; i--) /* a host name can have several addresses;
						   * attempts rotate through them */
		at = at->ai_next ? at->ai_next : list;
	memcpy(&to, at->ai_addr, at->ai_addrlen);
	freeaddrinfo(list);
	r = pairing_places_dial(&p->places, &to, pairing_now_ms());
	if (r < 0)
		p->o->event(p->o->context, &(struct pairing_event){.kind = PAIRING_TROUBLE,
								   .address = p->o->host,
								   .text = strerror(-r)});
}

/* ---- the collector ---- */

/*
 * Tells whether to dial this agent now. A known agent is dialled again after 2 * RETRY_MS at the
 * earliest. If too many agents are known, no further ones are dialled.
 */
static bool pairing_is_due(struct pairing *p, const uint8_t id[STREAM_ID_SIZE])
{
	struct known_agent *a = NULL;

	for (unsigned i = 0; i < p->agents && !a; i++)
		if (!memcmp(p->agent[i].id, id, STREAM_ID_SIZE))
			a = &p->agent[i];
	if (!a && p->agents < AGENTS_KNOWN) {
		a = &p->agent[p->agents++];
		*a = (struct known_agent){0};
		memcpy(a->id, id, STREAM_ID_SIZE);
	}
	if (!a || pairing_now_ms() < a->next_ms)
		return false;
	a->next_ms = pairing_now_ms() + 2 * RETRY_MS;
	return true;
}

static void take_beacon(struct pairing *p, const uint8_t *data, size_t length,
			const struct sockaddr_storage *from)
{
	Heapcast__Beacon *m = heapcast__beacon__unpack(NULL, length, data);
	struct sockaddr_storage to = *from;

	if (m && m->magic == DISCOVERY_PAIRING_MAGIC && m->protocol == PROTOCOL_VERSION &&
	    m->agent.len == STREAM_ID_SIZE && m->port && m->port <= UINT16_MAX &&
	    discovery_names(p->o->code, m->key_id.data, m->key_id.len) &&
	    discovery_proven(p->o->code, DISCOVERY_BEACON, data, length) && is_open(p) &&
	    pairing_is_due(p, m->agent.data)) {
		((struct sockaddr_in *)&to)->sin_port =
			htons((uint16_t)m->port); /* the port is at the same offset in both
						   * structs */
		pairing_places_dial(&p->places, &to, pairing_now_ms());
	}
	if (m)
		heapcast__beacon__free_unpacked(m, NULL);
}

static void hear_beacons(struct pairing *p, enum discovery_socket which)
{
	uint8_t data[DISCOVERY_BEACON_MAX];
	struct sockaddr_storage from;
	int n = 0;

	for (unsigned i = 0; n >= 0 && i < READ_TURN; i++) {
		n = discovery_net_receive(&p->net, which, data, sizeof(data), &from);
		if (n > 0 && !p->o->agent)
			take_beacon(p, data, (size_t)n, &from);
	}
}

/* ---- both ---- */

static int open_net(struct pairing *p, struct err_text *err)
{
	int r = discovery_net_open(&p->net, p->o->interface, 0, err);

	p->has_net = true;
	if (r < 0 && r != -ENODEV && p->o->agent && p->net.fd[DISCOVERY_FOUR_OWN] >= 0)
		return 0; /* the agent only has to send */
	return r;
}

/*
 * The collector needs only one of the two: beacons if its port is taken, or the port if beacons
 * cannot be received.
 */
static int open_all(struct pairing *p, struct err_text *err)
{
	const struct pairing_options *o = p->o;
	struct err_text why = {{0}};
	char where[256];
	int r, heard;

	if (getrandom(p->id, sizeof(p->id), 0) != sizeof(p->id))
		return err_set(err, -EIO, "no random numbers to be had");
	if (o->agent && o->host)
		return 0;
	if (o->agent) {
		r = open_listener(p, AGENT_TCP_PORT_FIRST, AGENT_TCP_PORT_LAST, err);
		return r < 0 ? r : open_net(p, err);
	}
	heard = open_net(p, &why);
	if (heard == -ENODEV)
		return err_set(err, heard, "%s", why.text);
	r = open_listener(p, o->port ? o->port : PAIRING_PORT, o->port ? o->port : PAIRING_PORT,
			  err);
	if (r < 0 && (heard < 0 || o->port))
		return r;
	if (heard < 0)
		o->event(o->context,
			 &(struct pairing_event){.kind = PAIRING_TROUBLE, .text = why.text});
	if (r < 0)
		o->event(o->context,
			 &(struct pairing_event){.kind = PAIRING_TROUBLE, .text = err->text});
	snprintf(where, sizeof(where), "%u", p->listener >= 0 ? p->port : 0);
	o->event(o->context, &(struct pairing_event){.kind = PAIRING_LISTENS, .text = where});
	return 0;
}

/* Runs once a second. */
static void second(struct pairing *p, uint64_t left_ms)
{
	if (p->o->agent && p->o->host)
		dial_host(p);
	else if (p->o->agent)
		announce(p);
	else if (p->has_net)
		discovery_net_send(&p->net, NULL, 0); /* joins the group on new interfaces */
	p->o->event(p->o->context,
		    &(struct pairing_event){.kind = PAIRING_WAITS, .left_ns = left_ms * 1000000});
}

static void pairing_turn(struct pairing *p)
{
	struct pollfd polls[POLLS];
	const unsigned listener = PAIRING_PLACES + DISCOVERY_SOCKETS;

	pairing_places_poll(&p->places, polls);
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		polls[PAIRING_PLACES + i] =
			(struct pollfd){.fd = p->has_net ? p->net.fd[i] : -1, .events = POLLIN};
	polls[listener] = (struct pollfd){
		.fd = is_open(p) && pairing_now_ms() >= p->pause_ms ? p->listener : -1,
		.events = POLLIN};
	if (poll(polls, POLLS, TURN_MS) < 0)
		return;
	pairing_places_work(&p->places, polls, pairing_now_ms());
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		if (polls[PAIRING_PLACES + i].revents)
			hear_beacons(p, (enum discovery_socket)i);
	if (polls[listener].revents)
		accept_all(p);
}

static void pairing_serve(struct pairing *p)
{
	p->end_ms = pairing_now_ms() + p->o->within_ns / 1000000;
	while (!*p->o->stop && (is_open(p) || pairing_places_busy(&p->places))) {
		uint64_t now = pairing_now_ms();

		if (is_open(p) && now >= p->second_ms) {
			p->second_ms = now + RETRY_MS;
			second(p, p->end_ms - now);
		}
		pairing_turn(p);
	}
}

int pairing_run(const struct pairing_options *options, struct err_text *err)
{
	const struct secure_options secure_options = {
		.secrets = options->code, .secret_count = 1, .paired = true};
	static struct pairing p; /* static because it is large; only one pairing runs at a time */
	struct secure *secure;
	int r = secure_open(&secure_options, &secure, err);

	if (r < 0)
		return r;
	memset(&p, 0, sizeof(p));
	p.o = options;
	p.listener = -1;
	pairing_places_init(&p.places, secure, options);
	r = open_all(&p, err);
	if (!r)
		pairing_serve(&p);
	pairing_places_done(&p.places);
	if (p.listener >= 0)
		close(p.listener);
	if (p.has_net)
		discovery_net_close(&p.net);
	secure_close(secure);
	return r < 0 ? r : (int)p.places.share.kept;
}
