/*
 * How an agent makes itself known: what a collector hears of it, and what it gets for its probe.
 * The program needs a network of its own, since the port of discovery belongs to the whole host.
 */
#include "agent/net/beacon.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/log.h"
#include "heapcast.pb-c.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/own_network.h"
#include "tests/unit/temporary.h"

#define PATIENCE_MS 5000
#define PORT	    8123

static bool own_network;
static uv_loop_t loop;
static struct beacon beacon;
static struct discovery_net desk; /* a collector's sockets */
static uint32_t live;
static unsigned descriptors;
static char log_file[128];
static uint8_t agent_id[STREAM_ID_SIZE] = {0xa1, 0xb2, 0xc3};
static const struct secret secrets[3] = {
	{.key = "sixteen bytes or more", .key_length = 21, .id = "ours..."},
	{.key = "another one of such a kind", .key_length = 26, .id = "other.."},
	{.key = "nobody has this one here", .key_length = 24, .id = "third.."}};
static struct beacon_keys keys;

static uint32_t live_streams(void *context)
{
	assert_ptr_equal(context, &live);
	return live;
}

static int try_open(const char *interface, struct err_text *err)
{
	return beacon_open(&beacon, &loop, interface, &keys, agent_id, PORT, live_streams, &live,
			   err);
}

static unsigned log_count(const char *text)
{
	static char all[8192];
	int fd = open(log_file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, all, sizeof(all) - 1);
	unsigned count = 0;

	if (fd >= 0)
		close(fd);
	all[n > 0 ? n : 0] = '\0';
	for (const char *at = all; (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void begin(void)
{
	struct err_text err = {{0}};

	if (!own_network)
		skip();
	descriptors = descriptors_open();
	uv_loop_init(&loop);
	live = 3;
	assert_int_equal(discovery_net_open(&desk, "lo", 65536, &err), 0);
	if (try_open("lo", &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(log_count("by its beacons only"), 0);
}

static void end(void)
{
	beacon_close(&beacon);
	beacon_close(&beacon); /* has no effect */
	beacon_send(&beacon);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	discovery_net_close(&desk);
	assert_int_equal(descriptors_open(), descriptors);
}

static void turn(void)
{
	for (int i = 0; i < 5; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
}

/* The next datagram that the collector hears, or 0. */
static size_t hear(enum discovery_socket which, uint8_t data[DISCOVERY_BEACON_MAX], int wait_ms)
{
	struct sockaddr_storage from;

	for (int i = 0; i <= wait_ms; i++) {
		int n;

		turn();
		n = discovery_net_receive(&desk, which, data, DISCOVERY_BEACON_MAX, &from);
		if (n > 0)
			return (size_t)n;
		if (n < 0)
			poll(NULL, 0, i < wait_ms);
	}
	return 0;
}

static void expect_silence(enum discovery_socket which)
{
	uint8_t data[DISCOVERY_BEACON_MAX];

	assert_int_equal(hear(which, data, 20), 0);
}

/* The next beacon has this number and is proved by this secret, or by none. */
static void expect_beacon(enum discovery_socket which, uint64_t sequence,
			  const struct secret *secret, const uint8_t *nonce)
{
	uint8_t data[DISCOVERY_BEACON_MAX];
	size_t length = hear(which, data, PATIENCE_MS);
	Heapcast__Beacon *m = heapcast__beacon__unpack(NULL, length, data);

	assert_true(length > 0);
	assert_non_null(m);
	assert_int_equal(m->magic, DISCOVERY_BEACON_MAGIC);
	assert_int_equal(m->protocol, PROTOCOL_VERSION);
	assert_int_equal(m->agent.len, STREAM_ID_SIZE);
	assert_memory_equal(m->agent.data, agent_id, STREAM_ID_SIZE);
	assert_int_equal(m->port, PORT);
	assert_int_equal(m->streams, live);
	assert_int_equal(m->sequence, sequence);
	assert_int_equal(m->nonce.len, nonce ? DISCOVERY_NONCE_SIZE : 0);
	if (nonce)
		assert_memory_equal(m->nonce.data, nonce, DISCOVERY_NONCE_SIZE);
	assert_int_equal(m->key_id.len, secret ? SECRET_ID_SIZE : 0);
	assert_int_equal(m->authentication.len, secret ? SECRET_MAC_SIZE : 0);
	if (secret) {
		assert_true(discovery_names(secret, m->key_id.data, m->key_id.len));
		assert_true(discovery_proven(secret, DISCOVERY_BEACON, data, length));
	}
	heapcast__beacon__free_unpacked(m, NULL);
}

/* Is the system built with what proofs need? */
static bool has_proofs(void)
{
	uint8_t data[100] = {0};

	return discovery_prove(&secrets[0], DISCOVERY_BEACON, data, 10) > 0;
}

static void announces(void **state)
{
	(void)state;
	keys = (struct beacon_keys){0};
	begin();
	assert_int_equal(uv_timer_get_repeat(&beacon.timer), 1000);
	expect_beacon(DISCOVERY_FOUR_ALL, 1, NULL, NULL); /* at once */
	live = 4;
	beacon_send(&beacon);
	expect_beacon(DISCOVERY_FOUR_ALL, 2, NULL, NULL);
	expect_silence(DISCOVERY_FOUR_ALL);
	expect_silence(DISCOVERY_FOUR_OWN); /* nobody has asked */
	uv_timer_set_repeat(&beacon.timer, 5);
	uv_timer_again(&beacon.timer);
	expect_beacon(DISCOVERY_FOUR_ALL, 3, NULL, NULL);
	expect_beacon(DISCOVERY_FOUR_ALL, 4, NULL, NULL);
	end();
}

/* A beacon for each key, and none where there is to be one and is none. */
static void a_beacon_for_each_key(void **state)
{
	(void)state;
	if (!has_proofs())
		skip();
	keys = (struct beacon_keys){.only = true};
	begin();
	expect_silence(DISCOVERY_FOUR_ALL);
	keys = (struct beacon_keys){.secret = secrets, .count = 2, .only = true};
	beacon_send(&beacon);
	expect_beacon(DISCOVERY_FOUR_ALL, 1, &secrets[0], NULL);
	expect_beacon(DISCOVERY_FOUR_ALL, 2, &secrets[1], NULL);
	expect_silence(DISCOVERY_FOUR_ALL);
	keys = (struct beacon_keys){.secret = secrets, .count = 1};
	beacon_send(&beacon);
	expect_beacon(DISCOVERY_FOUR_ALL, 3, &secrets[0], NULL);
	expect_silence(DISCOVERY_FOUR_ALL);
	end();
}

/* A probe with this number in its nonce. */
static void probe(const struct secret *secret, uint8_t number)
{
	static uint8_t zeros[DISCOVERY_BEACON_MAX], id[STREAM_ID_SIZE] = {1};
	uint8_t nonce[DISCOVERY_NONCE_SIZE] = {number}, out[DISCOVERY_BEACON_MAX];
	Heapcast__Probe m = HEAPCAST__PROBE__INIT;
	size_t bare;

	m.magic = DISCOVERY_PROBE_MAGIC;
	m.protocol = PROTOCOL_VERSION;
	m.collector = (ProtobufCBinaryData){sizeof(id), id};
	m.nonce = (ProtobufCBinaryData){sizeof(nonce), nonce};
	if (secret)
		m.key_id = (ProtobufCBinaryData){SECRET_ID_SIZE, (uint8_t *)(uintptr_t)secret->id};
	bare = heapcast__probe__get_packed_size(&m) + (secret ? DISCOVERY_PROOF_SIZE : 0);
	m.padding = (ProtobufCBinaryData){DISCOVERY_PROBE_SIZE - bare - 2, zeros};
	bare = heapcast__probe__pack(&m, out);
	if (secret)
		bare = (size_t)discovery_prove(secret, DISCOVERY_PROBE, out, bare);
	discovery_net_send(&desk, out, bare);
	turn();
}

/* The next second begins: answers are counted anew. */
static void next_second(void)
{
	beacon.limit.second++;
}

static void expect_answer(uint64_t sequence, const struct secret *secret, uint8_t number)
{
	uint8_t nonce[DISCOVERY_NONCE_SIZE] = {number};

	expect_beacon(DISCOVERY_FOUR_OWN, sequence, secret, nonce);
	next_second();
}

static void answers(void **state)
{
	(void)state;
	keys = (struct beacon_keys){0};
	begin();
	expect_beacon(DISCOVERY_FOUR_ALL, 1, NULL, NULL);
	probe(NULL, 77);
	expect_answer(2, NULL, 77);
	expect_silence(DISCOVERY_FOUR_OWN);
	if (has_proofs()) {
		probe(&secrets[0], 78); /* who has no key answers all, without a proof */
		expect_answer(3, NULL, 78);
		keys = (struct beacon_keys){.secret = secrets, .count = 2};
		probe(&secrets[1], 79);
		expect_answer(4, &secrets[1], 79);
		probe(&secrets[0], 80);
		expect_answer(5, &secrets[0], 80);
		probe(&secrets[2], 81); /* a stranger */
		expect_silence(DISCOVERY_FOUR_OWN);
		probe(NULL, 82);
		expect_silence(DISCOVERY_FOUR_OWN);
		keys = (struct beacon_keys){.only = true};
		probe(NULL, 83);
		expect_silence(DISCOVERY_FOUR_OWN);
		assert_int_equal(beacon.sequence, 5);
	}
	end();
}

/* One host gets a few answers a second. */
static void answers_few(void **state)
{
	uint8_t data[DISCOVERY_BEACON_MAX];
	unsigned count = 0;
	uint64_t second;

	(void)state;
	keys = (struct beacon_keys){0};
	begin();
	expect_beacon(DISCOVERY_FOUR_ALL, 1, NULL, NULL);
	do { /* all in one second */
		count = 0;
		while (hear(DISCOVERY_FOUR_OWN, data, 0))
			;
		next_second();
		uv_update_time(&loop);
		second = uv_now(&loop) / DISCOVERY_INTERVAL_MS;
		for (unsigned i = 0; i < 3 * PROBE_EACH; i++)
			probe(NULL, (uint8_t)i);
		count = hear(DISCOVERY_FOUR_OWN, data, PATIENCE_MS) > 0;
		while (hear(DISCOVERY_FOUR_OWN, data, 20))
			count++;
	} while (uv_now(&loop) / DISCOVERY_INTERVAL_MS != second);
	assert_int_equal(count, PROBE_EACH);
	assert_true(beacon.read > 0);
	end();
}

/* A flood is read up to a number, and from the next second on again. */
static void deaf(void **state)
{
	uint8_t data[DISCOVERY_BEACON_MAX];
	uint64_t sequence;

	(void)state;
	keys = (struct beacon_keys){0};
	begin();
	expect_beacon(DISCOVERY_FOUR_ALL, 1, NULL, NULL);
	assert_int_equal(beacon.read, 0);
	for (int i = 0; i < 5000 && !beacon.deaf; i++)
		probe(NULL, 1);
	assert_true(beacon.deaf);
	assert_int_equal(beacon.read, 256);
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		if (beacon.net.fd[i] >= 0)
			assert_false(uv_is_active((uv_handle_t *)&beacon.poll[i]));
	while (hear(DISCOVERY_FOUR_OWN, data, 0) || hear(DISCOVERY_FOUR_ALL, data, 0))
		;
	sequence = beacon.sequence;
	next_second();
	probe(NULL, 2);
	expect_silence(DISCOVERY_FOUR_OWN);
	assert_int_equal(beacon.sequence, sequence);
	uv_timer_set_repeat(&beacon.timer, 5); /* its second is over */
	uv_timer_again(&beacon.timer);
	for (int i = 0; i < PATIENCE_MS && beacon.deaf; i++, poll(NULL, 0, 1))
		turn();
	assert_false(beacon.deaf);
	assert_true(beacon.read < 256);
	uv_timer_set_repeat(&beacon.timer, 100000);
	uv_timer_again(&beacon.timer);
	while (hear(DISCOVERY_FOUR_OWN, data, 0))
		;
	next_second();
	probe(NULL, 3);
	assert_true(hear(DISCOVERY_FOUR_OWN, data, PATIENCE_MS) > 0);
	end();
}

/* Somebody else has the port for himself: nobody is heard there, and the agent is announced. */
static void port_is_taken(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(DISCOVERY_UDP_PORT)};
	struct err_text err = {{0}};
	uint8_t data[DISCOVERY_BEACON_MAX];
	int fd;

	(void)state;
	if (!own_network)
		skip();
	keys = (struct beacon_keys){0};
	descriptors = descriptors_open();
	uv_loop_init(&loop);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(try_open("lo", &err), 0);
	assert_int_equal(log_count("warn  collectors find this agent by its beacons only: "), 1);
	for (int i = 0; i < PATIENCE_MS && recv(fd, data, sizeof(data), 0) <= 0; i++) {
		turn();
		poll(NULL, 0, 1);
	}
	assert_int_equal(beacon.sequence, 1);
	close(fd);
	memset(desk.fd, -1, sizeof(desk.fd));
	end();
}

/* The interface may come later. Until then the agent goes on, with a warning, and sends nothing. */
static void no_interface(void **state)
{
	struct err_text err = {{0}};

	(void)state;
	if (!own_network)
		skip();
	keys = (struct beacon_keys){0};
	descriptors = descriptors_open();
	uv_loop_init(&loop);
	assert_int_equal(discovery_net_open(&desk, "lo", 65536, &err), 0);
	assert_int_equal(try_open("no-such-one", &err), 0);
	assert_int_equal(log_count("by its beacons only: there is no interface 'no-such-one'"), 1);
	expect_silence(DISCOVERY_FOUR_ALL);
	assert_int_equal(beacon.sequence, 1);
	end();
}

/* Without any socket there is no beacon, and nothing is left behind. */
static void no_socket(void **state)
{
	struct rlimit before, now;
	struct err_text err = {{0}};
	int fd, r;

	(void)state;
	if (!own_network)
		skip();
	keys = (struct beacon_keys){0};
	descriptors = descriptors_open();
	uv_loop_init(&loop);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	fd = dup(STDOUT_FILENO);
	close(fd);
	now = before;
	now.rlim_cur = (rlim_t)fd; /* the lowest free one */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	r = try_open("lo", &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r, -EMFILE);
	assert_int_equal(strncmp(err.text, "can't announce by UDP: ", 23), 0);
	assert_true(strlen(err.text) > 23);
	assert_false(beacon.open);
	memset(desk.fd, -1, sizeof(desk.fd));
	end();
}

static int beacon_setup(void **state)
{
	if (temporary_setup(state))
		return -1;
	snprintf(log_file, sizeof(log_file), "%s/log", temporary_folder);
	return log_open("info", log_file);
}

static int beacon_teardown(void **state)
{
	log_open("error", NULL);
	return temporary_teardown(state);
}

#define TEST_OF_BEACON(name) cmocka_unit_test_setup_teardown(name, beacon_setup, beacon_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_BEACON(announces),    TEST_OF_BEACON(a_beacon_for_each_key),
		TEST_OF_BEACON(answers),      TEST_OF_BEACON(answers_few),
		TEST_OF_BEACON(deaf),	      TEST_OF_BEACON(port_is_taken),
		TEST_OF_BEACON(no_interface), TEST_OF_BEACON(no_socket),
	};
	uv_loop_t first;

	own_network = own_network_enter();
	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
