#pragma once
/* Parses the options of commands that serve HTTP. */
#include <stdint.h>

#include "collector/cli/command.h"
#include "collector/http/server/token.h"

struct err_text;

/* The options as given (http_choice), and what they mean (http_place). */
struct http_choice {
	const char *http, *token; /* http: ADDR:PORT; token: a file, NULL: a token is made */
	const char *tls_cert, *tls_key;
	bool behind_proxy;
	struct option_list allow_hosts, sources;
};
#define ALLOW_HOSTS_MAX 32
#define SOURCES_MAX	32
struct http_place {
	char host[256], token_text[TOKEN_MAX + 1];
	const char *token; /* NULL: a token is made */
	const char *tls_cert, *tls_key;
	const char *hosts[ALLOW_HOSTS_MAX + 1];
	const char *const *allow_hosts; /* `hosts`; NULL: no proxy */
	const char *sources[SOURCES_MAX + 1];
	uint16_t port;
};
#define HTTP_OPTIONS(type, field, help)                                                            \
	OPTION_TEXT(type, field.http, "http", "ADDR:PORT", help),                                  \
		OPTION_TEXT(type, field.token, "token", "FILE",                                    \
			    "the token that orders have to bring, and beyond loopback all who "    \
			    "ask, is in this file; "                                               \
			    "default: a new one, printed with the address"),                       \
		OPTION_TEXT(type, field.tls_cert, "tls-cert", "FILE",                              \
			    "serve by TLS (1.2 or 1.3), with this certificate and its chain "      \
			    "(PEM); needed beyond "                                                \
			    "loopback"),                                                           \
		OPTION_TEXT(type, field.tls_key, "tls-key", "FILE",                                \
			    "its private key, a file of mode 0600"),                               \
		OPTION_FLAG(type, field.behind_proxy, "behind-proxy",                              \
			    "a proxy speaks TLS, and hands on what is asked for a name of "        \
			    "--allow-host"),                                                       \
		OPTION_LIST(type, field.sources, "source", "DIR",                                  \
			    "show the page source files below DIR; FROM=DIR: what was built in "   \
			    "FROM is in DIR; may be "                                              \
			    "given more than once"),                                               \
		OPTION_LIST(type, field.allow_hosts, "allow-host", "NAME",                         \
			    "the name by which browsers reach the proxy (heap.example.org); may "  \
			    "be given more than once")

/* Reads the options, and the token's file. Returns 0, or a negative errno with an error text. */
int http_place_read(const struct http_choice *choice, struct http_place *ret_place,
		    struct err_text *err);

/* Makes the address at which others reach what is served there, "https://desk1:8443": by the first
 * name of --allow-host, or by the name of this host if all its addresses are served. *ret_address
 * is NULL if only this host reaches it. The caller frees it. Returns 0 or -ENOMEM. */
int http_place_address(const struct http_place *place, uint16_t port, char **ret_address);

/* Parses "ADDR:PORT", "ADDR", "[ADDR6]:PORT", ":PORT" or "PORT". Missing parts get the defaults of
 * http.h. Port 0 means any free port. `host` holds `size` bytes. Returns 0 or -EINVAL. */
int http_endpoint_parse(const char *text, char *host, unsigned size, uint16_t *ret_port);
