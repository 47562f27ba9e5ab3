/* A keyed hash. hash.h describes the interface. */
#include "base/hash.h"

#include <string.h>
#include <sys/random.h>

#include "base/ban.h"

/* Multiplies two words and folds both halves of the 128-bit product into one word. */
#ifdef __SIZEOF_INT128__
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}
#else
static uint64_t fold(uint64_t a, uint64_t b)
{
	uint64_t low = (uint32_t)a * (uint64_t)(uint32_t)b, first = (a >> 32) * (uint32_t)b,
		 second = (uint32_t)a * (b >> 32), high = (a >> 32) * (b >> 32),
		 middle = (low >> 32) + (uint32_t)first + (uint32_t)second;

	high += (first >> 32) + (second >> 32) + (middle >> 32);
	return (middle << 32 | (uint32_t)low) ^ high;
}
#endif

/*
 * During early boot the kernel may have no random numbers yet. The key then comes from addresses,
 * which ASLR varies.
 */
void hash_key_choose(struct hash_key *key)
{
	if (getrandom(key->word, sizeof(key->word), GRND_NONBLOCK) != (ssize_t)sizeof(key->word)) {
		key->word[0] = 0x9e3779b97f4a7c15u ^ (uintptr_t)key;
		key->word[1] = 0xbf58476d1ce4e5b9u ^ (uintptr_t)&key << 16;
	}
	key->word[1] |= 1;
}

/* Consumes eight bytes per step, because the names to be hashed are long and numerous. */
uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t length)
{
	const uint64_t *k = key->word;
	uint64_t hash = k[0] ^ length, word = 0;
	const uint8_t *p = data;

	for (; length >= sizeof(word); p += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = fold(hash ^ k[1], word ^ k[0]);
	}
	word = 0;
	if (length)
		memcpy(&word, p, length);
	hash = fold(hash ^ k[1], word ^ k[0]);
	return fold(hash ^ k[0], k[1]);
}
