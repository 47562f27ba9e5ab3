/* The login page: a form for the token, for browsers on other machines. It works without scripts. A
 * browser that sends the token gets a cookie (logins.h). Loopback has no login page: reading needs
 * no token there, and browsers send a cookie to every port of a host, so other users of this
 * machine could collect it. */
#include <errno.h>
#include <string.h>

#include "collector/http/server/exchange.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/token.h"

#include "base/ban.h"

static const char page_begin[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>heapcast</title>\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:26rem;margin:15vh auto;padding:0 "
	"1rem}"
	"input,button{font:inherit;padding:.4rem "
	".6rem}input{width:100%;box-sizing:border-box;margin:.3rem 0 .8rem}"
	"</style></head><body>\n<h1>heapcast</h1>\n";
static const char page_end[] =
	"<form method=\"post\" action=\"login\">\n"
	"<label for=\"token\">The token (the file of --token, at the collector, has it)</label>\n"
	"<input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" "
	"required autofocus>\n"
	"<button>Log in</button>\n</form>\n</body></html>\n";

int login_page(struct exchange *x, const char *said)
{
	x->content_type = "text/html; charset=utf-8";
	x->is_login_page = true;
	buf_string(&x->out, page_begin);
	if (*said) {
		buf_string(&x->out, "<p role=\"alert\">");
		buf_string(&x->out,
			   said); /* only our own sentences, so nothing has to be escaped */
		buf_string(&x->out, "</p>\n");
	}
	buf_string(&x->out, page_end);
	return buf_error(&x->out);
}

/* Redirects to the page. The path is relative, because a proxy may serve us below a folder. */
static int login_go_on(struct exchange *x)
{
	x->status = 303;
	x->location = strdup("./");
	return x->location ? 0 : -ENOMEM;
}

static int not_here(struct exchange *x)
{
	return err_set(&x->err, -ENOENT,
		       "there is no login on a loopback address: reading takes no token there, and "
		       "an order brings it as Authorization: Bearer TOKEN");
}

static int login_step(struct exchange *x)
{
	char token[TOKEN_MAX + 1];
	uint64_t now_ms = uv_now(x->workers->loop);
	int r = x->access->local ? not_here(x) : 0;

	if (r < 0)
		return r;
	if (!x->post)
		return login_page(x, "");
	if (!buf_text(&x->request.body))
		return -ENOMEM;
	token_in_form(buf_text(&x->request.body), token);
	r = access_try(x->access, token, &x->from, now_ms, &x->status, &x->err);
	explicit_bzero(token, sizeof(token));
	if (r < 0)
		return login_page(x, x->err.text);
	r = logins_add(&x->access->logins, now_ms, x->login);
	if (r < 0)
		return err_set(&x->err, r, "the system has no random numbers for a login");
	access_write_cookie(x->access, x->login, x->set_cookie);
	return login_go_on(x);
}

static int logout_step(struct exchange *x)
{
	if (x->access->local)
		return not_here(x);
	logins_remove(&x->access->logins, x->login);
	access_write_cookie(x->access, "", x->set_cookie);
	return login_go_on(x);
}

const struct route login_route = {
	.path = "/login",
	.about = "a form for the token",
	.content_type = "text/html; charset=utf-8",
	.flags = ROUTE_ON_LOOP,
	.method = ROUTE_LOGIN,
	.step = login_step,
};
const struct route logout_route = {
	.path = "/logout",
	.about = "ends the login that the form began",
	.content_type = "text/html; charset=utf-8",
	.flags = ROUTE_ON_LOOP,
	.method = ROUTE_LOGOUT,
	.step = logout_step,
};
