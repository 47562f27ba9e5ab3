#pragma once
/*
 * A hash of bytes that come from outside: whoever makes them does not know the key, and so not
 * which ones collide (folded multiplications, as of wyhash, under keys that are random instead of
 * constants). The same key gives the same hash.
 */
#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t word[2];
};

void hash_key_choose(struct hash_key *key);
/* Its high half is the better one for a table of few bits. */
uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t length);
