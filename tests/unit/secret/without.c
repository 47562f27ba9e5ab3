/* Keys where OpenSSL is missing: a good one is refused with the reason, and a bad one for what is
 * wrong with it. This program is linked with the proofs of a build without it. */
#include "base/secure/secret.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/secure/pair_code.h"
#include "tests/unit/temporary.h"

#define HEX16 "000102030405060708090a0b0c0d0e0f"

static char path[128];

static const char *file(const char *text)
{
	FILE *f;

	snprintf(path, sizeof(path), "%s/key", temporary_folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, 0600), 0);
	return path;
}

static void keys_are_refused(void **state)
{
	struct secret s = {.key_length = 7};
	struct err_text err = {0};

	(void)state;
	assert_int_equal(secret_read(file(HEX16), &s, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "no OpenSSL"));
	assert_non_null(strstr(err.text, path));
	assert_int_equal(secret_read(file("0x"), &s, &err), -EINVAL);
	assert_non_null(strstr(err.text, "line 1"));
	assert_int_equal(secret_make("0123456789abcdef", 16, "x", &s), -ENOTSUP);
	assert_int_equal(s.key_length, 7); /* written on success only */
}

static void proofs_are_refused(void **state)
{
	struct secret s = {.key_length = SECRET_KEY_MIN};
	uint8_t mac[SECRET_MAC_SIZE];

	(void)state;
	assert_int_equal(secret_mac(&s, "beacon", "", 0, mac), -ENOTSUP);
}

static void codes_are_refused(void **state)
{
	char code[PAIR_CODE_LETTERS + 1];
	struct secret s = {.key_length = 7};
	struct err_text err = {0};

	(void)state;
	assert_int_equal(pair_code_make(code), 0);
	assert_int_equal(pair_code_secret(code, PAIR_CODE_LETTERS, &s, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "HEAPCAST_TLS=OFF"));
	assert_int_equal(s.key_length, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(keys_are_refused),
		cmocka_unit_test(proofs_are_refused),
		cmocka_unit_test(codes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
