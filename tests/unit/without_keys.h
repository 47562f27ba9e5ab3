#pragma once
/* Skips one test of keys in a build without OpenSSL, which can't make any. */
#include <errno.h>
#include <stdio.h>

#include "base/secure/pair_code.h"

static inline void skip_without_keys(void)
{
	static const char code[] = "ABCDEFGHIJKLMNOPQRSTUVWXYA";
	struct secret secret;

	if (pair_code_secret(code, sizeof(code) - 1, &secret, NULL) != -ENOTSUP)
		return;
	puts("SKIPPED: this build has no OpenSSL");
	skip();
}
