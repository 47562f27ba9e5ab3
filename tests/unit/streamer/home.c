/* The marks of an agent's rings, and the identifier of its key. */
#include "agent/serve/home.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/secure/secret.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/temporary.h"

#define MARK_TEXT_MAX 512

static void mark_of(const struct home *home, uint8_t out[RING_MARK_SIZE])
{
	struct err_text err = {{0}};

	memset(out, 0, RING_MARK_SIZE);
	assert_int_equal(home_mark(home, out, &err), 0);
	assert_string_equal(err.text, "");
}

/* What is said of this socket in this network. */
static void mark_text(const char *name, char out[MARK_TEXT_MAX])
{
	struct stat network;

	assert_int_equal(stat("/proc/self/ns/net", &network), 0);
	snprintf(out, MARK_TEXT_MAX, "%" PRIu64 ":%" PRIu64 " %s", (uint64_t)network.st_dev,
		 (uint64_t)network.st_ino, name);
}

static void without_a_key(void **state)
{
	struct home home = {.socket = "@one"};
	uint8_t a[RING_MARK_SIZE], b[RING_MARK_SIZE], none[RING_MARK_SIZE] = {0};
	char key[HOME_KEY_DIGITS + 1] = "x";
	struct err_text err = {{0}};
	char text[MARK_TEXT_MAX];

	(void)state;
	mark_of(&home, a);
	mark_of(&home, b);
	assert_memory_equal(a, b, sizeof(a));
	assert_memory_not_equal(a, none, sizeof(a));
	/* an agent after an update makes the same one */
	mark_text("@one", text);
	for (unsigned i = 0; i < RING_MARK_SIZE / 8; i++) {
		const struct hash_key part = {{i, RING_MARK_SIZE}};
		uint64_t hash = hash_bytes(&part, text, strlen(text));

		assert_memory_equal(a + 8 * (size_t)i, &hash, 8);
	}
	home.socket = NULL; /* another one each time */
	mark_of(&home, a);
	mark_of(&home, b);
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(b, none, sizeof(b));
	assert_int_equal(home_key(&home, key, &err), 0);
	assert_string_equal(key, "");
}

/* False, and the test is skipped: this build has no keys. */
static bool has_keys(struct secret *ret)
{
	int r = secret_make("sixteen bytes or more", 21, "ours", ret);

	if (r != -ENOTSUP) {
		assert_int_equal(r, 0);
		return true;
	}
	print_message("no OpenSSL in this build\n");
	skip();
	return false;
}

static void expect_key(const struct home *home, const struct secret *as)
{
	char key[HOME_KEY_DIGITS + 1], digits[2 * SECRET_MAC_SIZE + 1];
	uint8_t mark[RING_MARK_SIZE], wanted[SECRET_MAC_SIZE];
	struct err_text err = {{0}};
	char text[MARK_TEXT_MAX];

	mark_text(home->socket, text);
	assert_int_equal(secret_mac(as, "ring", text, strlen(text), wanted), 0);
	mark_of(home, mark);
	assert_memory_equal(mark, wanted, sizeof(mark));
	assert_int_equal(secret_mac(as, "spool", "", 0, wanted), 0);
	for (unsigned i = 0; i < SECRET_MAC_SIZE; i++)
		snprintf(digits + 2 * i, 3, "%02x", wanted[i]);
	digits[HOME_KEY_DIGITS] = '\0';
	memset(key, 'x', sizeof(key));
	assert_int_equal(home_key(home, key, &err), 0);
	assert_string_equal(key, digits);
}

static void with_a_key(void **state)
{
	struct secret ours;
	struct home home = {.socket = "/run/there", .secret = &ours, .authority = "/no/such"};

	(void)state;
	if (has_keys(&ours))
		expect_key(&home, &ours);
}

/* Agents with certificates are told apart by the file of their authority. */
static void with_an_authority(void **state)
{
	static const struct secret authority = {.key = "heapcast authority", .key_length = 16};
	unsigned descriptors = descriptors_open();
	struct secret any, shown = {.key_length = SECRET_MAC_SIZE};
	struct err_text err = {{0}};
	char path[128], key[HOME_KEY_DIGITS + 1] = "x";
	struct home home = {.socket = "/run/there", .authority = path};
	uint8_t mark[RING_MARK_SIZE];
	static char text[3 << 19]; /* more than is read */
	size_t lengths[] = {0, 1000, 1 << 20, sizeof(text)};

	(void)state;
	if (!has_keys(&any))
		return;
	snprintf(path, sizeof(path), "%s/ca.pem", temporary_folder);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 31 >> 3);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		size_t read = lengths[i] < 1 << 20 ? lengths[i] : 1 << 20;

		assert_int_equal(write(fd, text, lengths[i]), lengths[i]);
		close(fd);
		assert_int_equal(secret_mac(&authority, "authority", text, read, shown.key), 0);
		expect_key(&home, &shown);
	}
	first_descriptor_free();
	expect_key(&home, &shown);
	first_descriptor_take();
	unlink(path);
	assert_int_equal(home_mark(&home, mark, &err), -ENOENT);
	assert_non_null(strstr(err.text, "which rings belong to this agent"));
	assert_int_equal(home_key(&home, key, &err), -ENOENT);
	assert_non_null(strstr(err.text, "which files of the spool belong to this agent"));
	assert_string_equal(key, "");
	home.authority = temporary_folder; /* can be opened, but not read */
	assert_int_equal(home_mark(&home, mark, &err), -EISDIR);
	assert_int_equal(descriptors_open(), descriptors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_key),
		cmocka_unit_test(with_a_key),
		TEST_IN_FOLDER(with_an_authority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
