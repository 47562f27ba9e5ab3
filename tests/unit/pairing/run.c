/*
 * Pairing as its commands run it: who is dialled and who is listened to, what counts as a beacon,
 * when it ends, and what is told. The other side is a thread that works on proto/pairing_places.
 */
#include "proto/pairing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/secure/pair_code.h"
#include "proto/discovery.h"
#include "proto/discovery_net.h"
#include "proto/discovery_proof.h"
#include "proto/pairing_places.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/emulated.h"
#include "tests/unit/own_network.h"
#include "tests/unit/temporary.h"

#define SOON_NS 20000000000u /* a test that waits so long has failed */

static struct secret code, other_code;
static volatile sig_atomic_t stop;
static char told[4000]; /* a line for each event but PAIRING_WAITS */
static unsigned waits;
static uint64_t left_ns[16];
static uint16_t knock_at; /* a port, once while it waits; 0: none */
static unsigned stop_at;  /* after so many waits; 0: never */
static struct pairing_options options;
static unsigned descriptors;

/* Sets knock_at to 0 if somebody listens there. */
static void knock(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(knock_at),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = knock_at ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		knock_at = 0;
	if (fd >= 0)
		close(fd);
}

static void note(void *context, const struct pairing_event *e)
{
	static const char *const kinds[] = {
		[PAIRING_LISTENS] = "listens", [PAIRING_MADE] = "made",
		[PAIRING_UNSURE] = "unsure",   [PAIRING_TROUBLE] = "trouble",
		[PAIRING_WAITS] = "waits",
	};
	size_t used = strlen(told);

	assert_ptr_equal(context, &options);
	if (e->kind == PAIRING_WAITS) {
		knock();
		left_ns[waits++ % 16] = e->left_ns;
		stop = waits == stop_at;
		return;
	}
	snprintf(told + used, sizeof(told) - used, "%s %s %s %s: %s\n", kinds[e->kind],
		 e->name ? e->name : "-", e->host ? e->host : "-", e->address ? e->address : "-",
		 e->text ? e->text : "-");
}

static void options_init(bool agent)
{
	static char folder[128];

	descriptors = descriptors_open();
	snprintf(folder, sizeof(folder), "%s/ours", temporary_folder);
	options = (struct pairing_options){.agent = agent,
					   .code = &code,
					   .folder = folder,
					   .name = "it",
					   .interface = "lo",
					   .uses = 1,
					   .within_ns = SOON_NS,
					   .stop = &stop,
					   .event = note,
					   .context = &options};
	*told = '\0';
	stop = false;
	waits = stop_at = 0;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Takes a TCP port of all addresses, as another program does; also one that was left just now. */
static int take_port(uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* ---- the other side ---- */

struct peer {
	struct pairing_options options;
	struct pairing_places places;
	struct secure *secure;
	char folder[128];
	int listener; /* -1: it dials */
	uint16_t port;
	void (*act)(struct peer *peer); /* what it does first */
	atomic_bool over;
	pthread_t thread;
};

static struct peer peer;

static void ignore(void *context, const struct pairing_event *event)
{
	(void)context;
	(void)event;
}

static void peer_accept(struct peer *p)
{
	struct sockaddr_storage from = {0};
	socklen_t length = sizeof(from);
	int fd = accept4(p->listener, (struct sockaddr *)&from, &length,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		pairing_places_accept(&p->places, fd, &from, now_ms());
}

static void *peer_run(void *argument)
{
	struct peer *p = argument;
	struct pollfd polls[PAIRING_PLACES + 1];

	if (p->act)
		p->act(p);
	while (!atomic_load(&p->over)) {
		pairing_places_poll(&p->places, polls);
		polls[PAIRING_PLACES] = (struct pollfd){.fd = p->listener, .events = POLLIN};
		poll(polls, PAIRING_PLACES + 1, 20);
		pairing_places_work(&p->places, polls, now_ms());
		if (polls[PAIRING_PLACES].revents)
			peer_accept(p);
	}
	return NULL;
}

static int listen_somewhere(uint16_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 16), 0);
	getsockname(fd, (struct sockaddr *)&at, &length);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void peer_begin(bool agent, bool listens, void (*act)(struct peer *peer))
{
	struct secure_options tls = {.secrets = &code, .secret_count = 1, .paired = true};
	struct peer *p = &peer;

	memset(p, 0, sizeof(*p));
	p->act = act;
	p->listener = listens ? listen_somewhere(&p->port) : -1;
	snprintf(p->folder, sizeof(p->folder), "%s/theirs", temporary_folder);
	p->options = (struct pairing_options){.agent = agent,
					      .code = &code,
					      .folder = p->folder,
					      .name = "them",
					      .uses = 1,
					      .event = ignore};
	assert_int_equal(secure_open(&tls, &p->secure, NULL), 0);
	pairing_places_init(&p->places, p->secure, &p->options);
	snprintf(p->places.share.host, sizeof(p->places.share.host), "peer");
	pthread_create(&p->thread, NULL, peer_run, p);
}

static void peer_end(unsigned kept)
{
	uint64_t end = now_ms() + 5000;

	while (peer.places.share.kept < kept && now_ms() < end)
		usleep(1000);
	atomic_store(&peer.over, true);
	pthread_join(peer.thread, NULL);
	assert_int_equal(peer.places.share.kept, kept);
	pairing_places_done(&peer.places);
	secure_close(peer.secure);
	if (peer.listener >= 0)
		close(peer.listener);
	assert_int_equal(descriptors_open(), descriptors);
}

/* ---- by name and port ---- */

static void dial(struct peer *p, uint16_t port, const char *address)
{
	struct sockaddr_storage to = {.ss_family = AF_INET};
	struct sockaddr_in *four = (struct sockaddr_in *)&to;
	uint64_t end = now_ms() + 5000;
	int probe = -1, r = -1;

	inet_pton(AF_INET, address, &four->sin_addr);
	four->sin_port = htons(port);
	while (r < 0 && now_ms() < end) { /* until it listens */
		probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		r = connect(probe, (struct sockaddr *)&to, sizeof(*four));
		close(probe);
		usleep(r < 0 ? 2000 : 0);
	}
	pairing_places_dial(&p->places, &to, now_ms());
}

static void dial_usual(struct peer *p)
{
	dial(p, PAIRING_PORT, "127.0.0.1");
}

static void dial_given(struct peer *p)
{
	dial(p, 40123, "127.0.0.1");
}

static void a_collector_listens(void **state)
{
	(void)state;
	for (int given = 0; given < 2; given++) {
		uint64_t begin;

		options_init(false);
		options.port = given ? 40123 : 0;
		options.interface = given ? NULL : "lo";
		peer_begin(true, false, given ? dial_given : dial_usual);
		begin = now_ms();
		assert_int_equal(pairing_run(&options, NULL), 1);
		assert_true(now_ms() - begin < 10000);
		peer_end(1);
		/* The first connection only looked whether there is somebody. */
		assert_non_null(
			strstr(told, given ? "listens - - -: 40123\n" : "listens - - -: 43514\n"));
		assert_non_null(strstr(told, "made it"));
		assert_non_null(strstr(told, " peer 127.0.0.1: -\n"));
		assert_true(waits >= 1);
		assert_true(left_ns[0] <= SOON_NS && left_ns[0] > SOON_NS - 5000000000u);
		temporary_teardown(NULL);
		temporary_setup(NULL);
	}
}

static void an_agent_dials_its_host(void **state)
{
	(void)state;
	options_init(true);
	options.host = "127.0.0.1";
	peer_begin(false, true, NULL);
	options.port = peer.port;
	assert_int_equal(pairing_run(&options, NULL), 1);
	peer_end(1);
	assert_string_equal(told, "made it peer 127.0.0.1: -\n");
}

static void hosts_can_be_unknown(void **state)
{
	(void)state;
	options_init(true);
	options.host = "256.256.256.256";
	stop_at = 1;
	assert_int_equal(pairing_run(&options, NULL), 0);
	assert_memory_equal(told, "trouble - - 256.256.256.256: ", 29);
	assert_true(strlen(told) > 35);
	options_init(true);
	options.host = "10.200.200.200"; /* no way there */
	stop_at = 2;
	assert_int_equal(pairing_run(&options, NULL), 0);
	assert_string_equal(told, "trouble - - 10.200.200.200: Network is unreachable\n"
				  "trouble - - 10.200.200.200: Network is unreachable\n");
	assert_int_equal(descriptors_open(), descriptors);
}

/* At the usual port. */
static void nobody_listens(void **state)
{
	(void)state;
	SKIP_EMULATED_IF(emulated_mistells_errors(), MISTELLS_ERRORS);
	options_init(true);
	options.host = "127.0.0.1";
	stop_at = 2;
	assert_int_equal(pairing_run(&options, NULL), 0);
	assert_memory_equal(told, "trouble - - 127.0.0.1: Connection refused\n", 42);
	assert_int_equal(descriptors_open(), descriptors);
}

/* ---- by beacons ---- */

struct beacon {
	unsigned magic, protocol, port;
	size_t agent_length;
	const struct secret *named, *proves;
	enum discovery_kind kind;
};

static void send_beacon(const struct beacon *b)
{
	static uint64_t sequence;
	Heapcast__Beacon m = HEAPCAST__BEACON__INIT;
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(DISCOVERY_UDP_PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint8_t id[STREAM_ID_SIZE + 1] = {7}, packed[DISCOVERY_BEACON_MAX];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), length;

	m.magic = b->magic;
	m.protocol = b->protocol;
	m.agent = (ProtobufCBinaryData){b->agent_length, id};
	m.port = b->port;
	m.sequence = ++sequence;
	m.key_id = (ProtobufCBinaryData){SECRET_ID_SIZE, (uint8_t *)(uintptr_t)b->named->id};
	length = discovery_prove(b->proves, b->kind, packed, heapcast__beacon__pack(&m, packed));
	sendto(fd, packed, (size_t)length, 0, (struct sockaddr *)&to, sizeof(to));
	sendto(fd, "rubbish", 7, 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
}

static int decoy = -1;
static uint16_t decoy_port;

/* All that is no beacon of this pairing says the decoy's port. Then a true one comes, twice. */
static void send_beacons(struct peer *p)
{
	const struct beacon good = {
		DISCOVERY_PAIRING_MAGIC, PROTOCOL_VERSION, p->port, STREAM_ID_SIZE, &code, &code,
		DISCOVERY_BEACON};
	struct beacon bad[] = {good, good, good, good, good, good, good, good};

	bad[0].magic = DISCOVERY_BEACON_MAGIC;
	bad[1].protocol++;
	bad[2].agent_length--;
	bad[3].agent_length++;
	bad[4].named = &other_code;
	bad[5].proves = &other_code;
	bad[6].kind = DISCOVERY_PROBE;
	bad[7].protocol--;
	usleep(50000); /* it listens by now, or hears nothing of what is bad */
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bad[i].port = decoy_port;
		send_beacon(&bad[i]);
	}
	bad[0] = good;
	bad[0].port = 0;
	send_beacon(&bad[0]);
	bad[0].port = p->port + 65536;
	send_beacon(&bad[0]);
	for (unsigned i = 0; i < 100; i++) {
		struct pollfd knock = {.fd = p->listener, .events = POLLIN};

		send_beacon(&good);
		if (poll(&knock, 1, 100) > 0)
			break;
	}
	send_beacon(&good);
}

static void a_collector_hears_beacons(void **state)
{
	(void)state;
	options_init(false);
	decoy = listen_somewhere(&decoy_port);
	peer_begin(true, true, send_beacons);
	assert_int_equal(pairing_run(&options, NULL), 1);
	assert_int_equal(accept4(decoy, NULL, NULL, SOCK_CLOEXEC), -1);
	/* It was dialled once. */
	usleep(20000);
	close(decoy);
	peer_end(1);
	assert_string_equal(told, "listens - - -: 43514\nmade it peer 127.0.0.1: -\n");
}

static atomic_uint beacons_right;
static struct discovery_net net;

/* Hears the agent's beacons, and dials the port that they tell. */
static void hear_beacons(struct peer *p)
{
	struct sockaddr_storage from;
	uint8_t data[DISCOVERY_BEACON_MAX], id[STREAM_ID_SIZE];
	uint64_t end = now_ms() + 8000;

	while (beacons_right < 2 && now_ms() < end) {
		int n = discovery_net_receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from);
		Heapcast__Beacon *m =
			n > 0 ? heapcast__beacon__unpack(NULL, (size_t)n, data) : NULL;

		if (m && m->magic == DISCOVERY_PAIRING_MAGIC && m->protocol == PROTOCOL_VERSION &&
		    m->agent.len == STREAM_ID_SIZE && m->port == AGENT_TCP_PORT_FIRST + 1 &&
		    (!beacons_right || !memcmp(id, m->agent.data, STREAM_ID_SIZE)) &&
		    m->sequence == beacons_right + 1 &&
		    discovery_names(&code, m->key_id.data, m->key_id.len) &&
		    discovery_proven(&code, DISCOVERY_BEACON, data, (size_t)n)) {
			memcpy(id, m->agent.data, STREAM_ID_SIZE);
			beacons_right++;
		}
		if (m)
			heapcast__beacon__free_unpacked(m, NULL);
		usleep(2000);
	}
	dial(p, AGENT_TCP_PORT_FIRST + 1, "127.0.0.1");
}

static void an_agent_sends_beacons(void **state)
{
	struct sockaddr_in taken = {.sin_family = AF_INET, .sin_port = htons(AGENT_TCP_PORT_FIRST)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	options_init(true);
	assert_int_equal(bind(fd, (struct sockaddr *)&taken, sizeof(taken)), 0);
	assert_int_equal(listen(fd, 1), 0);			      /* the first port is taken */
	assert_int_equal(discovery_net_open(&net, "lo", 0, NULL), 0); /* before there is a beacon */
	peer_begin(false, false, hear_beacons);
	assert_int_equal(pairing_run(&options, NULL), 1);
	discovery_net_close(&net);
	peer_end(1);
	close(fd);
	assert_int_equal(beacons_right, 2);
	assert_non_null(strstr(told, "made it peer 127.0.0.1: -\n"));
}

/* An agent listens, also if the first descriptor is its listener's. */
static void an_agent_listens(void **state)
{
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 20);

	(void)state;
	for (int i = 0; i < 2; i++) {
		options_init(true);
		stop_at = 1;
		knock_at = AGENT_TCP_PORT_FIRST;
		if (i)
			close(STDIN_FILENO);
		assert_int_equal(pairing_run(&options, NULL), 0);
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD) >= 0, !i); /* it is closed again */
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		assert_int_equal(knock_at, 0);
	}
	close(input);
}

/* ---- ends ---- */

static void time_ends_it(void **state)
{
	uint64_t begin;

	(void)state;
	options_init(false);
	options.within_ns = 300000000;
	begin = now_ms();
	assert_int_equal(pairing_run(&options, NULL), 0);
	assert_in_range(now_ms() - begin, 300, 5000);
	assert_int_equal(waits, 1);
	assert_in_range(left_ns[0], 200000000, 300000000);
	assert_int_equal(left_ns[0] % 1000000, 0);
	options_init(false);
	options.uses = 0; /* nobody is waited for */
	assert_int_equal(pairing_run(&options, NULL), 0);
	assert_int_equal(waits, 0);
	options_init(false);
	stop = true;
	assert_int_equal(pairing_run(&options, NULL), 0);
	assert_int_equal(waits, 0);
	options_init(false);
	stop_at = 2;
	begin = now_ms();
	assert_int_equal(pairing_run(&options, NULL), 0);
	assert_in_range(now_ms() - begin, 1000, 6000);
	assert_int_equal(waits, 2);
	assert_int_equal(descriptors_open(), descriptors);
}

static void what_is_not_there_is_told(void **state)
{
	struct sockaddr_in udp = {.sin_family = AF_INET, .sin_port = htons(DISCOVERY_UDP_PORT)};
	struct err_text err = {{0}};
	int fd[2];

	(void)state;
	options_init(false);
	options.interface = "none0";
	assert_int_equal(pairing_run(&options, &err), -ENODEV);
	assert_string_equal(err.text,
			    "there is no interface 'none0' with an address that is up (ip "
			    "address shows all)");
	options.agent = true;
	assert_int_equal(pairing_run(&options, &err), -ENODEV);
	assert_string_equal(told, "");
	/* The port is taken: beacons are enough, unless it was asked for. */
	options_init(false);
	fd[0] = take_port(PAIRING_PORT);
	stop_at = 1;
	assert_int_equal(pairing_run(&options, &err), 0);
	assert_string_equal(told,
			    "trouble - - -: TCP port 43514 is taken by another program: is there a "
			    "'collector pair' already? --port gives another one\n"
			    "listens - - -: 0\n");
	options_init(false);
	options.port = PAIRING_PORT;
	assert_int_equal(pairing_run(&options, &err), -EADDRINUSE);
	assert_memory_equal(err.text, "TCP port 43514 is taken", 23);
	assert_string_equal(told, "");
	close(fd[0]);
	/* Beacons can't be heard: the port is enough; and an agent only sends them. */
	fd[1] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd[1], (struct sockaddr *)&udp, sizeof(udp)), 0);
	options_init(false);
	stop_at = 1;
	assert_int_equal(pairing_run(&options, &err), 0);
	assert_memory_equal(told, "trouble - - -: UDP port 43513, ", 31);
	assert_non_null(strstr(told, "\nlistens - - -: 43514\n"));
	options_init(true);
	stop_at = 1;
	assert_int_equal(pairing_run(&options, &err), 0);
	assert_string_equal(told, "");
	/* Neither of the two. */
	fd[0] = take_port(PAIRING_PORT);
	options_init(false);
	assert_int_equal(pairing_run(&options, &err), -EADDRINUSE);
	assert_int_equal(descriptors_open(), descriptors);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(a_collector_listens),	   TEST_IN_FOLDER(an_agent_dials_its_host),
		TEST_IN_FOLDER(hosts_can_be_unknown),	   TEST_IN_FOLDER(nobody_listens),
		TEST_IN_FOLDER(a_collector_hears_beacons), TEST_IN_FOLDER(an_agent_sends_beacons),
		TEST_IN_FOLDER(an_agent_listens),	   TEST_IN_FOLDER(time_ends_it),
		TEST_IN_FOLDER(what_is_not_there_is_told),
	};

	if (pair_code_secret("ABCDEFGHIJKLMNOPQRSTUVWXYA", 26, &code, NULL) < 0) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	if (!own_network_enter()) {
		puts("SKIPPED: this system gives no network namespace");
		return 77;
	}
	pair_code_secret("BBCDEFGHIJKLMNOPQRSTUVWXYA", 26, &other_code, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
