/*
 * Lines at the agent's control socket (agent/serve/order_line.h), as they come: the first byte says
 * of which end. What was understood, written again, is understood the same way; texts for people
 * are one line of UTF-8.
 */
#include <string.h>

#include "agent/serve/order_line.h"
#include "base/utf8.h"
#include "proto/ring.h"
#include "tests/fuzz/fuzz.h"

static void must_be_text(const char *text)
{
	uint32_t code;

	for (size_t left = strlen(text); left;) {
		size_t n = utf8_next(text, left, &code);

		must(n && code >= 0x20 && code != 0x7f);
		text += n;
		left -= n;
	}
}

static void question(const char *line)
{
	struct order_question q;
	const char *why = NULL;

	if (order_question_parse(line, &q, &why) < 0) {
		must(why && *why);
		return;
	}
	must(q.status || (q.order.action >= 1 && q.order.action <= 5));
	must(q.pid >= 0 && q.order.value <= RING_INTERVAL_MAX && q.order.mode <= RING_SAMPLE);
	must(!q.order.text || q.order.text_length == strlen((const char *)q.order.text));
}

static void agent(const char *line)
{
	struct order_agent a, b;
	char out[512];

	if (order_agent_parse(line, &a) < 0)
		return;
	order_agent_format(out, sizeof(out), &a);
	must(!order_agent_parse(out, &b) && !memcmp(&a, &b, sizeof(a)));
}

static void program(const char *line)
{
	struct order_program a, b;
	char out[512];

	if (order_program_parse(line, &a) < 0)
		return;
	must_be_text(a.name);
	order_program_format(out, sizeof(out), &a);
	must(!order_program_parse(out, &b) && a.events == b.events && !strcmp(a.name, b.name));
}

static void done(const char *line)
{
	struct order_done a, b;
	char out[512];

	if (order_done_parse(line, &a) < 0)
		return;
	must_be_text(a.text);
	order_done_format(out, sizeof(out), &a);
	must(!order_done_parse(out, &b) && a.done == b.done && !strcmp(a.text, b.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[4096];

	if (!size || size >= sizeof(line))
		return 0;
	memcpy(line, data + 1, size - 1);
	line[size - 1] = '\0';
	switch (data[0]) {
	case 'q':
		question(line);
		break;
	case 'a':
		agent(line);
		break;
	case 'p':
		program(line);
		break;
	default:
		done(line);
	}
	return 0;
}
