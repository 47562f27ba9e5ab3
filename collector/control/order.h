#pragma once
/*
 * Orders to agents, as lines at the control socket (control.h). Question and answer:
 *
 *   order WAIT_MS TARGET start|stop|snapshot
 *   order WAIT_MS TARGET mode full|sample|sample=BYTES|off
 *   order WAIT_MS TARGET mark TEXT
 *
 *   done STREAM TIME_NS MODE INTERVAL SNAPSHOT TEXT     one of the two for each stream
 *   refused STREAM CODE TEXT
 *   ok | no WHY
 *
 * TARGET is a stream's 32 digits, `all` (live streams), or `host=NAME` (live streams of that host).
 * A text may be empty. Both ends check what the other writes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_ORDER_TEXT_MAX 1024
#define CONTROL_STREAM_TEXT    33
#define CONTROL_WAIT_MAX_MS    60000

/* Numbers of enum Action and enum Mode in heapcast.proto. */
enum control_action {
	CONTROL_START = 1,
	CONTROL_STOP,
	CONTROL_MODE,
	CONTROL_SNAPSHOT,
	CONTROL_MARK
};

/* Numbers of enum ReplyStatus, up to CONTROL_MALFORMED. */
enum control_code {
	CONTROL_UNKNOWN,
	CONTROL_DONE,
	CONTROL_NO_STREAM,
	CONTROL_ENDED,
	CONTROL_NOT_ALLOWED,
	CONTROL_SWITCHED_OFF,
	CONTROL_TOO_MANY,
	CONTROL_MALFORMED,
	CONTROL_NOT_CONNECTED, /* the stream's agent is not connected */
	CONTROL_NOT_ANSWERED,
	CONTROL_CODES
};
/* Returns "no-stream", "ended" and so on. */
const char *control_code_word(enum control_code code);

struct control_order {
	uint64_t wait_ms;
	char target[CONTROL_STREAM_TEXT]; /* a stream; empty: all live ones, */
	char host[64];			  /* of this host, if it is not empty */
	enum control_action action;
	int mode;
	uint64_t interval; /* 0: unchanged */
	char text[CONTROL_ORDER_TEXT_MAX + 1];
};

/*
 * Fills in the action and its parameters from a user's words. Returns 0, or -EINVAL with a sentence
 * in `ret_why`.
 */
int control_order_say(struct control_order *order, const char *action, const char *argument,
		      const char **ret_why);
/* Formats an order as a line. Returns 0 or -EMSGSIZE. */
int control_order_format(char *out, size_t size, const struct control_order *order);
/* Parses a line. Returns 0, or -EINVAL with a sentence. */
int control_order_parse(const char *line, struct control_order *ret_order, const char **ret_why);

struct control_reply {
	enum control_code code;
	char stream[CONTROL_STREAM_TEXT];
	uint64_t time_ns, interval, snapshot;
	int mode;
	char text[256];
};

int control_reply_format(char *out, size_t size, const struct control_reply *reply);
/* Parses a reply. Returns 0 or -EINVAL. */
int control_reply_parse(const char *line, struct control_reply *ret_reply);
