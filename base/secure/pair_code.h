#pragma once
/*
 * The pairing code that a person pastes once, so that an agent and a collector can agree on a key
 * of their own (docs/security.md). A code is 128 random bits as 26 letters and digits of base32
 * (RFC 4648, 6), without padding.
 *
 *   128 bits | 00  ->  26 * 5 bits  ->  "MFRGGZDFMZTWQ2LKNNWG23TPOA"
 *
 * A code yields a secret like that of a key file. Neither the id of the secret nor anything on the
 * wire reveals the code. The code is the key of one conversation (proto/pairing.h) and of nothing
 * else.
 */
#include "base/secure/secret.h"

#define PAIR_CODE_LETTERS 26

/* Makes a new code. Returns 0, or -EIO if no random numbers are available. */
int pair_code_make(char ret_code[PAIR_CODE_LETTERS + 1]);
/*
 * Derives the secret from a code in `length` bytes of text. Case, blanks and dashes do not matter.
 * Returns 0; -EINVAL, with a sentence that does not reveal the code; or -ENOTSUP, with a sentence,
 * if TLS is not built in or OpenSSL cannot be loaded.
 */
int pair_code_secret(const char *text, size_t length, struct secret *ret_secret,
		     struct err_text *err);
