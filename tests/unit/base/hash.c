/* Keys of hashes: random where the kernel has random numbers, and never the same for all where it
 * has none yet. Its answers are this test's. */
#include "base/hash.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include <cmocka.h>

static ssize_t given; /* how many bytes the kernel has; below 0: an error */
static unsigned flags_seen;

ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
	flags_seen = flags;
	if (given < 0) {
		errno = EAGAIN;
		return -1;
	}
	length = length < (size_t)given ? length : (size_t)given;
	memset(buffer, 0x42, length);
	return (ssize_t)length;
}

static void of_the_kernel(void **state)
{
	struct hash_key key = {{0}};

	(void)state;
	given = sizeof(key.word);
	hash_key_choose(&key);
	assert_true(flags_seen & GRND_NONBLOCK); /* at boot nothing may wait */
	assert_true(key.word[0] == 0x4242424242424242);
	assert_true(key.word[1] == 0x4242424242424243); /* odd: it multiplies */
}

static void of_addresses(void **state)
{
	static const ssize_t too_few[] = {-1, 0, sizeof(uint64_t)};
	struct hash_key keys[2] = {{{0}}};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		given = too_few[i];
		hash_key_choose(&keys[0]);
		hash_key_choose(&keys[1]);
		assert_true(keys[0].word[0] != keys[1].word[0]);
		for (unsigned k = 0; k < 2; k++) {
			assert_true(keys[k].word[0] >> 32 && (uint32_t)keys[k].word[0]);
			assert_true(keys[k].word[1] >> 32 && (uint32_t)keys[k].word[1]);
			assert_true(keys[k].word[0] != 0x4242424242424242);
			assert_true(keys[k].word[1] & 1);
		}
		assert_true(hash_bytes(&keys[0], "x", 1) != hash_bytes(&keys[1], "x", 1));
	}
}

/* The same whether the compiler has numbers of 128 bits or not: as Python computes it, of words in
 * both orders of bytes. */
static void known_values(void **state)
{
	static const struct hash_key key = {{0x0123456789abcdef, 0xfedcba9876543211}};
	static const struct {
		const char *text;
		uint64_t little, big;
	} rows[] = {
		{"", 0x44b0b83e835dffde, 0x44b0b83e835dffde},
		{"a", 0x2073e7e7d24229dd, 0x2073e7e7d24229dd},
		{"12345678", 0x5b9d60da09625655, 0x190f97a43a1b1fb6},
		{"123456789abcdef0123", 0xa41db025fdc2e286, 0x95c47cbfce4f90f6},
	};
	const uint16_t one = 1;
	bool little = *(const uint8_t *)&one;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_true(hash_bytes(&key, rows[i].text, strlen(rows[i].text)) ==
			    (little ? rows[i].little : rows[i].big));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_kernel),
		cmocka_unit_test(of_addresses),
		cmocka_unit_test(known_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
