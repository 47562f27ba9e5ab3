/* Formats and parses lines of orders. order.h describes them. */
#include "collector/control/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "proto/mode.h"
#include "proto/ring.h"
#include "base/ban.h"

static const char *const actions[] = {
	[CONTROL_START] = "start",	 [CONTROL_STOP] = "stop", [CONTROL_MODE] = "mode",
	[CONTROL_SNAPSHOT] = "snapshot", [CONTROL_MARK] = "mark",
};

static const char *const codes[CONTROL_CODES] = {
	[CONTROL_UNKNOWN] = "unknown",
	[CONTROL_DONE] = "done",
	[CONTROL_NO_STREAM] = "no-stream",
	[CONTROL_ENDED] = "ended",
	[CONTROL_NOT_ALLOWED] = "not-allowed",
	[CONTROL_SWITCHED_OFF] = "switched-off",
	[CONTROL_TOO_MANY] = "too-many",
	[CONTROL_MALFORMED] = "malformed",
	[CONTROL_NOT_CONNECTED] = "not-connected",
	[CONTROL_NOT_ANSWERED] = "not-answered",
};

const char *control_code_word(enum control_code code)
{
	return codes[(unsigned)code < CONTROL_CODES ? code : CONTROL_UNKNOWN];
}

int control_order_say(struct control_order *o, const char *action, const char *argument,
		      const char **ret_why)
{
	bool takes;

	*ret_why = "an order is start, stop, mode, snapshot or mark";
	o->action = 0;
	for (unsigned i = CONTROL_START; i <= CONTROL_MARK; i++)
		if (!strcmp(actions[i], action))
			o->action = (enum control_action)i;
	if (!o->action)
		return -EINVAL;
	takes = o->action == CONTROL_MODE || o->action == CONTROL_MARK;
	*ret_why = "start, stop and snapshot take nothing more";
	if (!takes)
		return argument ? -EINVAL : 0;
	if (o->action == CONTROL_MODE) {
		*ret_why = "mode takes full, sample, sample=BYTES (1 to 4G) or off";
		return argument ? mode_parse(argument, &o->mode, &o->interval) : -EINVAL;
	}
	*ret_why = "a mark has a text, of 1,024 bytes at most";
	if (!argument || strlen(argument) > CONTROL_ORDER_TEXT_MAX)
		return -EINVAL;
	return words_clean(o->text, sizeof(o->text), argument, strlen(argument)) ? 0 : -EINVAL;
}

int control_order_format(char *out, size_t size, const struct control_order *o)
{
	char mode[40] = "";
	const char *argument = o->action == CONTROL_MARK ? o->text : mode;
	int n;

	if (o->action == CONTROL_MODE)
		mode_text(mode, sizeof(mode), o->mode, o->interval);
	n = snprintf(out, size, "order %" PRIu64 " %s%s %s%s%s", o->wait_ms,
		     o->target[0] ? o->target
		     : o->host[0] ? "host="
				  : "all",
		     o->target[0] ? "" : o->host, actions[o->action], *argument ? " " : "",
		     argument);
	return n < 0 || (size_t)n >= size ? -EMSGSIZE : 0;
}

static bool is_stream(const char *word)
{
	return strlen(word) == CONTROL_STREAM_TEXT - 1 &&
	       strspn(word, "0123456789abcdef") == CONTROL_STREAM_TEXT - 1;
}

static bool parse_target(struct control_order *o, const char *word)
{
	if (is_stream(word))
		memcpy(o->target, word, sizeof(o->target));
	else if (!strncmp(word, "host=", 5) && word[5] && strlen(word + 5) < sizeof(o->host))
		memcpy(o->host, word + 5, strlen(word + 5) + 1);
	else
		return !strcmp(word, "all");
	return true;
}

int control_order_parse(const char *line, struct control_order *ret, const char **ret_why)
{
	struct control_order o = {0};
	char word[WORD_MAX];
	int r;

	*ret_why = "such an order is not known here";
	if (!words_is_next(&line, "order") ||
	    !words_number(&line, CONTROL_WAIT_MAX_MS, &o.wait_ms) || !words_next(&line, word) ||
	    !parse_target(&o, word) || !words_next(&line, word))
		return -EINVAL;
	r = control_order_say(&o, word, *line ? line : NULL, ret_why);
	if (!r)
		*ret = o;
	return r;
}

int control_reply_format(char *out, size_t size, const struct control_reply *r)
{
	if (r->code != CONTROL_DONE)
		return snprintf(out, size, "refused %s %s %s", r->stream,
				control_code_word(r->code), r->text);
	return snprintf(out, size, "done %s %" PRIu64 " %d %" PRIu64 " %" PRIu64 " %s", r->stream,
			r->time_ns, r->mode, r->interval, r->snapshot, r->text);
}

static bool parse_code(const char **at, enum control_code *ret)
{
	char word[WORD_MAX];

	if (!words_next(at, word))
		return false;
	for (unsigned i = 0; i < CONTROL_CODES; i++) {
		if (i == CONTROL_DONE || strcmp(word, codes[i]) != 0)
			continue;
		*ret = (enum control_code)i;
		return true;
	}
	return false;
}

int control_reply_parse(const char *line, struct control_reply *ret)
{
	struct control_reply r = {.code = CONTROL_DONE};
	char word[WORD_MAX], stream[WORD_MAX];
	uint64_t mode = 0;
	bool done;

	if (!words_next(&line, word) || !words_next(&line, stream) || !is_stream(stream))
		return -EINVAL;
	done = !strcmp(word, "done");
	if (done ? !words_number(&line, UINT64_MAX, &r.time_ns) ||
			    !words_number(&line, RING_SAMPLE, &mode) ||
			    !words_number(&line, RING_INTERVAL_MAX, &r.interval) ||
			    !words_number(&line, UINT64_MAX, &r.snapshot)
		 : strcmp(word, "refused") != 0 || !parse_code(&line, &r.code))
		return -EINVAL;
	memcpy(r.stream, stream, sizeof(r.stream));
	r.mode = (int)mode;
	words_clean(r.text, sizeof(r.text), line, strlen(line));
	*ret = r;
	return 0;
}
