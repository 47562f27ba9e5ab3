#pragma once
/*
 * The browsers that have logged in with the token. Each one has its own cookie value: 128 random
 * bits, independent of the token. A login expires after 12 hours, or when this process ends.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/secure/pair_code.h"

#define LOGIN_TEXT    (PAIR_CODE_LETTERS + 1)
#define LOGIN_SECONDS (12 * 3600)
#define LOGINS_MAX    64 /* the oldest is evicted */

struct logins {
	struct login {
		char value[LOGIN_TEXT]; /* "": a free slot */
		uint64_t until_ms;
	} list[LOGINS_MAX];
};

/* Adds a login. Returns 0, or -EIO if the system has no random numbers. */
int logins_add(struct logins *logins, uint64_t now_ms, char ret_value[LOGIN_TEXT]);
/* Tells whether a login is valid, in constant time. */
bool logins_know(const struct logins *logins, const char *value, uint64_t now_ms);
void logins_remove(struct logins *logins, const char *value);
