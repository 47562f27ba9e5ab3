/* Proofs of datagrams: each byte of them counts, and what is no proof is none. */
#include "proto/discovery_proof.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct secret ours = {.key = "sixteen bytes or more", .key_length = 21, .id = "ours..."};
static struct secret other = {
	.key = "another one of such a kind", .key_length = 26, .id = "ours..!"};

static void each_byte_counts(void **state)
{
	static const uint8_t tags[] = {[DISCOVERY_BEACON] = 0x42, [DISCOVERY_PROBE] = 0x32};

	(void)state;
	for (enum discovery_kind kind = DISCOVERY_BEACON; kind <= DISCOVERY_PROBE; kind++) {
		uint8_t data[10 + DISCOVERY_PROOF_SIZE + 1] = "a message", mac[SECRET_MAC_SIZE];
		size_t length = 10 + DISCOVERY_PROOF_SIZE;

		assert_int_equal(discovery_prove(&ours, kind, data, 10), length);
		assert_int_equal(length, 44);
		assert_string_equal(data, "a message");
		assert_int_equal(data[10], tags[kind]);
		assert_int_equal(data[11], 32);
		secret_mac(&ours, kind == DISCOVERY_PROBE ? "probe" : "beacon", data, 10, mac);
		assert_memory_equal(data + 12, mac, sizeof(mac));
		assert_int_equal(data[length], 0);
		assert_true(discovery_proven(&ours, kind, data, length));
		assert_false(discovery_proven(&other, kind, data, length));
		assert_false(discovery_proven(&ours, !kind, data, length));
		for (size_t bit = 0; bit < 8 * length; bit++) {
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(discovery_proven(&ours, kind, data, length));
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert_false(discovery_proven(&ours, kind, data, length + 1));
		assert_false(discovery_proven(&ours, kind, data + 1, length - 1));
	}
}

/* A proof of nothing is none: there is no datagram without a message. */
static void a_message_belongs_to_it(void **state)
{
	uint8_t data[DISCOVERY_PROOF_SIZE + 1] = {0};

	(void)state;
	assert_int_equal(discovery_prove(&ours, DISCOVERY_BEACON, data, 0), DISCOVERY_PROOF_SIZE);
	assert_false(discovery_proven(&ours, DISCOVERY_BEACON, data, DISCOVERY_PROOF_SIZE));
	data[0] = 'x';
	assert_int_equal(discovery_prove(&ours, DISCOVERY_BEACON, data, 1), sizeof(data));
	assert_true(discovery_proven(&ours, DISCOVERY_BEACON, data, sizeof(data)));
}

static void ids_are_compared(void **state)
{
	uint8_t id[SECRET_ID_SIZE + 1] = "ours...";

	(void)state;
	assert_true(discovery_names(&ours, id, SECRET_ID_SIZE));
	assert_false(discovery_names(&ours, id, SECRET_ID_SIZE - 1));
	assert_false(discovery_names(&ours, id, SECRET_ID_SIZE + 1));
	assert_false(discovery_names(&ours, id, 0));
	assert_false(discovery_names(&other, id, SECRET_ID_SIZE));
	id[SECRET_ID_SIZE - 1] ^= 1;
	assert_false(discovery_names(&ours, id, SECRET_ID_SIZE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_counts),
		cmocka_unit_test(a_message_belongs_to_it),
		cmocka_unit_test(ids_are_compared),
	};
	uint8_t mac[SECRET_MAC_SIZE];

	if (secret_mac(&ours, "x", "", 0, mac) == -ENOTSUP) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
