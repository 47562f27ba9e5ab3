/*
 * When a collector asks who is there: at once, then with growing pauses, and from the start again
 * when its addresses change. In a network namespace of the program's own, by the real sockets.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "collector/ingest/state.h"
#include "tests/unit/own_network.h"

static bool own_network;

/* Sets the address of the loopback interface. */
static void move_to(const char *address)
{
	struct ifreq lo = {.ifr_name = "lo"};
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &at.sin_addr);
	memcpy(&lo.ifr_addr, &at, sizeof(at));
	assert_int_equal(ioctl(fd, SIOCSIFADDR, &lo), 0);
	close(fd);
}

static void begin(struct ingest *ingest, uv_loop_t *loop)
{
	struct err_text err = {{0}};

	memset(ingest, 0, sizeof(*ingest));
	uv_loop_init(loop);
	ingest->loop = loop;
	if (discovery_net_open(&ingest->net, "lo", 0, &err) < 0)
		fail_msg("%s", err.text);
	ingest->has_udp = true;
}

static void end(struct ingest *ingest)
{
	discovery_net_close(&ingest->net);
	assert_int_equal(uv_loop_close(ingest->loop), 0);
}

/* Number of probes that a tick at this time has sent. The nonce of the last one is kept. */
static unsigned probes_at(struct ingest *ingest, uint64_t now_ms,
			  uint8_t nonce[DISCOVERY_NONCE_SIZE])
{
	uint8_t packed[DISCOVERY_BEACON_MAX];
	struct sockaddr_storage from;
	unsigned count = 0;
	int n;

	probe_tick(ingest, now_ms);
	while ((n = discovery_net_receive(&ingest->net, DISCOVERY_FOUR_ALL, packed, sizeof(packed),
					  &from)) > 0) {
		Heapcast__Probe *m = heapcast__probe__unpack(NULL, (size_t)n, packed);

		assert_int_equal(n, DISCOVERY_PROBE_SIZE);
		assert_non_null(m);
		assert_int_equal(m->magic, DISCOVERY_PROBE_MAGIC);
		assert_int_equal(m->protocol, PROTOCOL_VERSION);
		assert_int_equal(m->nonce.len, DISCOVERY_NONCE_SIZE);
		memcpy(nonce, m->nonce.data, DISCOVERY_NONCE_SIZE);
		heapcast__probe__free_unpacked(m, NULL);
		count++;
	}
	return count;
}

/* A probe at this moment, and none a moment before it. */
static void expect_next(struct ingest *ingest, uint64_t at_ms)
{
	uint8_t nonce[DISCOVERY_NONCE_SIZE];

	assert_int_equal(probes_at(ingest, at_ms - 1, nonce), 0);
	assert_int_equal(probes_at(ingest, at_ms, nonce), 1);
}

static void pauses(void **state)
{
	uint64_t now = 50000, pause = 250;
	uint8_t nonce[DISCOVERY_NONCE_SIZE];
	struct ingest ingest;
	uv_loop_t loop;

	(void)state;
	if (!own_network)
		skip();
	begin(&ingest, &loop);
	assert_int_equal(probes_at(&ingest, now, nonce), 1);
	for (unsigned i = 0; i < 9; i++) {
		now += pause;
		expect_next(&ingest, now);
		pause = pause < 5000 ? 2 * pause : 10000;
	}
	move_to("127.0.0.5");
	now += 1000; /* is noticed in a second at most */
	assert_int_equal(probes_at(&ingest, now, nonce), 1);
	expect_next(&ingest, now + 250);
	expect_next(&ingest, now + 750);
	move_to("127.0.0.1");
	ingest.has_udp = false;
	assert_int_equal(probes_at(&ingest, now + 100000, nonce), 0);
	end(&ingest);
}

/* A nonce serves for a second, and its answers are fresh for some. */
static void nonces(void **state)
{
	uint8_t first[DISCOVERY_NONCE_SIZE], second[DISCOVERY_NONCE_SIZE];
	struct ingest ingest;
	uv_loop_t loop;
	uint64_t now;

	(void)state;
	if (!own_network)
		skip();
	begin(&ingest, &loop);
	memset(first, 0, sizeof(first));
	assert_false(probe_is_fresh(&ingest, first));
	now = uv_now(&loop) + 1;
	assert_int_equal(probes_at(&ingest, now, first), 1);
	assert_int_equal(probes_at(&ingest, now + 250, second), 1);
	assert_memory_equal(first, second, sizeof(first));
	assert_int_equal(probes_at(&ingest, now + 1000, second), 1);
	assert_memory_not_equal(first, second, sizeof(first));
	ingest.prober.nonce[ingest.prober.last].sent_ms = uv_now(&loop);
	assert_true(probe_is_fresh(&ingest, second));
	second[0] ^= 1;
	assert_false(probe_is_fresh(&ingest, second));
	second[0] ^= 1;
	ingest.prober.nonce[ingest.prober.last].sent_ms = uv_now(&loop) - FRESH_MS + 1;
	assert_true(probe_is_fresh(&ingest, second));
	ingest.prober.nonce[ingest.prober.last].sent_ms = uv_now(&loop) - FRESH_MS;
	assert_false(probe_is_fresh(&ingest, second));
	end(&ingest);
}

/* Soon means within a second, and no later than it was due. */
static void soon(void **state)
{
	uint8_t nonce[DISCOVERY_NONCE_SIZE];
	struct ingest ingest;
	uv_loop_t loop;
	uint64_t now;

	(void)state;
	if (!own_network)
		skip();
	begin(&ingest, &loop);
	now = uv_now(&loop);
	assert_int_equal(probes_at(&ingest, now, nonce), 1);
	probe_soon(&ingest); /* it was due sooner */
	expect_next(&ingest, now + 250);
	expect_next(&ingest, now + 750);
	expect_next(&ingest, now + 1750);
	probe_soon(&ingest); /* for the loop no time has passed */
	expect_next(&ingest, now + 700);
	end(&ingest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses),
		cmocka_unit_test(nonces),
		cmocka_unit_test(soon),
	};

	own_network = own_network_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
