/* Computes the mark of an agent's rings, and the identifier of its key. See home.h. */
#include "agent/serve/home.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/secure/secret.h"
#include "base/ban.h"

#define AUTHORITY_MAX (1u << 20) /* bytes of a certificate file that are read */
#define TEXT_MAX      512

static_assert(RING_MARK_SIZE == SECRET_MAC_SIZE, "a mark is a MAC");

/* Certificates are not secret. Agents that show certificates are told apart by the authority that
 * has to sign them, so a hash of its certificate file serves as the key. */
static const struct secret authority = {.key = "heapcast authority", .key_length = SECRET_KEY_MIN};

static int mac_file(const char *path, uint8_t ret[SECRET_MAC_SIZE])
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup(cleanup_free) char *text = malloc(AUTHORITY_MAX);
	size_t length = 0;
	ssize_t n = 1;

	if (fd < 0 || !text)
		return fd < 0 ? -errno : -ENOMEM;
	while (n > 0 && length < AUTHORITY_MAX) {
		n = read(fd, text + length, AUTHORITY_MAX - length);
		length += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? -errno : secret_mac(&authority, "authority", text, length, ret);
}

/* Returns 1 if the agent has neither a key nor an authority. */
static int mac(const struct home *h, const char *purpose, const char *text,
	       uint8_t ret[SECRET_MAC_SIZE])
{
	struct secret shown = authority;
	int r;

	if (h->secret)
		return secret_mac(h->secret, purpose, text, strlen(text), ret);
	if (!h->authority)
		return 1;
	r = mac_file(h->authority, shown.key);
	shown.key_length = SECRET_MAC_SIZE;
	return r < 0 ? r : secret_mac(&shown, purpose, text, strlen(text), ret);
}

/* Hashes the text without a key. A plain hash is enough here, because nothing has to be hidden. */
static void hash_text(const char *text, uint8_t ret[RING_MARK_SIZE])
{
	for (unsigned i = 0; i < RING_MARK_SIZE / sizeof(uint64_t); i++) {
		const struct hash_key key = {{i, RING_MARK_SIZE}};
		uint64_t part = hash_bytes(&key, text, strlen(text));

		memcpy(ret + i * sizeof(part), &part, sizeof(part));
	}
}

int home_mark(const struct home *h, uint8_t ret[RING_MARK_SIZE], struct err_text *err)
{
	char text[TEXT_MAX];
	struct stat network;
	int r;

	if (!h->socket || stat("/proc/self/ns/net", &network) < 0)
		return getrandom(ret, RING_MARK_SIZE, 0) == RING_MARK_SIZE
			       ? 0
			       : err_set(err, -EIO, "no random numbers to be had");
	snprintf(text, sizeof(text), "%" PRIu64 ":%" PRIu64 " %s", (uint64_t)network.st_dev,
		 (uint64_t)network.st_ino, h->socket);
	r = mac(h, "ring", text, ret);
	if (r == 1)
		hash_text(text, ret);
	return r < 0 ? err_set(err, r, "can't work out by key which rings belong to this agent: %s",
			       strerror(-r))
		     : 0;
}

int home_key(const struct home *h, char ret[HOME_KEY_DIGITS + 1], struct err_text *err)
{
	uint8_t key[SECRET_MAC_SIZE];
	int r = mac(h, "spool", "", key);

	ret[0] = '\0';
	for (unsigned i = 0; !r && i < HOME_KEY_DIGITS / 2; i++)
		snprintf(ret + 2 * i, 3, "%02x", key[i]);
	return r < 0 ? err_set(err, r,
			       "can't work out by key which files of the spool belong to this "
			       "agent: %s",
			       strerror(-r))
		     : 0;
}
