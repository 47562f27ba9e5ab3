/* Which probes an agent answers, and how many; and that no answer is larger than what asked for
 * it. */
#include "agent/net/probe.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "heapcast.pb-c.h"
#include "proto/discovery_proof.h"

static const struct secret ours = {
	.key = "sixteen bytes or more", .key_length = 21, .id = "ours..."};
static const struct secret other = {
	.key = "another one of such a kind", .key_length = 26, .id = "other.."};

/* A probe of this length; its real one is returned. */
static size_t probe(uint8_t *out, const struct secret *secret, size_t length)
{
	static uint8_t zeros[1024], id[STREAM_ID_SIZE] = {1}, nonce[DISCOVERY_NONCE_SIZE] = {2};
	Heapcast__Probe m = HEAPCAST__PROBE__INIT;
	size_t bare;

	m.magic = DISCOVERY_PROBE_MAGIC;
	m.protocol = PROTOCOL_VERSION;
	m.collector = (ProtobufCBinaryData){sizeof(id), id};
	m.nonce = (ProtobufCBinaryData){sizeof(nonce), nonce};
	if (secret)
		m.key_id = (ProtobufCBinaryData){SECRET_ID_SIZE, (uint8_t *)(uintptr_t)secret->id};
	bare = heapcast__probe__get_packed_size(&m) + (secret ? DISCOVERY_PROOF_SIZE : 0);
	m.padding = (ProtobufCBinaryData){length - bare - (length - bare - 2 > 127 ? 3 : 2), zeros};
	bare = heapcast__probe__pack(&m, out);
	return secret ? (size_t)discovery_prove(secret, DISCOVERY_PROBE, out, bare) : bare;
}

static void probes_are_checked(void **state)
{
	uint8_t out[1024], nonce[DISCOVERY_NONCE_SIZE] = {0};
	size_t length = probe(out, NULL, DISCOVERY_PROBE_SIZE);

	(void)state;
	assert_int_equal(length, DISCOVERY_PROBE_SIZE);
	assert_int_equal(probe_parse(NULL, out, length, nonce), 0);
	assert_int_equal(nonce[0], 2);
	assert_int_equal(probe_parse(&ours, out, length, nonce), -EACCES);
	for (size_t i = 0; i < length; i++)
		assert_int_equal(probe_parse(NULL, out, i, nonce), -EBADMSG);
	length = probe(out, NULL, DISCOVERY_PROBE_SIZE - 1);
	assert_int_equal(probe_parse(NULL, out, length, nonce), -EBADMSG);
	length = probe(out, NULL, DISCOVERY_BEACON_MAX + 1);
	assert_int_equal(probe_parse(NULL, out, length, nonce), -EBADMSG);
	out[1] ^= 1; /* the magic */
	length = probe(out, NULL, DISCOVERY_PROBE_SIZE);
	out[1] ^= 1;
	assert_int_equal(probe_parse(NULL, out, length, nonce), -EBADMSG);
}

static void only_the_key_counts(void **state)
{
	uint8_t out[1024], nonce[DISCOVERY_NONCE_SIZE];
	size_t length = probe(out, &ours, DISCOVERY_PROBE_SIZE);

	(void)state;
	if ((int)length == -ENOTSUP)
		skip();
	assert_int_equal(length, DISCOVERY_PROBE_SIZE);
	assert_int_equal(probe_parse(&ours, out, length, nonce), 0);
	assert_int_equal(probe_parse(&other, out, length, nonce), -EACCES);
	assert_int_equal(probe_parse(NULL, out, length, nonce), 0); /* who has none answers all */
	for (size_t i = 0; i < length; i++) {
		out[i] ^= 4;
		assert_true(probe_parse(&ours, out, length, nonce) < 0);
		out[i] ^= 4;
	}
	out[length - DISCOVERY_PROOF_SIZE] = 0; /* the proof has to be the last field */
	assert_true(probe_parse(&ours, out, length, nonce) < 0);
}

static void the_largest_answer_is_no_larger(void **state)
{
	static uint8_t bytes[32];
	Heapcast__Beacon m = HEAPCAST__BEACON__INIT;

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	m.magic = DISCOVERY_BEACON_MAGIC;
	m.protocol = PROTOCOL_VERSION;
	m.agent = (ProtobufCBinaryData){STREAM_ID_SIZE, bytes};
	m.port = UINT16_MAX;
	m.sequence = UINT64_MAX;
	m.streams = UINT32_MAX;
	m.key_id = (ProtobufCBinaryData){SECRET_ID_SIZE, bytes};
	m.nonce = (ProtobufCBinaryData){DISCOVERY_NONCE_SIZE, bytes};
	assert_true(heapcast__beacon__get_packed_size(&m) + DISCOVERY_PROOF_SIZE <=
		    DISCOVERY_PROBE_SIZE);
}

static struct sockaddr_storage host(uint32_t number)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(0x0a000000 + number)};
	struct sockaddr_storage s = {0};

	memcpy(&s, &in, sizeof(in));
	return s;
}

static void answers_are_few(void **state)
{
	struct probe_limit limit = {0};
	struct sockaddr_storage six = {.ss_family = AF_INET6}, one = host(0);
	unsigned answers = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		answers += probe_allowed(&limit, &one, 5);
	assert_int_equal(answers, PROBE_EACH);
	for (uint32_t i = 0; i < 10000; i++) {
		struct sockaddr_storage from = host(i % 1000);

		answers += probe_allowed(&limit, &from, 5);
	}
	assert_int_equal(answers, PROBE_EACH * PROBE_SOURCES);
	assert_false(probe_allowed(&limit, &six, 5));
	assert_true(probe_allowed(&limit, &six, 6)); /* another second */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probes_are_checked),
		cmocka_unit_test(only_the_key_counts),
		cmocka_unit_test(the_largest_answer_is_no_larger),
		cmocka_unit_test(answers_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
