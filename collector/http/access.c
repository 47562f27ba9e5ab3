/* Host, Origin and token of a request. See access.h. */
#include "collector/http/access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "collector/http/token.h"

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

/* Does the page that asks, if a browser says so, come from here? */
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

static int check_token(const struct access *access, const struct claim *claim, int *ret_status,
		       struct err_text *err)
{
	if (claim->authorization && token_is_brought(access->token, claim->authorization))
		return 0;
	*ret_status = 401;
	return err_set(err, -EACCES, "%s: bring it as Authorization: Bearer TOKEN. %s",
		       claim->authorization ? "that is not the token"
		       : access->local
			       ? "an order needs the token, as others may share this machine"
			       : "this needs the token",
		       access->token_made ? "It follows #token= in the address that this collector "
					    "printed at its start"
					  : "The file of --token has it");
}

int access_check(const struct access *access, const struct claim *claim, int *ret_status,
		 struct err_text *err)
{
	int r = check_host(access, claim, ret_status, err);

	if (!r && !claim->reads)
		r = check_origin(access, claim, ret_status, err);
	if (!r && (claim->order || !access->local))
		r = check_token(access, claim, ret_status, err);
	return r;
}
