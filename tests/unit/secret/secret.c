/* Key files: what is taken, what is refused; and proofs, compared with what another program
 * computed. */
#include "base/secure/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/secure/secret_hmac.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/left_behind.h"
#include "tests/unit/temporary.h"

#define HEX32 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static char path[128];

static const char *file(const char *text, mode_t mode)
{
	FILE *f;

	snprintf(path, sizeof(path), "%s/key", temporary_folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void refused(const char *at, int error, const char *because)
{
	struct secret s = {.key_length = 7};
	struct err_text err = {0};

	assert_int_equal(secret_read(at, &s, &err), error);
	if (!strstr(err.text, because))
		fail_msg("\"%s\" does not say \"%s\"", err.text, because);
	assert_non_null(strstr(err.text, at));
	assert_int_equal(s.key_length, 7); /* written on success only */
}

static void keys_are_read(void **state)
{
	struct err_text err = {0};
	struct secret s;

	(void)state;
	assert_int_equal(secret_read(file(HEX32 "\n", 0600), &s, &err), 0);
	assert_int_equal(s.key_length, 32);
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(s.key[i], i);
	assert_string_equal(s.name, "heapcast");
	assert_int_equal(
		secret_read(file("# ours\n\n\t plant-7:" HEX32 HEX32 " \r\n#", 0400), &s, &err), 0);
	assert_int_equal(s.key_length, 64);
	assert_string_equal(s.name, "plant-7");
	assert_int_equal(secret_read(file("000102030405060708090A0B0C0D0E0F", 0600), &s, &err), 0);
	assert_int_equal(s.key_length, 16);
	assert_int_equal(s.key[15], 15);
}

static void texts_are_refused(void **state)
{
	char huge[20000];

	(void)state;
	refused(file("", 0600), -EINVAL, "holds no key");
	refused(file("# nothing\n\n", 0600), -EINVAL, "holds no key");
	refused(file("x", 0600), -EINVAL, "line 1");
	refused(file("000102030405060708090a0b0c0d0e", 0600), -EINVAL, "line 1");
	refused(file("000102030405060708090a0b0c0d0e0f1", 0600), -EINVAL, "an even number");
	refused(file(HEX32 HEX32 "00", 0600), -EINVAL, "130 characters");
	refused(file("\n" HEX32 "\n" HEX32 "\n", 0600), -EINVAL, "line 3");
	refused(file("g00102030405060708090a0b0c0d0e0f", 0600), -EINVAL, "hexadecimal");
	refused(file("two words:" HEX32, 0600), -EINVAL, "name");
	refused(file(":" HEX32, 0600), -EINVAL, "name");
	refused(file("a:b:" HEX32, 0600), -EINVAL, "line 1");
	memset(huge, '\n', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	refused(file(huge, 0600), -EFBIG, "19999 bytes");
}

static void a_nul_is_refused(void **state)
{
	FILE *f;

	(void)state;
	f = fopen(file("", 0600), "w");
	assert_non_null(f);
	fwrite(HEX32 "\0" HEX32, 1, 129, f);
	fclose(f);
	refused(path, -EINVAL, "is no key file");
}

static void what_others_see_is_refused(void **state)
{
	char link[160];

	(void)state;
	refused(file(HEX32, 0640), -EPERM, "mode 0640");
	refused(file(HEX32, 0604), -EPERM, "mode 0604");
	refused(file(HEX32, 0620), -EPERM, "mode 0620");
	refused(file(HEX32, 0602), -EPERM, "mode 0602");
	snprintf(link, sizeof(link), "%s/link", temporary_folder);
	assert_int_equal(symlink(file(HEX32, 0644), link), 0);
	refused(link, -EPERM, "mode 0644");
}

static void files_of_others_are_refused(void **state)
{
	struct secret s;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chown(file(HEX32, 0600), 12345, 12345), 0);
	refused(path, -EPERM, "another user (12345)");
	/* Root's is anybody's who can read it at all. */
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(secret_read(path, &s, NULL), 0);
}

static void what_is_no_file_is_refused(void **state)
{
	struct err_text err = {0};
	struct secret s;
	char other[128];

	(void)state;
	refused(temporary_folder, -EINVAL, "no regular file");
	snprintf(other, sizeof(other), "%s/fifo", temporary_folder);
	assert_int_equal(mkfifo(other, 0600), 0);
	refused(other, -EINVAL, "no regular file"); /* at once */
	snprintf(other, sizeof(other), "%s/none", temporary_folder);
	refused(other, -ENOENT, "cannot open");
	assert_int_equal(secret_read_fd(-1, "it", &s, &err), -EBADF);
	assert_string_equal(err.text, "cannot look at the key file it: Bad file descriptor");
	first_descriptor_free();
	assert_int_equal(secret_read(file(HEX32, 0600), &s, &err), 0);
	first_descriptor_take();
}

static void expect_mac(const struct secret *s, const char *purpose, const char *data,
		       const char *expected)
{
	uint8_t mac[SECRET_MAC_SIZE];
	char hex[2 * SECRET_MAC_SIZE + 1];

	assert_int_equal(secret_mac(s, purpose, data, strlen(data), mac), 0);
	for (unsigned i = 0; i < SECRET_MAC_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", mac[i]);
	assert_string_equal(hex, expected);
}

/* From Python: hmac.new(hmac.new(bytes(range(32)), b"heapcast beacon", sha256).digest(), b"what is
 * said", sha256) and so on. */
static void proofs_are_those_of_others(void **state)
{
	const uint8_t usual[] = {0x47, 0x12, 0xc8, 0xfc, 0x8c, 0x88, 0xb2, 0x10};
	const uint8_t named[] = {0x31, 0x45, 0xba, 0x3c, 0x8d, 0xc7, 0x77, 0xc8};
	struct secret s;

	(void)state;
	assert_int_equal(secret_read(file(HEX32, 0600), &s, NULL), 0);
	expect_mac(&s, "beacon", "what is said",
		   "37c72574ad9918256eddf0bfdd6d9d25fa7096dcb41d6d492cdb41cfbebfd56a");
	expect_mac(&s, "probe", "what is said",
		   "a3524dd747e889dd7e66dd7637e64d340f230eb5ed6336eddbfe15be88458a52");
	assert_memory_equal(s.id, usual, sizeof(usual));
	assert_int_equal(secret_read(file("plant-7:" HEX32, 0600), &s, NULL), 0);
	assert_memory_equal(s.id, named, sizeof(named));
	for (unsigned i = 0; i < SECRET_KEY_MAX; i++)
		s.key[i] = (uint8_t)i;
	s.key_length = SECRET_KEY_MAX;
	expect_mac(&s, "beacon", "",
		   "4b76208f48b931e91121590cdd4beecf7423116f73df634248e54ff6a2289f88");
}

static void proofs_are_compared(void **state)
{
	uint8_t a[SECRET_MAC_SIZE] = {0}, b[SECRET_MAC_SIZE] = {0};
	struct secret s;

	(void)state;
	for (unsigned i = 0; i < SECRET_MAC_SIZE; i++)
		a[i] = b[i] = (uint8_t)(37 * i);
	assert_true(secret_mac_equal(a, b));
	for (unsigned bit = 0; bit < 8 * SECRET_MAC_SIZE; bit++) {
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(secret_mac_equal(a, b));
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	memset(&s, 0xaa, sizeof(s));
	secret_clear(&s);
	for (size_t i = 0; i < sizeof(s); i++)
		assert_int_equal(((const uint8_t *)&s)[i], 0);
}

/* Each byte at each end of a line: blanks go, digits count, and all else is told. */
static void characters_are_judged(void **state)
{
	char text[40];
	struct secret s;

	(void)state;
	for (unsigned c = 1; c < 256; c++) {
		const char *at = strchr("0123456789abcdefABCDEF", (int)c);
		unsigned value = at ? (unsigned)(at - "0123456789abcdefABCDEF") : 0;
		bool blank = strchr(" \t\r\n", (int)c);

		memset(text, '1', 33);
		text[32] = text[33] = '\0';
		text[0] = (char)c;
		value = value > 15 ? value - 6 : value;
		if (at) {
			assert_int_equal(secret_read(file(text, 0600), &s, NULL), 0);
			assert_int_equal(s.key[0], value << 4 | 1);
			text[1] = (char)c;
			text[0] = '1';
			assert_int_equal(secret_read(file(text, 0600), &s, NULL), 0);
			assert_int_equal(s.key[0], 0x10 | value);
		} else {
			assert_true(secret_read(file(text, 0600), &s, NULL) < 0);
			memmove(text + 1, text, 32);
			text[1] = '1';
			assert_int_equal(secret_read(file(text, 0600), &s, NULL),
					 blank ? 0 : -EINVAL);
			text[0] = '1';
			text[32] = (char)c;
			assert_int_equal(secret_read(file(text, 0600), &s, NULL),
					 blank ? 0 : -EINVAL);
		}
	}
}

static void bounds_are_exact(void **state)
{
	static char large[16384 + 2];
	char text[SECRET_NAME_MAX + 200], purpose[64];
	uint8_t key[SECRET_KEY_MAX + 1] = {1}, mac[SECRET_MAC_SIZE];
	struct secret s, made;
	int fd;

	(void)state;
	for (size_t length = 0; length <= SECRET_KEY_MAX + 1; length++) {
		bool good = length >= 16 && length <= 64;

		assert_int_equal(secret_make(key, length, "x", &s), good ? 0 : -EINVAL);
		if (good)
			assert_int_equal(s.key_length, length);
	}
	for (size_t length = SECRET_NAME_MAX - 1; length <= SECRET_NAME_MAX; length++) {
		memset(text, 'n', length);
		snprintf(text + length, sizeof(text) - length, ":" HEX32);
		if (length < SECRET_NAME_MAX) {
			assert_int_equal(secret_read(file(text, 0600), &s, NULL), 0);
			assert_int_equal(strlen(s.name), SECRET_NAME_MAX - 1);
		} else {
			refused(file(text, 0600), -EINVAL, "is 1 to 63 characters");
		}
	}
	assert_int_equal(secret_read(file("x:" HEX32, 0600), &s, NULL), 0);
	assert_int_equal(secret_make(s.key, 32, "x", &made), 0);
	assert_memory_equal(s.id, made.id,
			    SECRET_ID_SIZE); /* the key that is made is the one read */
	assert_string_equal(made.name, "x");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(secret_read_fd(fd, path, &made, NULL), 0);
	assert_memory_equal(&s, &made, sizeof(s));
	close(fd);
	memset(purpose, 'p', sizeof(purpose));
	purpose[55] = '\0'; /* behind "heapcast " 64 */
	assert_int_equal(secret_mac(&s, purpose, "", 0, mac), -EINVAL);
	purpose[54] = '\0';
	assert_int_equal(secret_mac(&s, purpose, "", 0, mac), 0);
	memset(large, '\n', 16384);
	memcpy(large, HEX32, 64);
	assert_int_equal(secret_read(file(large, 0600), &s, NULL), 0);
	large[16384] = '\n';
	refused(file(large, 0600), -EFBIG, "16385 bytes");
	refused("/proc/self/status", -EPERM, "mode 0444");
	for (unsigned bit = 0; bit < 9; bit++)
		assert_int_equal(secret_read(file(HEX32, 0400 | 1u << bit), &s, NULL),
				 bit < 6 ? -EPERM : 0);
}

struct reading {
	struct secret secret;
	int fd, result; /* fd: 0 to read by the path */
};

static void read_key(void *context)
{
	struct reading *r = context;

	r->result = r->fd ? secret_read_fd(r->fd, path, &r->secret, NULL)
			  : secret_read(path, &r->secret, NULL);
}

/* The example of FIPS 180-4. */
static void digests_are_those_of_others(void **state)
{
	static const uint8_t abc[32] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
					0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
					0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
					0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
	uint8_t digest[32];

	(void)state;
	assert_int_equal(secret_sha256("abc", 3, digest), 0);
	assert_memory_equal(digest, abc, sizeof(abc));
}

/* Neither as text nor as bytes, and not if it is refused. */
static void nothing_is_left_behind(void **state)
{
	static const char *const texts[] = {HEX32, HEX32 "xx", HEX32 "\n" HEX32};
	static uint8_t key[16];
	static struct reading r;

	(void)state;
	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	for (unsigned i = 0; i < 12; i++) {
		const char *text = texts[i / 4];

		file(text, 0600);
		r.fd = i & 1 ? open(path, O_RDONLY | O_CLOEXEC) : 0;
		assert_false(i & 2 ? left_behind(read_key, &r, text, 32)
				   : left_behind(read_key, &r, key, sizeof(key)));
		assert_int_equal(r.result, i < 4 ? 0 : -EINVAL);
		if (r.fd)
			close(r.fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(keys_are_read),
		TEST_IN_FOLDER(texts_are_refused),
		TEST_IN_FOLDER(a_nul_is_refused),
		TEST_IN_FOLDER(what_others_see_is_refused),
		TEST_IN_FOLDER(files_of_others_are_refused),
		TEST_IN_FOLDER(what_is_no_file_is_refused),
		TEST_IN_FOLDER(proofs_are_those_of_others),
		TEST_IN_FOLDER(proofs_are_compared),
		TEST_IN_FOLDER(digests_are_those_of_others),
		TEST_IN_FOLDER(characters_are_judged),
		TEST_IN_FOLDER(bounds_are_exact),
		TEST_IN_FOLDER(nothing_is_left_behind),
	};
	struct secret s;

	if (secret_make("0123456789abcdef", 16, "x", &s) == -ENOTSUP) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
