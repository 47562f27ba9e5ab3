#pragma once
/*
 * Where a ClickHouse database is:
 *
 *	clickhouse://user[:password]@host[:8123][,host...]/database[?cluster=NAME&...]
 *
 * `clickhouses://` is the same by TLS (port 8443). Each host is one server; they are asked in this
 * order. Special characters of user and password are written as %XX. An address of IPv6 stands in
 * brackets. After the question mark:
 *
 *	cluster=NAME		the servers are this cluster (system.clusters); needed for several
 *hosts password_file=PATH	the password is the first line of this file, which is the owner's
 *alone ca=PATH			by TLS: certificates that are trusted, in place of the system's
 *
 * Messages never contain the password, nor any text that could be a part of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

#define CLICKHOUSE_URL_MAX	4096
#define CLICKHOUSE_HOSTS_MAX	32
#define CLICKHOUSE_HOST_MAX	255
#define CLICKHOUSE_NAME_MAX	64 /* of users, databases, clusters */
#define CLICKHOUSE_PASSWORD_MAX 256
#define CLICKHOUSE_PATH_MAX	1024

/* The password, where the URL has none and names no file. */
#define CLICKHOUSE_PASSWORD_VARIABLE "HEAPCAST_CLICKHOUSE_PASSWORD"

struct clickhouse_host {
	char name[CLICKHOUSE_HOST_MAX + 1]; /* an address of IPv6 without its brackets */
	uint16_t port;
};

struct clickhouse_url {
	bool tls;
	char user[CLICKHOUSE_NAME_MAX + 1];
	char password[CLICKHOUSE_PASSWORD_MAX + 1];
	char database[CLICKHOUSE_NAME_MAX + 1]; /* letters, digits and _ */
	char cluster[CLICKHOUSE_NAME_MAX + 1];	/* letters, digits, _ and -; "": none */
	char password_file[CLICKHOUSE_PATH_MAX + 1];
	char ca[CLICKHOUSE_PATH_MAX + 1];
	size_t count;
	struct clickhouse_host hosts[CLICKHOUSE_HOSTS_MAX];
};

/* Returns true if the text begins as such a URL does. */
bool clickhouse_url_is(const char *text);
/* Returns 0 or -EINVAL with a sentence. It reads neither files nor the environment. */
int clickhouse_url_parse(const char *text, struct clickhouse_url *ret_url, struct err_text *err);
/*
 * If the URL itself has no password, takes it from its password_file, or from `variable` (the value
 * of CLICKHOUSE_PASSWORD_VARIABLE; may be NULL). Returns 0, or a negative errno with a sentence
 * that names the file.
 */
int clickhouse_url_password(struct clickhouse_url *url, const char *variable, struct err_text *err);
/*
 * Writes the URL without password and options, cut to `size`; an empty user name is left out. For
 * messages.
 */
char *clickhouse_url_format(const struct clickhouse_url *url, char *out, size_t size);
/* Writes host:port; `out` has room for CLICKHOUSE_HOST_TEXT. */
#define CLICKHOUSE_HOST_TEXT (CLICKHOUSE_HOST_MAX + 16)
char *clickhouse_host_format(const struct clickhouse_host *host, char *out);
/* Wipes it, with the password. */
void clickhouse_url_clear(struct clickhouse_url *url);
