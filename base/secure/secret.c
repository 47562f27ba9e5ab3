/* Reads key files and computes proofs. secret.h describes the interface. */
#include "base/secure/secret.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/secure/private_file.h"
#include "base/secure/secret_hmac.h"
#include "base/ban.h"

#define DEFAULT_NAME "heapcast"
#define WHAT	     "key file"

static int secret_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static bool take_name(const char *text, size_t length, struct secret *s)
{
	if (!length || length >= sizeof(s->name))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isgraph((unsigned char)text[i]))
			return false;
	snprintf(s->name, sizeof(s->name), "%.*s", (int)length, text);
	return true;
}

/* Parses a line without the blanks at its ends. Error messages never contain the key. */
static int secret_take_line(const char *path, unsigned number, const char *line, size_t length,
			    struct secret *s, struct err_text *err)
{
	const char *colon = memchr(line, ':', length), *hex = colon ? colon + 1 : line;
	size_t digits = length - (size_t)(hex - line);

	if (s->key_length)
		return err_set(err, -EINVAL,
			       "%s line %u: a key file holds one key, this is a second", path,
			       number);
	if (digits < 2 * SECRET_KEY_MIN || digits > 2 * SECRET_KEY_MAX || digits % 2)
		return err_set(err, -EINVAL,
			       "%s line %u: a key is %d to %d hexadecimal digits, an even number, "
			       "here are %zu characters ('openssl rand -hex 32' makes a key)",
			       path, number, 2 * SECRET_KEY_MIN, 2 * SECRET_KEY_MAX, digits);
	if (colon && !take_name(line, (size_t)(colon - line), s))
		return err_set(err, -EINVAL,
			       "%s line %u: the name before the colon is 1 to %d characters "
			       "without blanks",
			       path, number, SECRET_NAME_MAX - 1);
	for (size_t i = 0; i < digits; i += 2) {
		int high = secret_digit(hex[i]), low = secret_digit(hex[i + 1]);

		if (high < 0 || low < 0)
			return err_set(err, -EINVAL,
				       "%s line %u: not all of it is hexadecimal digits", path,
				       number);
		s->key[i / 2] = (uint8_t)(high << 4 | low);
	}
	s->key_length = digits / 2;
	return 0;
}

static int secret_take_text(const char *path, const char *text, struct secret *s,
			    struct err_text *err)
{
	unsigned number = 1;

	for (const char *at = text, *end; *at; at = end + (*end == '\n'), number++) {
		const char *last;
		int r;

		end = strchrnul(at, '\n');
		at += strspn(at, " \t\r");
		for (last = end; last > at && strchr(" \t\r", last[-1]); last--)
			;
		if (last <= at || *at == '#')
			continue;
		r = secret_take_line(path, number, at, (size_t)(last - at), s, err);
		if (r < 0)
			return r;
	}
	return s->key_length
		       ? 0
		       : err_set(err, -EINVAL,
				 "the key file %s holds no key: 'openssl rand -hex 32 > FILE' "
				 "makes one",
				 path);
}

static int name_key(struct secret *s)
{
	uint8_t mac[SECRET_MAC_SIZE];
	int r = secret_mac(s, "name", s->name, strlen(s->name), mac);

	memcpy(s->id, mac, sizeof(s->id));
	return r;
}

static int name_key_of(const char *path, struct secret *s, struct err_text *err)
{
	int r = name_key(s);

	if (r == -ENOTSUP)
		return err_set(err, r,
			       "the key file %s can't be used: this build has no OpenSSL "
			       "(HEAPCAST_TLS=OFF)",
			       path);
	return r < 0 ? err_set(err, r, "OpenSSL can't use the key of %s", path) : 0;
}

static int secret_read_text(int r, const char *path, char *text, struct secret *ret_secret,
			    struct err_text *err)
{
	struct secret s = {.name = DEFAULT_NAME};

	if (!r)
		r = secret_take_text(path, text, &s, err);
	if (!r)
		r = name_key_of(path, &s, err);
	if (!r)
		*ret_secret = s;
	secret_clear(&s);
	return r;
}

int secret_read(const char *path, struct secret *ret_secret, struct err_text *err)
{
	char text[PRIVATE_FILE_MAX + 2];
	size_t length;
	int r = private_file_read(path, WHAT, text, &length, err);

	r = secret_read_text(r, path, text, ret_secret, err);
	explicit_bzero(text, sizeof(text));
	return r;
}

int secret_read_fd(int fd, const char *path, struct secret *ret_secret, struct err_text *err)
{
	char text[PRIVATE_FILE_MAX + 2];
	size_t length;
	int r = private_file_take(fd, path, WHAT, text, &length, err);

	r = secret_read_text(r, path, text, ret_secret, err);
	explicit_bzero(text, sizeof(text));
	return r;
}

int secret_make(const void *key, size_t length, const char *name, struct secret *ret_secret)
{
	struct secret s = {.key_length = length};
	int r;

	if (length < SECRET_KEY_MIN || length > SECRET_KEY_MAX)
		return -EINVAL;
	memcpy(s.key, key, length);
	snprintf(s.name, sizeof(s.name), "%s", name);
	r = name_key(&s);
	if (!r)
		*ret_secret = s;
	secret_clear(&s);
	return r;
}

int secret_mac(const struct secret *s, const char *purpose, const void *data, size_t length,
	       uint8_t ret_mac[SECRET_MAC_SIZE])
{
	uint8_t derived[SECRET_MAC_SIZE];
	char label[64];
	int n = snprintf(label, sizeof(label), "heapcast %s", purpose), r;

	if ((size_t)n >= sizeof(label))
		return -EINVAL;
	r = secret_hmac(s->key, s->key_length, label, (size_t)n, derived);
	if (!r)
		r = secret_hmac(derived, sizeof(derived), data, length, ret_mac);
	explicit_bzero(derived, sizeof(derived));
	return r;
}

bool secret_mac_equal(const uint8_t a[SECRET_MAC_SIZE], const uint8_t b[SECRET_MAC_SIZE])
{
	volatile uint8_t differ = 0;

	for (size_t i = 0; i < SECRET_MAC_SIZE; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

void secret_clear(struct secret *s)
{
	explicit_bzero(s, sizeof(*s));
}
