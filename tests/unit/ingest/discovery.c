/*
 * Beacons, and the ports that are listened on. The program runs in a network namespace of its own
 * where that is allowed, so that no beacon or port of another program is in the way.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "collector/catalogue/store.h"
#include "collector/ingest/state.h"
#include "proto/discovery.h"
#include "tests/unit/ingest/support/peers.h"
#include "tests/unit/own_network.h"
#include "tests/unit/temporary.h"

static bool own_network;

static void beacons_are_checked(void **state)
{
	Heapcast__Beacon beacon = HEAPCAST__BEACON__INIT;
	uint8_t id[STREAM_ID_SIZE] = {1}, packed[DISCOVERY_BEACON_MAX + 100];
	struct beacon_seen seen;
	size_t length;

	(void)state;
	beacon.magic = DISCOVERY_BEACON_MAGIC;
	beacon.protocol = 1;
	beacon.agent = builder_bytes(id, sizeof(id));
	beacon.port = 8100;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, &seen), 0);
	assert_int_equal(seen.port, 8100);
	assert_int_equal(seen.sequence, 0);
	assert_false(seen.keyed || seen.answers);
	for (size_t i = 0; i < length; i++)
		beacon_parse(packed, i, &seen);
	beacon.port = 65536;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, &seen), -EBADMSG);
	beacon.port = 1;
	beacon.agent.len = 15;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, &seen), -EBADMSG);
	beacon.agent.len = 16;
	beacon.magic = 1;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, &seen), -EBADMSG);
	beacon.magic = DISCOVERY_BEACON_MAGIC;
	beacon.key_id = builder_bytes(id, SECRET_ID_SIZE); /* and nothing that proves it */
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, &seen), -EBADMSG);
	beacon.key_id.len = 0;
	beacon.nonce = builder_bytes(id, DISCOVERY_NONCE_SIZE - 1);
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, &seen), -EBADMSG);
	beacon.nonce.len++;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, &seen), 0);
	assert_true(seen.answers);
	assert_int_equal(beacon_parse(packed, DISCOVERY_BEACON_MAX + 1, &seen), -EBADMSG);
	/* as long as any may be, by a field of a later version; and by another protocol */
	for (size_t size = DISCOVERY_BEACON_MAX; size <= DISCOVERY_BEACON_MAX + 1; size++) {
		size_t rest = size - length - 3;

		packed[length] = 15 << 3 | 2;
		packed[length + 1] = (uint8_t)(0x80 | (rest & 0x7f));
		packed[length + 2] = (uint8_t)(rest >> 7);
		memset(packed + length + 3, 0, rest);
		assert_int_equal(beacon_parse(packed, size, &seen),
				 size > DISCOVERY_BEACON_MAX ? -EBADMSG : 0);
	}
	beacon.protocol = PROTOCOL_VERSION + 1;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, &seen), -EBADMSG);
}

/* Beacons by two ways, and the same agent dialling in besides: one connection serves. */
static void announce(struct agent *a)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(DISCOVERY_UDP_PORT)};
	Heapcast__Beacon beacon = HEAPCAST__BEACON__INIT;
	uint8_t packed[DISCOVERY_BEACON_MAX];
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1, fd, second;
	size_t length;

	setsockopt(udp, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	beacon.magic = DISCOVERY_BEACON_MAGIC;
	beacon.protocol = 1;
	beacon.agent = builder_bytes(a->id, sizeof(a->id));
	beacon.port = (uint32_t)strtoul(strchr(a->address, ':') + 1, NULL, 10);
	length = heapcast__beacon__pack(&beacon, packed);
	for (unsigned i = 0; i < 3; i++) {
		to.sin_addr.s_addr = inet_addr(i == 1 ? "127.0.0.1" : "127.255.255.255");
		sendto(udp, packed, length, 0, (struct sockaddr *)&to, sizeof(to));
		sendto(udp, "rubbish", 7, 0, (struct sockaddr *)&to, sizeof(to));
	}
	close(udp);
	fd = agent_accept(a);
	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons(a->dial);
	second = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a->failed |= connect(second, (struct sockaddr *)&to, sizeof(to)) < 0;
	agent_greet(a, second, 1);
	while (recv(second, packed, sizeof(packed), 0) > 0) /* greeted and let go, nothing asked */
		;
	close(second);
	agent_frames(a, fd, 0, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void found_by_broadcast(void **state)
{
	struct collector c;
	struct agent a;

	(void)state;
	if (!own_network)
		skip();
	agent_begin(&a, announce);
	collector_begin(&c, temporary_folder, NULL, 0, true, INGEST_STREAM_ENDED, 1);
	a.dial = ingest_port(c.ingest);
	agent_start(&a);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(c.counts[INGEST_FOUND], 1);
	assert_int_equal(c.counts[INGEST_CONNECTED], 1);
	assert_int_equal(a.connections, 1);
	expect_recording(&a, temporary_folder);
	agent_done(&a);
}

static void port_in_use(void **state)
{
	struct ingest_options options = {0};
	struct err_text err = {0};
	struct ingest *ingest;
	struct store *store;
	struct agent a;
	uv_loop_t loop;

	(void)state;
	agent_begin(&a, agent_deliver);
	options.listen = a.address;
	uv_loop_init(&loop);
	assert_int_equal(store_open(temporary_folder, STORE_WRITE, &store, NULL), 0);
	assert_int_equal(ingest_start(&loop, store, &options, &ingest, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "taken by another program"));
	options.listen = "nowhere:1";
	assert_int_equal(ingest_start(&loop, store, &options, &ingest, &err), -EINVAL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	store_close(store);
	close(a.listener);
	builder_done(&a.b);
	message_reader_free(a.messages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(beacons_are_checked),
		TEST_IN_FOLDER(found_by_broadcast),
		TEST_IN_FOLDER(port_in_use),
	};

	own_network = own_network_enter();
	if (!own_network)
		printf("no network namespace of our own (not root?): the test of broadcasts is "
		       "skipped\n");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
