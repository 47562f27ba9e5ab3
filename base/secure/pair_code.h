#pragma once
/*
 * The code that is pasted once, so that an agent and a collector get a key of their own
 * (docs/security.md): 128 random bits as 26 letters and digits of base32 (RFC 4648, 6), without
 * padding.
 *
 *   128 bits | 00  ->  26 * 5 bits  ->  "MFRGGZDFMZTWQ2LKNNWG23TPOA"
 *
 * What comes of it is a secret like that of a key file, of which neither its id nor anything that
 * travels tells the code. It is the key of one conversation (proto/pairing.h), and nothing else is
 * ever encrypted or proven by it.
 */
#include "base/secure/secret.h"

#define PAIR_CODE_LETTERS 26

/* A new one. 0; -EIO: no random numbers to be had. */
int pair_code_make(char ret_code[PAIR_CODE_LETTERS + 1]);
/* Of `length` bytes of text: small letters are as good, blanks and dashes do not count. 0; -EINVAL,
 * with a sentence that does not show the code; -ENOTSUP with a sentence: built without TLS, or
 * OpenSSL is not to be had. */
int pair_code_secret(const char *text, size_t length, struct secret *ret_secret,
		     struct err_text *err);
