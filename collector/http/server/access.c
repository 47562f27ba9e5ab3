/* Checks Host, Origin and token of a request. See access.h. */
#include "collector/http/server/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "collector/http/server/token.h"

#include "base/ban.h"

#define ORIGIN_MAX 300

static bool is_loopback_name(const char *host)
{
	size_t length = strcspn(host, ":");

	if (host[0] == '[')
		return !strncmp(host, "[::1]", 5) && (!host[5] || host[5] == ':');
	if (length == strlen("localhost") && !strncasecmp(host, "localhost", length))
		return true;
	return !strncmp(host, "127.", 4) && strspn(host, "0123456789.") == length;
}

static bool is_one_of(const char *const *names, const char *host)
{
	size_t length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");

	for (; *names; names++)
		if (strlen(*names) == length && !strncasecmp(*names, host, length))
			return true;
	return false;
}

static int check_host(const struct access *access, const struct claim *claim, int *ret_status,
		      struct err_text *err)
{
	if (access->hosts && claim->host && is_one_of(access->hosts, claim->host))
		return 0;
	if (!access->hosts && (!access->local || !claim->host || is_loopback_name(claim->host)))
		return 0;
	*ret_status = 403;
	if (access->hosts)
		return err_set(
			err, -EACCES,
			"this is served by the names of --allow-host only, and the proxy has to "
			"pass on the Host that it was asked for");
	return err_set(err, -EACCES,
		       "this is served to this machine only: ask for localhost, or start it with "
		       "--http ADDR:PORT");
}

/* Checks that the requesting page comes from this server, if the browser says where it comes
 * from. */
static int check_origin(const struct access *access, const struct claim *claim, int *ret_status,
			struct err_text *err)
{
	char own[ORIGIN_MAX];

	if (!claim->origin)
		return 0;
	snprintf(own, sizeof(own), "%s://%s", access->https ? "https" : "http",
		 claim->host ? claim->host : "");
	if (claim->host && !strcmp(claim->origin, own))
		return 0;
	*ret_status = 403;
	return err_set(err, -EACCES,
		       "this is not taken from pages of elsewhere: their Origin is "
		       "not the address that is asked");
}

struct stranger_address access_from(const struct access *access, const struct claim *claim)
{
	const char *last = claim->forwarded_for ? strrchr(claim->forwarded_for, ',') : NULL;
	struct sockaddr_in four = {.sin_family = AF_INET};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};

	if (!access->hosts || !claim->forwarded_for)
		return claim->from;
	last = last ? last + 1 : claim->forwarded_for;
	last += strspn(last, " ");
	if (inet_pton(AF_INET, last, &four.sin_addr) == 1)
		return stranger_address((const struct sockaddr *)&four);
	if (inet_pton(AF_INET6, last, &six.sin6_addr) == 1)
		return stranger_address((const struct sockaddr *)&six);
	return claim->from;
}

/* Writes the cookie's name. With this prefix browsers accept the cookie by TLS only, and send it to
 * this host alone, for all its paths (RFC 6265bis, 4.1.3). */
static int write_name(const struct access *access, char *out, size_t size)
{
	return snprintf(out, size, "__Host-heapcast-%u=", access->port);
}

void access_write_cookie(const struct access *access, const char *login,
			 char ret_cookie[COOKIE_MAX])
{
	int n = write_name(access, ret_cookie, COOKIE_MAX);

	snprintf(ret_cookie + n, COOKIE_MAX - (size_t)n,
		 "%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict; Secure", login,
		 *login ? LOGIN_SECONDS : 0);
}

void access_read_cookie(const struct access *access, const struct claim *claim,
			char ret_login[LOGIN_TEXT])
{
	char name[32];
	size_t length = (size_t)write_name(access, name, sizeof(name));

	ret_login[0] = '\0';
	for (const char *at = claim->cookie; at; at = strchr(at, ';')) {
		at += strspn(at, "; ");
		if (strncmp(at, name, length) != 0)
			continue;
		at += length;
		if (strcspn(at, "; ") < LOGIN_TEXT)
			snprintf(ret_login, LOGIN_TEXT, "%.*s", (int)strcspn(at, "; "), at);
		return;
	}
}

bool access_is_logged_in(const struct access *access, const struct claim *claim, uint64_t now_ms)
{
	char login[LOGIN_TEXT];

	if (access->local) /* browsers would send the cookie also to servers of other users of this
			      machine */
		return false;
	access_read_cookie(access, claim, login);
	return logins_know(&access->logins, login, now_ms);
}

static const char *where_the_token_is(const struct access *access)
{
	return access->token_made ? "It follows #token= in the address that this collector printed "
				    "at its start"
				  : "The file of --token has it";
}

int access_try(struct access *access, const char *token, const struct stranger_address *from,
	       uint64_t now_ms, int *ret_status, struct err_text *err)
{
	if (!tries_may(&access->tries, from, now_ms)) {
		*ret_status = 429;
		return err_set(err, -EACCES,
			       "too many wrong tokens came from this address: wait a second");
	}
	if (token_is_same(access->token, token))
		return 0;
	tries_wrong(&access->tries, from, now_ms);
	*ret_status = 401;
	return err_set(err, -EACCES, "that is not the token. %s", where_the_token_is(access));
}

static int check_token(struct access *access, const struct claim *claim, uint64_t now_ms,
		       int *ret_status, struct err_text *err)
{
	const char *token = claim->authorization ? token_brought(claim->authorization) : NULL;
	const struct stranger_address from = access_from(access, claim);

	if (access_is_logged_in(access, claim,
				now_ms)) /* checked first, as a page may still send an old token */
		return 0;
	if (token)
		return access_try(access, token, &from, now_ms, ret_status, err);
	*ret_status = 401;
	return err_set(err, -EACCES, "%s: bring it as Authorization: Bearer TOKEN. %s",
		       access->local ? "this needs the token, as others may share this machine"
				     : "this needs the token",
		       where_the_token_is(access));
}

int access_check(struct access *access, const struct claim *claim, uint64_t now_ms, int *ret_status,
		 struct err_text *err)
{
	int r = check_host(access, claim, ret_status, err);

	if (!r && !claim->reads)
		r = check_origin(access, claim, ret_status, err);
	if (!r && !claim->brings_token && (claim->needs_token || !access->local))
		r = check_token(access, claim, now_ms, ret_status, err);
	return r;
}

bool access_may_order(struct access *access, const struct claim *claim, uint64_t now_ms,
		      struct err_text *ret_why)
{
	int status;

	return !access->local || check_token(access, claim, now_ms, &status, ret_why) == 0;
}
