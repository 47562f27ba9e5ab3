/* Parses clickhouse:// URLs (url.h). Each part is copied into its place, or refused by its name. */
#include "collector/clickhouse/url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/secure/private_file.h"

#include "base/ban.h"

#define PLAIN_SCHEME "clickhouse://"
#define TLS_SCHEME   "clickhouses://"
#define PLAIN_PORT   8123
#define TLS_PORT     8443

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	"0123456789"

static const char *url_after_scheme(const char *text, bool *ret_tls)
{
	*ret_tls = !strncmp(text, TLS_SCHEME, strlen(TLS_SCHEME));
	if (*ret_tls)
		return text + strlen(TLS_SCHEME);
	return strncmp(text, PLAIN_SCHEME, strlen(PLAIN_SCHEME)) ? NULL
								 : text + strlen(PLAIN_SCHEME);
}

bool clickhouse_url_is(const char *text)
{
	bool tls;

	return url_after_scheme(text, &tls) != NULL;
}

static int url_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/*
 * Decodes %XX. Control characters are refused: user and password become lines of a request, paths
 * lines of messages.
 */
static int url_decode(const char *from, size_t length, const char *what, char *out, size_t size,
		      struct err_text *err)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++) {
		int c = (unsigned char)from[i];

		if (c == '%') {
			int high = i + 1 < length ? url_digit(from[i + 1]) : -1;
			int low = i + 2 < length ? url_digit(from[i + 2]) : -1;

			if (high < 0 || low < 0)
				return err_set(err, -EINVAL,
					       "%s: a %% must be followed by two hexadecimal "
					       "digits; the character itself is %%25",
					       what);
			c = high << 4 | low;
			i += 2;
		}
		if (c < 0x20 || c == 0x7f)
			return err_set(err, -EINVAL, "%s has a control character", what);
		if (n + 1 >= size)
			return err_set(err, -EINVAL, "%s is longer than %zu bytes", what, size - 1);
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return 0;
}

/* Copies a name that consists of these characters only. */
static int url_name(const char *from, size_t length, const char *what, const char *of, char *out,
		    size_t size, struct err_text *err)
{
	if (!length)
		return err_set(err, -EINVAL, "%s is missing", what);
	if (length >= size)
		return err_set(err, -EINVAL, "%s is longer than %zu bytes", what, size - 1);
	if (strspn(from, of) < length)
		return err_set(err, -EINVAL, "%s may have only letters, digits and %s", what,
			       strchr(of, '-') ? "_ -" : "_");
	memcpy(out, from, length);
	out[length] = '\0';
	return 0;
}

static int url_user(const char *from, size_t length, struct clickhouse_url *url,
		    struct err_text *err)
{
	const char *colon = memchr(from, ':', length);
	size_t user = colon ? (size_t)(colon - from) : length;
	int r = url_decode(from, user, "the user's name", url->user, sizeof(url->user), err);

	if (r < 0 || !colon)
		return r;
	return url_decode(colon + 1, length - user - 1, "the password", url->password,
			  sizeof(url->password), err);
}

/* The text of a wrong port is not told: it may be a part of a password with a '/' in it. */
static int url_port(const char *from, size_t length, uint16_t *ret_port, struct err_text *err)
{
	unsigned port = 0;

	for (size_t i = 0; i < length && port <= UINT16_MAX; i++) {
		if (from[i] < '0' || from[i] > '9')
			return err_set(err, -EINVAL, "a port is a number from 1 to 65535");
		port = 10 * port + (unsigned)(from[i] - '0');
	}
	if (!port || port > UINT16_MAX)
		return err_set(err, -EINVAL, "a port is a number from 1 to 65535");
	*ret_port = (uint16_t)port;
	return 0;
}

static int url_host(const char *from, size_t length, struct clickhouse_url *url,
		    struct err_text *err)
{
	struct clickhouse_host *host = &url->hosts[url->count];
	const char *of = LETTERS DIGITS "._-", *end = from + length, *name = from, *after;

	if (url->count == CLICKHOUSE_HOSTS_MAX)
		return err_set(err, -EINVAL, "more than %d hosts", CLICKHOUSE_HOSTS_MAX);
	if (length && *from == '[') {
		of = DIGITS "abcdefABCDEF:.";
		name++;
	}
	after = name + strspn(name, of);
	if (after > end)
		after = end;
	if (after == name)
		return err_set(err, -EINVAL, "a host is missing");
	if (after - name > CLICKHOUSE_HOST_MAX)
		return err_set(err, -EINVAL, "a host's name is longer than %d bytes",
			       CLICKHOUSE_HOST_MAX);
	memcpy(host->name, name, (size_t)(after - name));
	host->name[after - name] = '\0';
	host->port = url->tls ? TLS_PORT : PLAIN_PORT;
	if (name > from) {
		if (after == end || *after != ']')
			return err_set(err, -EINVAL,
				       "an address of IPv6 stands in brackets, [::1]");
		after++;
	}
	url->count++;
	if (after == end)
		return 0;
	if (*after != ':')
		return err_set(err, -EINVAL,
			       "a host has a character that no name has; special characters of "
			       "user and password are written as %%XX (%%2F is /)");
	return url_port(after + 1, (size_t)(end - after) - 1, &host->port, err);
}

static int url_hosts(const char *from, size_t length, struct clickhouse_url *url,
		     struct err_text *err)
{
	const char *end = from + length;

	for (;;) {
		const char *comma = memchr(from, ',', (size_t)(end - from));
		int r = url_host(from, (size_t)((comma ? comma : end) - from), url, err);

		if (r < 0 || !comma)
			return r;
		from = comma + 1;
	}
}

static int url_option(const char *from, size_t length, struct clickhouse_url *url,
		      struct err_text *err)
{
	static const struct {
		const char *name, *what;
		size_t offset, size;
	} paths[] = {
		{"password_file=", "password_file", offsetof(struct clickhouse_url, password_file),
		 sizeof(url->password_file)},
		{"ca=", "ca", offsetof(struct clickhouse_url, ca), sizeof(url->ca)},
	};
	const char *cluster = "cluster=";

	if (length >= strlen(cluster) && !memcmp(from, cluster, strlen(cluster)))
		return url_name(from + strlen(cluster), length - strlen(cluster), "cluster",
				LETTERS DIGITS "_-", url->cluster, sizeof(url->cluster), err);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		size_t n = strlen(paths[i].name);

		if (length >= n && !memcmp(from, paths[i].name, n))
			return url_decode(from + n, length - n, paths[i].what,
					  (char *)url + paths[i].offset, paths[i].size, err);
	}
	return err_set(err, -EINVAL,
		       "unknown option after the ?; there are cluster=, password_file= and ca=");
}

static int url_options(const char *text, struct clickhouse_url *url, struct err_text *err)
{
	for (;;) {
		size_t length = strcspn(text, "&");
		int r = url_option(text, length, url, err);

		if (r < 0 || !text[length])
			return r;
		text += length + 1;
	}
}

/* Those of ClickHouse itself: our tables would stand among its own. */
static int url_database(struct clickhouse_url *url, struct err_text *err)
{
	if (strcmp(url->database, "system") && strcasecmp(url->database, "information_schema"))
		return 0;
	return err_set(err, -EINVAL,
		       "the database %s is ClickHouse's own; name another, which need not exist",
		       url->database);
}

static int url_parts(const char *text, struct clickhouse_url *url, struct err_text *err)
{
	size_t authority = strcspn(text, "/?#");
	const char *at = memrchr(text, '@', authority), *hosts = at ? at + 1 : text, *path, *query;
	int r;

	if (strchr(text + authority, '@'))
		return err_set(err, -EINVAL,
			       "special characters of user, password and paths are written as "
			       "%%XX: %%2F is /, %%3F is ?, %%23 is #, %%40 is @");
	if (text[authority] != '/')
		return err_set(err, -EINVAL, "the database is missing: clickhouse://USER@HOST/DB");
	r = at ? url_user(text, (size_t)(at - text), url, err) : 0;
	if (r < 0)
		return r;
	r = url_hosts(hosts, (size_t)(text + authority - hosts), url, err);
	if (r < 0)
		return r;
	path = text + authority + 1;
	query = strchr(path, '?');
	r = url_name(path, query ? (size_t)(query - path) : strlen(path), "the database's name",
		     LETTERS DIGITS "_", url->database, sizeof(url->database), err);
	if (!r)
		r = url_database(url, err);
	return r < 0 || !query ? r : url_options(query + 1, url, err);
}

int clickhouse_url_parse(const char *text, struct clickhouse_url *ret_url, struct err_text *err)
{
	struct clickhouse_url url = {.user = ""};
	const char *rest = url_after_scheme(text, &url.tls);
	int r;

	if (!rest)
		return err_set(err, -EINVAL, "no URL of ClickHouse: clickhouse://USER@HOST/DB");
	if (strlen(text) > CLICKHOUSE_URL_MAX)
		return err_set(err, -EINVAL, "the URL of ClickHouse is longer than %d bytes",
			       CLICKHOUSE_URL_MAX);
	r = url_parts(rest, &url, err);
	if (r < 0)
		err_prefix(err, r, "URL of ClickHouse");
	else if (url.count > 1 && !*url.cluster)
		r = err_set(err, -EINVAL,
			    "URL of ClickHouse: several hosts must be a cluster of these servers; "
			    "add ?cluster=NAME");
	else
		*ret_url = url;
	clickhouse_url_clear(&url);
	return r;
}

/* The first line of the file. */
static int url_read_password(struct clickhouse_url *url, struct err_text *err)
{
	char text[PRIVATE_FILE_MAX + 2];
	size_t length;
	int r = private_file_read(url->password_file, "password file", text, &length, err);

	if (r < 0)
		return r;
	length = strcspn(text, "\r\n");
	if (!length || length > CLICKHOUSE_PASSWORD_MAX)
		r = err_set(err, -EINVAL,
			    "password file %s: its first line must have 1 to %d bytes",
			    url->password_file, CLICKHOUSE_PASSWORD_MAX);
	else
		memcpy(url->password, text, length);
	explicit_bzero(text, sizeof(text));
	return r;
}

int clickhouse_url_password(struct clickhouse_url *url, const char *variable, struct err_text *err)
{
	if (*url->password)
		return 0;
	if (*url->password_file)
		return url_read_password(url, err);
	if (!variable)
		return 0;
	if (strlen(variable) > CLICKHOUSE_PASSWORD_MAX || strpbrk(variable, "\r\n"))
		return err_set(err, -EINVAL, "%s must be one line of at most %d bytes",
			       CLICKHOUSE_PASSWORD_VARIABLE, CLICKHOUSE_PASSWORD_MAX);
	memcpy(url->password, variable, strlen(variable) + 1);
	return 0;
}

char *clickhouse_host_format(const struct clickhouse_host *host, char *out)
{
	snprintf(out, CLICKHOUSE_HOST_TEXT, strchr(host->name, ':') ? "[%s]:%u" : "%s:%u",
		 host->name, (unsigned)host->port);
	return out;
}

char *clickhouse_url_format(const struct clickhouse_url *url, char *out, size_t size)
{
	char host[CLICKHOUSE_HOST_TEXT];
	size_t n;

	n = (size_t)snprintf(out, size, "%s%s%s", url->tls ? TLS_SCHEME : PLAIN_SCHEME, url->user,
			     *url->user ? "@" : "");
	for (size_t i = 0; i < url->count && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? "," : "",
				      clickhouse_host_format(&url->hosts[i], host));
	if (n < size)
		snprintf(out + n, size - n, "/%s", url->database);
	return out;
}

void clickhouse_url_clear(struct clickhouse_url *url)
{
	explicit_bzero(url, sizeof(*url));
}
