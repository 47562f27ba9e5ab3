/* /rights: what the one who asks may do here. A page can't know otherwise: of its cookie it knows
 * nothing, and of a token that it has kept not whether that still holds. */
#include "collector/answers/json.h"
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
	ROW("orders", orders, NULL, "may give orders, import files and read sources"),
	ROW("why", why, NULL, "why not, and what to bring", .when = IF_TEXT),
	ROW("login", login, NULL, "came by the cookie of the login page: POST /logout ends it"),
	ROW("data", data, NULL, "a data folder is served, into which files can be imported"),
	ROW("import_bytes", import_bytes, "bytes", "that a file may have now"),
	{0},
};
#undef ANSWER_OF
const struct answer rights_answer = {"rights", rights_fields};

int rights_step(struct exchange *x)
{
	struct rights rights = {.orders = x->may_order,
				.login = x->logged_in,
				.data = sources_data(x->sources) != NULL,
				.why = x->why_not.text,
				.import_bytes = import_bytes_max(x->sources)};
	struct json json;
	int r = no_parameters(x);

	if (r < 0)
		return r;
	x->content_type = "application/json";
	json_init(&json, &x->out);
	json_object_of(&json, NULL, &rights_answer, &rights, NULL);
	return buf_error(&x->out);
}
