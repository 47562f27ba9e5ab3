/* Checks requests before they are answered. See admission.h. */
#include "collector/http/server/admission.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"
#include "collector/http/server/exchange.h"
#include "collector/http/server/import.h"
#include "collector/http/server/routes.h"

#include "base/ban.h"

#define BODY_BYTES_MAX	   8192
#define QUESTION_BYTES_MAX 65536

int admission_refuse(struct exchange *x, int status, int error, const char *text)
{
	x->status = status;
	return err_set(&x->err, error, "%s", text);
}

static int check_access(struct exchange *x, struct access *access, struct arrival *arrival)
{
	const enum route_method method = x->route.method;
	struct claim *claim = &arrival->claim;
	bool order = x->post && (method == ROUTE_ORDER || method == ROUTE_FILE);
	int r;

	claim->needs_token = order || x->route.flags & ROUTE_NEEDS_TOKEN;
	claim->brings_token = method == ROUTE_LOGIN || method == ROUTE_LOGOUT;
	x->access = access;
	x->from = access_from(access, claim);
	access_read_cookie(access, claim, x->login);
	r = access_check(access, claim, arrival->now_ms, &x->status, &x->err);
	if (r < 0 || !(x->route.flags & ROUTE_TELLS_RIGHTS))
		return r;
	x->may_order = access_may_order(access, claim, arrival->now_ms, &x->why_not);
	x->logged_in = access_is_logged_in(access, claim, arrival->now_ms);
	return 0;
}

/* Compares media types. A foreign page can send JSON or binary data only after a CORS preflight,
 * which this server does not answer. */
static bool is_type(const char *type, const char *wanted)
{
	size_t length = strlen(wanted);

	return type && !strncasecmp(type, wanted, length) &&
	       (!type[length] || type[length] == ';' || type[length] == ' ');
}

static int check_body(struct exchange *x, const struct arrival *arrival)
{
	const enum route_method method = x->route.method;
	bool question = method == ROUTE_QUESTION || method == ROUTE_GET_OR_QUESTION;
	uint64_t length;

	if (method == ROUTE_GET)
		return admission_refuse(x, 405, -EINVAL, "only GET and HEAD are answered here");
	if (method == ROUTE_LOGOUT)
		return 0; /* the route takes no body */
	if (method == ROUTE_ORDER && !is_type(arrival->type, "application/json"))
		return admission_refuse(x, 415, -EINVAL, "an order comes as application/json");
	if (method == ROUTE_FILE && !is_type(arrival->type, "application/octet-stream"))
		return admission_refuse(x, 415, -EINVAL,
					"a file comes as application/octet-stream");
	if (!arrival->length || parse_u64(arrival->length, &length) < 0 || !length)
		return admission_refuse(
			x, 411, -EINVAL,
			question ? "the text comes in the body, with a Content-Length"
				 : "this takes a body, and a Content-Length");
	x->body_left = (size_t)length;
	if (method == ROUTE_FILE)
		return upload_begin(x, length);
	if (length > (question ? QUESTION_BYTES_MAX : BODY_BYTES_MAX))
		return admission_refuse(x, 413, -EINVAL,
					question ? "a text has 65,536 bytes at most"
						 : "the body has 8,192 bytes at most");
	return 0;
}

int admission_check(struct exchange *x, struct access *access, struct arrival *arrival)
{
	bool reads = arrival->claim.reads;
	int r;

	x->body_left = !reads; /* until it is known: there may be a body that nobody reads */
	r = check_access(x, access, arrival);
	if (r < 0)
		return r;
	if (!reads && !x->post)
		return admission_refuse(x, 405, -EINVAL, "only GET and HEAD are answered");
	if (!arrival->has_version)
		return admission_refuse(
			x, 400, -EINVAL,
			"an end of a line (%0A) goes in the first request of a connection "
			"without TLS only: send a statement by POST");
	if (strlen(x->request.path) != arrival->path_length)
		return admission_refuse(x, 400, -EINVAL, "the path has a NUL in it");
	if (x->post)
		return check_body(x, arrival);
	return strcmp(route_methods(&x->route), "POST") != 0
		       ? 0
		       : admission_refuse(x, 405, -EINVAL, "only POST is answered here");
}

bool admission_wants_form(const struct exchange *x, const struct arrival *arrival)
{
	return x->status == 401 && !x->access->local && !x->post && !strcmp(x->request.path, "/") &&
	       arrival->accepted && strstr(arrival->accepted, "text/html");
}
