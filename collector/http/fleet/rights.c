/* /rights: what the client may do here. A page cannot know that otherwise: it cannot read its
 * cookie, nor tell whether a token that it has kept is still valid. */
#include "collector/http/routes/asking.h"
#include "collector/http/server/import.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

struct rights {
	bool orders, login, data;
	const char *why;
	uint64_t import_bytes;
};

#define ANSWER_OF struct rights
static const struct answer_field rights_fields[] = {
	ROW("orders", orders, NULL,
	    "true: the client may give orders, import files and read sources"),
	ROW("why", why, NULL, "why it may not, and what it has to bring", .when = IF_TEXT),
	ROW("login", login, NULL,
	    "true: the client has the cookie of the login page; POST /logout ends it"),
	ROW("data", data, NULL, "true: a data folder is served, into which files can be imported"),
	ROW("import_bytes", import_bytes, "bytes", "bytes that an imported file may have now"),
	{0},
};
#undef ANSWER_OF
static const struct answer rights_answer = {"rights", rights_fields};

static int rights_ask(struct asking *a)
{
	*(struct rights *)a->result =
		(struct rights){.orders = a->x->may_order,
				.login = a->x->logged_in,
				.data = sources_data(a->x->sources) != NULL,
				.why = a->x->why_not.text,
				.import_bytes = import_bytes_max(a->x->sources)};
	return 0;
}

const struct route rights_route = {
	.path = "/rights",
	.about = "what the client may do",
	.flags = ROUTE_ON_LOOP | ROUTE_TELLS_RIGHTS,
	.answer = &rights_answer,
	ROUTE_ASKS(struct rights, rights_ask, NULL),
};
