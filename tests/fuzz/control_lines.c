/*
 * Orders on their way through the collector: lines at its control socket
 * (collector/control/order.h), and the body of a request (collector/http/server/body.h); the first
 * byte says which. What was understood, written again, is understood the same way.
 */
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "collector/control/control.h"
#include "collector/control/order.h"
#include "collector/http/server/body.h"
#include "collector/http/server/route.h"
#include "proto/ring.h"
#include "tests/fuzz/fuzz.h"

static void must_be_utf8(const char *text)
{
	uint32_t code;

	for (size_t left = strlen(text), n; left; text += n, left -= n)
		must((n = utf8_next(text, left, &code)) != 0);
}

static void order(const char *line)
{
	struct control_order a, b;
	const char *why = NULL;
	char out[CONTROL_LINE];

	if (control_order_parse(line, &a, &why) < 0) {
		must(why && *why);
		return;
	}
	must(a.action >= CONTROL_START && a.action <= CONTROL_MARK);
	must(a.wait_ms <= CONTROL_WAIT_MAX_MS && a.interval <= RING_INTERVAL_MAX);
	must(!a.target[0] || !a.host[0]);
	must_be_utf8(a.text);
	must(!control_order_format(out, sizeof(out), &a));
	must(!control_order_parse(out, &b, &why) && !memcmp(&a, &b, sizeof(a)));
}

static void reply(const char *line)
{
	struct control_reply a, b;
	char out[1024];

	if (control_reply_parse(line, &a) < 0)
		return;
	must_be_utf8(a.text);
	control_reply_format(out, sizeof(out), &a);
	must(!control_reply_parse(out, &b) && a.code == b.code && !strcmp(a.text, b.text));
}

struct body_read_here {
	const char *a, *text;
	uint64_t n;
};

static void body(char *data, size_t size)
{
	static const struct route_parameter members[] = {
		PARAMETER(struct body_read_here, "a", PARAMETER_TEXT, a, "", "", .most = 31),
		PARAMETER(struct body_read_here, "text", PARAMETER_TEXT, text, "", "", .most = 299),
		PARAMETER(struct body_read_here, "n", PARAMETER_NUMBER, n, "", ""),
		{0},
	};
	struct body_read_here into = {.a = NULL};
	char name[BODY_NAME_MAX] = "";
	struct err_text err = {{0}};

	if (body_read(data, size, members, &into, name, &err) < 0) {
		must(err.text[0] != '\0');
		must(strlen(name) < sizeof(name));
		return;
	}
	must(!name[0]);
	must_be_utf8(into.a ? into.a : "");
	must_be_utf8(into.text ? into.text : "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[4096];

	if (!size || size >= sizeof(line))
		return 0;
	memcpy(line, data + 1, size - 1);
	line[size - 1] = '\0';
	if (data[0] == 'o')
		order(line);
	else if (data[0] == 'r')
		reply(line);
	else
		body(line, size - 1);
	return 0;
}
