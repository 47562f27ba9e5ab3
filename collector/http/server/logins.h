#pragma once
/*
 * Browsers that have shown the token on the login page. Each has a value of its own in a cookie,
 * 128 random bits that tell nothing of the token; it holds for 12 hours, and no longer than this
 * process lives.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/secure/pair_code.h"

#define LOGIN_TEXT    (PAIR_CODE_LETTERS + 1)
#define LOGIN_SECONDS (12 * 3600)
#define LOGINS_MAX    64 /* the oldest gives way */

struct logins {
	struct login {
		char value[LOGIN_TEXT]; /* empty: none */
		uint64_t until_ms;
	} list[LOGINS_MAX];
};

/* A new one. 0; -EIO: no random numbers. */
int logins_add(struct logins *logins, uint64_t now_ms, char ret_value[LOGIN_TEXT]);
/* How long that takes tells nothing of those that there are. */
bool logins_know(const struct logins *logins, const char *value, uint64_t now_ms);
void logins_remove(struct logins *logins, const char *value);
