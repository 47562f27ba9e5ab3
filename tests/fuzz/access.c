/*
 * What a request says of who asks (collector/http/server/access.h): whatever it is, an order goes
 * through only with the token, or on loopback not even with a login; nothing from elsewhere without
 * either; and no Host gets past that is not one of ours.
 *
 *	lines: Host, Origin, Authorization, Cookie, X-Forwarded-For, the body of the form; an empty
 *	one: there is no such header
 */
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "collector/http/server/access.h"
#include "collector/http/server/token.h"
#include "tests/fuzz/fuzz.h"

#define TOKEN	 "MFRGGZDFMZTWQ2LKNNWG23TPOA"
#define LOGIN	 "NBSWC4DDMFZXI2DFMFYHG5DPOA"
#define LINES	 6
#define TEXT_MAX 4096

static const char *const names[] = {"heap.example.org", NULL};

static int status_of(struct access *access, const struct claim *claim)
{
	struct err_text err = {{0}};
	int status = 200, r;

	access->logins.list[0].until_ms = 2000;
	memcpy(access->logins.list[0].value, LOGIN, sizeof(LOGIN));
	r = access_check(access, claim, 1000, &status, &err);
	must(r < 0 ? status == 401 || status == 403 || status == 429 : status == 200);
	must((r < 0) == (err.text[0] != 0));
	return status;
}

static void check(const struct claim *claim, bool login)
{
	struct access here = {.token = TOKEN, .local = true, .port = 8080},
		      there = {.token = TOKEN, .https = true, .port = 8080},
		      proxied = {.token = TOKEN, .https = true, .hosts = names, .port = 8080};
	struct claim order = *claim;
	const char *brought = claim->authorization ? token_brought(claim->authorization) : NULL;
	bool token = brought && !strcmp(brought, TOKEN);

	order.reads = false;
	order.needs_token = true;
	must(token || status_of(&here, &order) != 200);
	must(token || login || status_of(&there, &order) != 200);
	must(token || login || status_of(&there, claim) != 200);
	must(status_of(&proxied, claim) != 200 ||
	     (claim->host && !strncasecmp(claim->host, names[0], strlen(names[0]))));
	if (claim->origin && claim->host && status_of(&there, &order) == 200)
		must(!strncmp(claim->origin, "https://", 8) &&
		     !strcmp(claim->origin + 8, claim->host));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX + 1], token[TOKEN_MAX + 1], login[LOGIN_TEXT], *lines[LINES] = {0},
									  *at = text;
	struct access access = {.hosts = names, .port = 8080};
	struct claim claim;

	if (size > TEXT_MAX)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (unsigned i = 0; i < LINES && at; i++) {
		char *line = strsep(&at, "\n");

		lines[i] = *line ? line : NULL;
	}
	claim = (struct claim){.host = lines[0],
			       .origin = lines[1],
			       .authorization = lines[2],
			       .cookie = lines[3],
			       .forwarded_for = lines[4],
			       .reads = true};
	access_read_cookie(&access, &claim, login);
	must(strlen(login) < LOGIN_TEXT);
	check(&claim, !strcmp(login, LOGIN));
	access_from(&access, &claim);
	token_in_form(lines[5] ? lines[5] : "", token);
	must(strlen(token) <= TOKEN_MAX);
	return 0;
}
