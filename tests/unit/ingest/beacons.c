/*
 * What a collector makes of datagrams: beacons with our key, with another one, without, with the
 * nonce of a probe; rubbish; and what it says of agents that it skips. By the real sockets, in a
 * network namespace of the program's own.
 */
#include <errno.h>
#include <netinet/in.h>

#include "proto/discovery.h"
#include "tests/unit/ingest/support/still.h"
#include "tests/unit/own_network.h"

static bool own_network;
static struct secret keys[3]; /* the collector has the first two */
static int agent = -1;	      /* the agents' socket */
static uint8_t nonce[DISCOVERY_NONCE_SIZE];

static void begin(struct ingest_options options)
{
	const struct timeval soon = {.tv_usec = 200000};
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	options.discover = true;
	options.agents_max = 20;
	still_begin(options);
	agent = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(agent, (struct sockaddr *)&here, sizeof(here)), 0);
	setsockopt(agent, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
}

static void end(void)
{
	close(agent);
	still_end();
}

/* The collector has read all that was sent. */
static void send_bytes(const void *data, size_t length)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(DISCOVERY_UDP_PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	assert_int_equal(sendto(agent, data, length, 0, (struct sockaddr *)&to, sizeof(to)),
			 length);
	for (unsigned i = 0; i < 3; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
}

static void send_beacon(uint8_t name, const struct secret *key, const uint8_t *answer)
{
	static uint64_t sequence;
	uint8_t id[STREAM_ID_SIZE], packed[DISCOVERY_BEACON_MAX];
	Heapcast__Beacon m = HEAPCAST__BEACON__INIT;
	size_t length;

	memset(id, name, sizeof(id));
	m.magic = DISCOVERY_BEACON_MAGIC;
	m.protocol = PROTOCOL_VERSION;
	m.agent = builder_bytes(id, sizeof(id));
	m.port = 8100;
	m.sequence = ++sequence;
	m.streams = 3;
	if (answer)
		m.nonce = builder_bytes(answer, DISCOVERY_NONCE_SIZE);
	if (key)
		m.key_id = builder_bytes(key->id, SECRET_ID_SIZE);
	length = heapcast__beacon__pack(&m, packed);
	if (key)
		length = (size_t)discovery_prove(key, DISCOVERY_BEACON, packed, length);
	send_bytes(packed, length);
}

/* The agent was asked whether it is there, by somebody with this key (NULL: without). */
static bool was_probed(const struct secret *key)
{
	uint8_t packed[DISCOVERY_BEACON_MAX];
	ssize_t n = recv(agent, packed, sizeof(packed), 0);
	Heapcast__Probe *m = n > 0 ? heapcast__probe__unpack(NULL, (size_t)n, packed) : NULL;

	if (!m)
		return false;
	assert_int_equal(m->nonce.len, DISCOVERY_NONCE_SIZE);
	memcpy(nonce, m->nonce.data, DISCOVERY_NONCE_SIZE);
	assert_int_equal(m->key_id.len, key ? SECRET_ID_SIZE : 0);
	if (key)
		assert_true(discovery_proven(key, DISCOVERY_PROBE, packed, (size_t)n));
	heapcast__probe__free_unpacked(m, NULL);
	return true;
}

static void check_counts(uint64_t taken, uint64_t refused, uint64_t unproven)
{
	assert_int_equal(ingest->beacons, taken);
	assert_int_equal(ingest->beacons_refused, refused);
	assert_int_equal(ingest->beacons_unproven, unproven);
}

#define NEEDS_NETWORK()                                                                            \
	if (!own_network)                                                                          \
	skip()

/* Without keys a beacon is believed at once, and asked back. */
static void without_keys(void **state)
{
	static const uint8_t old[DISCOVERY_NONCE_SIZE] = {9};
	struct peer *p;

	(void)state;
	NEEDS_NETWORK();
	begin((struct ingest_options){0});
	send_beacon(1, NULL, NULL);
	check_counts(1, 0, 0);
	assert_non_null(strstr(told, "found 127.0.0.1:8100\n"));
	p = ingest->peers;
	assert_non_null(p);
	assert_int_equal(ingest->peer_count, 1);
	assert_true(!p->answers && !p->keyed && p->streams == 3);
	assert_true(was_probed(NULL));
	send_beacon(1, NULL, old); /* to a probe of somebody else */
	assert_false(p->answers);
	assert_false(was_probed(NULL));
	send_beacon(1, NULL, nonce);
	assert_true(p->answers);
	check_counts(3, 0, 0);
	send_beacon(1, &keys[2], NULL); /* nobody can prove that */
	check_counts(3, 0, 1);
	assert_non_null(strstr(told, "warning: an agent at 127.0.0.1 talks only to collectors with "
				     "its key ('collector pair' makes one, or --key FILE): such "
				     "agents are skipped\n"));
	told[0] = 0;
	send_beacon(2, &keys[2], NULL); /* is said once */
	check_counts(3, 0, 2);
	assert_null(strstr(told, "warning"));
	end();
}

/* With keys it has to be proven, and has to answer, by whichever key. */
static void with_keys(void **state)
{
	(void)state;
	NEEDS_NETWORK();
	for (unsigned i = 0; i < 2; i++) {
		begin((struct ingest_options){.secrets = keys, .secret_count = 2});
		send_beacon(1, &keys[i], NULL);
		check_counts(1, 0, 0);
		assert_int_equal(ingest->peer_count, 0);
		assert_true(was_probed(&keys[i]));
		send_beacon(1, &keys[i], nonce);
		check_counts(2, 0, 0);
		assert_int_equal(ingest->peer_count, 1);
		assert_true(ingest->peers->keyed && ingest->peers->answers);
		assert_memory_equal(ingest->peers->key_id, keys[i].id, SECRET_ID_SIZE);
		told[0] = 0;
		send_beacon(2, i ? NULL : &keys[2], NULL);
		check_counts(2, 0, 1);
		assert_false(was_probed(NULL));
		if (i)
			assert_non_null(strstr(told, "127.0.0.1 has no key, and this collector "
						     "takes none without (give it --key, too): "));
		else
			assert_non_null(strstr(told, "127.0.0.1 has none of the keys given here "
						     "(--key): "));
		end();
	}
}

/* A proof that is wrong in its last byte, and the right key's name on another one's proof. */
static void wrong_proof(void **state)
{
	struct secret forged = keys[2];

	(void)state;
	NEEDS_NETWORK();
	begin((struct ingest_options){.secrets = keys, .secret_count = 2});
	memcpy(forged.id, keys[0].id, sizeof(forged.id));
	send_beacon(1, &forged, NULL);
	check_counts(0, 0, 1);
	forged = keys[0];
	memcpy(forged.id, keys[2].id, sizeof(forged.id));
	send_beacon(1, &forged, NULL);
	check_counts(0, 0, 2);
	end();
}

static struct unproven *unproven_of(uint8_t name)
{
	for (unsigned i = 0; i < UNPROVEN_MAX; i++)
		if (ingest->unproven[i].since_ms && ingest->unproven[i].agent[0] == name)
			return &ingest->unproven[i];
	return NULL;
}

/* A paired agent has a beacon for each collector: it is a stranger when none has been for us for
 * 2.5 s. */
static void paired_with_others(void **state)
{
	struct unproven *u;

	(void)state;
	NEEDS_NETWORK();
	begin((struct ingest_options){.secrets = keys, .secret_count = 2, .paired = true});
	send_beacon(1, &keys[0], NULL);
	assert_true(was_probed(&keys[0]));
	send_beacon(1, &keys[0], nonce);
	assert_int_equal(ingest->peer_count, 1);
	told[0] = 0;
	send_beacon(1, &keys[2], NULL); /* it is known */
	assert_null(unproven_of(1));
	for (uint8_t name = 2; name < 2 + UNPROVEN_MAX; name++) {
		send_beacon(name, &keys[2], NULL);
		u = unproven_of(name);
		assert_non_null(u);
		assert_true(u == &ingest->unproven[name - 2]);
		assert_true(u->since_ms + 2000 > loop.time);
	}
	ingest->unproven[5].since_ms = 5; /* the oldest one gives way */
	send_beacon(20, &keys[2], NULL);
	assert_ptr_equal(unproven_of(20), &ingest->unproven[5]);
	u = unproven_of(4);
	u->since_ms = loop.time - 1500;
	send_beacon(4, &keys[2], NULL);
	assert_null(strstr(told, "warning"));
	u->since_ms = loop.time - UNPROVEN_MS - 1;
	send_beacon(4, &keys[2], NULL);
	assert_non_null(strstr(told, "127.0.0.1 has a key that this collector has not ('collector "
				     "pair' makes one for both): "));
	check_counts(2, 0, 12);
	/* those without a key are taken, too */
	send_beacon(30, NULL, NULL);
	check_counts(3, 0, 12);
	assert_int_equal(ingest->peer_count, 2);
	end();
}

static void paired_only(void **state)
{
	(void)state;
	NEEDS_NETWORK();
	begin((struct ingest_options){
		.secrets = keys, .secret_count = 1, .paired = true, .paired_only = true});
	send_beacon(1, NULL, NULL);
	check_counts(0, 0, 1);
	assert_non_null(strstr(told, "127.0.0.1 is not paired, and --paired-only takes no other "
				     "('collector pair' here and 'agent pair CODE' there make a "
				     "key): "));
	end();
	begin((struct ingest_options){.paired = true}); /* with nobody so far */
	send_beacon(1, &keys[2], NULL);
	check_counts(0, 0, 1);
	assert_non_null(strstr(told, "127.0.0.1 talks only to collectors with its key"));
	end();
}

/* What is no beacon: of agents that wait for pairing, and of other collectors, nothing is said. */
static void other_datagrams(void **state)
{
	static const uint8_t pairing[] = {0x08, 0xc1, 0xa0, 0x8d, 0xc2, 0x04, 0x10};
	uint8_t packed[DISCOVERY_BEACON_MAX + 100] = {0x80};
	Heapcast__Probe probe = HEAPCAST__PROBE__INIT;

	(void)state;
	NEEDS_NETWORK();
	begin((struct ingest_options){0});
	send_bytes(pairing, sizeof(pairing));
	check_counts(0, 0, 0);
	send_bytes(pairing, sizeof(pairing) - 1); /* is nothing yet */
	check_counts(0, 1, 0);
	send_bytes(pairing + 1, sizeof(pairing) - 1);
	check_counts(0, 2, 0);
	probe.magic = DISCOVERY_PROBE_MAGIC;
	send_bytes(packed, heapcast__probe__pack(&probe, packed));
	check_counts(0, 2, 0);
	probe.magic++;
	send_bytes(packed, heapcast__probe__pack(&probe, packed));
	check_counts(0, 3, 0);
	memset(packed, 0, sizeof(packed));
	send_bytes(packed, sizeof(packed)); /* longer than any */
	check_counts(0, 4, 0);
	assert_int_equal(ingest->peer_count, 0);
	end();
}

/* How it says where it listens, and what it waits for when it stops. */
static void sockets(void **state)
{
	struct sockaddr_in6 taken = {.sin6_family = AF_INET6,
				     .sin6_port = htons(DISCOVERY_UDP_PORT)};
	unsigned before, open = 0;
	struct ingest *other = NULL;
	struct err_text err = {0};
	int fd;

	(void)state;
	NEEDS_NETWORK();
	still_begin((struct ingest_options){0});
	before = ingest->pending;
	assert_null(strstr(ingest->where, "beacons"));
	still_end();
	begin((struct ingest_options){0});
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		open += ingest->net.fd[i] >= 0;
	assert_true(open > 0);
	assert_int_equal(ingest->pending, before + open);
	assert_string_equal(ingest->where, ingest->net.fd[DISCOVERY_SIX_ALL] < 0
						   ? "UDP port 43513 for beacons (IPv4 only)"
						   : "UDP port 43513 for beacons");
	end();
	begin((struct ingest_options){.interface = "lo"});
	assert_non_null(strstr(ingest->where, " from the networks of lo"));
	end();
	/* the port is another program's */
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&taken, sizeof(taken)) < 0)
		skip();
	still_begin((struct ingest_options){0});
	assert_int_equal(ingest_start(&loop, store,
				      &(struct ingest_options){.listen = "off", .discover = true},
				      &other, &err),
			 -EADDRINUSE);
	assert_non_null(strstr(err.text, "agents can't be found here; name them (collector gather "
					 "HOST:PORT --no-discovery)"));
	close(fd);
	still_opened--;
	still_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(without_keys), TEST_IN_FOLDER(with_keys),
		TEST_IN_FOLDER(wrong_proof),  TEST_IN_FOLDER(paired_with_others),
		TEST_IN_FOLDER(paired_only),  TEST_IN_FOLDER(other_datagrams),
		TEST_IN_FOLDER(sockets),
	};

	static const char *const names[] = {"one", "two", "three"};

	own_network = own_network_enter();
	if (!own_network) {
		puts("SKIPPED: no network namespace of our own (not root?)");
		return 77;
	}
	for (uint8_t i = 0; i < 3; i++)
		if (secret_make((uint8_t[SECRET_KEY_MIN]){i + 1}, SECRET_KEY_MIN, names[i],
				&keys[i]) < 0)
			return 77; /* without TLS */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
