/* Parses where to serve HTTP. See endpoint.h. */
#include "collector/cli/run/endpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/parse.h"
#include "base/secure/secure.h"
#include "collector/http/server/http.h"
#include "base/ban.h"

static int parse_port(const char *text, uint16_t *ret_port)
{
	uint64_t number;

	if (parse_u64(text, &number) < 0 || number > UINT16_MAX)
		return -EINVAL;
	*ret_port = (uint16_t)number;
	return 0;
}

int http_endpoint_parse(const char *text, char *host, unsigned size, uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':');
	bool bracket = text[0] == '[';
	size_t length;

	snprintf(host, size, "%s", HTTP_DEFAULT_ADDRESS);
	*ret_port = HTTP_DEFAULT_PORT;
	if (!colon && !parse_port(text, ret_port))
		return 0;
	if (colon && (bracket ? colon[-1] != ']' : strchr(text, ':') != colon))
		colon = NULL; /* the colon belongs to an IPv6 address */
	if (colon && parse_port(colon + 1, ret_port) < 0)
		return -EINVAL;
	length = colon ? (size_t)(colon - text) : strlen(text);
	if (bracket && (length < 3 || text[length - 1] != ']'))
		return -EINVAL;
	if (bracket) {
		text++;
		length -= 2;
	}
	if (length >= size)
		return -EINVAL;
	if (length)
		snprintf(host, size, "%.*s", (int)length, text);
	return length || colon ? 0 : -EINVAL;
}

static int read_tls(const struct http_choice *choice, struct http_place *ret, struct err_text *err)
{
	if (!choice->tls_cert && !choice->tls_key)
		return 0;
	if (!choice->tls_cert || !choice->tls_key)
		return err_set(err, -EINVAL,
			       "--tls-cert and --tls-key go together: --tls-%s is missing",
			       choice->tls_cert ? "key" : "cert");
	ret->tls_cert = choice->tls_cert;
	ret->tls_key = choice->tls_key;
	return secure_check_files(choice->tls_cert, choice->tls_key, err) < 0 ? -EINVAL : 0;
}

static int read_proxy(const struct http_choice *choice, struct http_place *ret,
		      struct err_text *err)
{
	size_t count = choice->allow_hosts.count;

	if (!choice->behind_proxy)
		return count ? err_set(err, -EINVAL,
				       "--allow-host names what a proxy is asked for: give "
				       "--behind-proxy, too")
			     : 0;
	if (!count)
		return err_set(
			err, -EINVAL,
			"--behind-proxy takes the name by which browsers reach the proxy, so "
			"that no other page can: give --allow-host NAME");
	if (count > ALLOW_HOSTS_MAX)
		return err_set(err, -EINVAL, "there can be %d names of --allow-host",
			       ALLOW_HOSTS_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *name = choice->allow_hosts.texts[i];

		if (!*name || name[strcspn(name, "/ *")] || (name[0] != '[' && strchr(name, ':')))
			return err_set(err, -EINVAL,
				       "--allow-host takes a name without scheme and port, for "
				       "example heap.example.org, not '%.100s'",
				       name);
		ret->hosts[i] = name;
	}
	ret->allow_hosts = ret->hosts;
	return 0;
}

static int read_sources(const struct http_choice *choice, struct http_place *ret,
			struct err_text *err)
{
	if (choice->sources.count > SOURCES_MAX)
		return err_set(err, -EINVAL, "there can be %d folders of --source", SOURCES_MAX);
	for (size_t i = 0; i < choice->sources.count; i++) {
		const char *text = choice->sources.texts[i], *equals = strchr(text, '=');
		const char *folder = equals ? equals + 1 : text;
		struct stat st;

		if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
			return err_set(err, -EINVAL,
				       "--source takes a folder, or FROM=FOLDER: '%.200s' is none",
				       folder);
		ret->sources[i] = text;
	}
	return 0;
}

int http_place_read(const struct http_choice *choice, struct http_place *ret, struct err_text *err)
{
	int r;

	*ret = (struct http_place){0};
	if (http_endpoint_parse(choice->http, ret->host, sizeof(ret->host), &ret->port) < 0)
		return err_set(
			err, -EINVAL,
			"--http takes ADDRESS:PORT, for example 127.0.0.1:8080, not '%.100s'",
			choice->http);
	r = choice->token ? token_read(choice->token, ret->token_text, err) : 0;
	ret->token = choice->token ? ret->token_text : NULL;
	if (!r)
		r = read_tls(choice, ret, err);
	if (!r)
		r = read_sources(choice, ret, err);
	return r < 0 ? r : read_proxy(choice, ret, err);
}

static bool is_loopback_text(const char *host)
{
	return !strcmp(host, "localhost") || !strcmp(host, "::1") || !strncmp(host, "127.", 4);
}

static bool is_any(const char *host)
{
	return !strcmp(host, "0.0.0.0") || !strcmp(host, "::");
}

int http_place_address(const struct http_place *place, uint16_t port, char **ret_address)
{
	char name[256] = "";
	const char *host = place->host;
	bool six;

	*ret_address = NULL;
	if (place->allow_hosts)
		return asprintf(ret_address, "https://%s", place->allow_hosts[0]) < 0 ? -ENOMEM : 0;
	if (is_loopback_text(host))
		return 0;
	if (is_any(host)) {
		gethostname(name, sizeof(name) - 1);
		host = name;
	}
	six = strchr(host, ':') != NULL;
	return asprintf(ret_address, "%s://%s%s%s:%u", place->tls_cert ? "https" : "http",
			six ? "[" : "", host, six ? "]" : "", port) < 0
		       ? -ENOMEM
		       : 0;
}
