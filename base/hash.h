#pragma once
/*
 * A keyed hash of untrusted bytes. The sender of the bytes does not know the key, so it cannot
 * construct collisions. The hash uses folded multiplications like wyhash, but with a random key in
 * place of constants. Equal keys give equal hashes.
 */
#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t word[2];
};

void hash_key_choose(struct hash_key *key);
/* A small table should use the high half of the result, which is mixed better. */
uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t length);
