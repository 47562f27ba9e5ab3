#pragma once
/*
 * Two sides of a pairing without sockets, for the tests of its conversation: what one says is
 * carried to the other by hand, or made up.
 */
#include "proto/pairing_talk.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/secure/pair_code.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define HELLO	HEAPCAST__PAIRING_STEP__PAIRING_HELLO
#define READY	HEAPCAST__PAIRING_STEP__PAIRING_READY
#define KEPT	HEAPCAST__PAIRING_STEP__PAIRING_KEPT
#define DONE	HEAPCAST__PAIRING_STEP__PAIRING_DONE
#define REFUSED HEAPCAST__PAIRING_STEP__PAIRING_REFUSED

struct side {
	char folder[128];
	struct secret code;
	struct secure *secure;
	struct pairing_options options;
	struct pairing_share share;
	struct pairing_talk talk;
	struct err_text err;
	int r;
};

static struct side agent, collector;
static unsigned descriptors;

static inline void side_open(struct side *s, const char *name, bool is_agent)
{
	struct secure_options tls = {.secrets = &s->code, .secret_count = 1, .paired = true};

	memset(s, 0, sizeof(*s));
	snprintf(s->folder, sizeof(s->folder), "%s/%s", temporary_folder, name);
	assert_int_equal(pair_code_secret("ABCDEFGHIJKLMNOPQRSTUVWXYA", 26, &s->code, NULL), 0);
	assert_int_equal(secure_open(&tls, &s->secure, NULL), 0);
	s->options =
		(struct pairing_options){.agent = is_agent, .code = &s->code, .folder = s->folder};
	s->share = (struct pairing_share){.options = &s->options, .uses = 3};
	snprintf(s->share.host, sizeof(s->share.host), "host of the %s", name);
	s->talk.share = &s->share;
	s->talk.draft.folder = -1;
	s->talk.session = secure_session_new(s->secure, !is_agent, 0);
	snprintf(s->talk.address, sizeof(s->talk.address), "10.0.0.%d", is_agent ? 7 : 8);
}

static inline void side_close(struct side *s)
{
	static const struct secret none;
	static const uint8_t no_key[PAIR_KEY_SIZE];

	pairing_talk_done(&s->talk);
	assert_memory_equal(&s->talk.secret, &none, sizeof(none));
	assert_memory_equal(s->talk.key, no_key, sizeof(no_key));
	secure_session_free(s->talk.session);
	secure_close(s->secure);
}

static inline void carry(struct side *from, struct side *to)
{
	size_t n;
	const uint8_t *data = secure_output(from->talk.session, &n);

	secure_feed(to->talk.session, data, n);
	secure_shake(to->talk.session, &to->err);
	secure_sent(from->talk.session, n);
}

/* Two that know each other's code, and have said nothing yet. */
static inline void meet(void)
{
	descriptors = descriptors_open();
	side_open(&agent, "agent", true);
	side_open(&collector, "collector", false);
	secure_shake(agent.talk.session, &agent.err);
	for (unsigned i = 0; i < 4; i++) {
		carry(&agent, &collector);
		carry(&collector, &agent);
	}
}

static inline void part(void)
{
	side_close(&agent);
	side_close(&collector);
	assert_int_equal(descriptors_open(), descriptors);
}

/* Both have said hello, and heard it. */
static inline void begin(void)
{
	meet();
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), 0);
	assert_int_equal(pairing_talk_begin(&collector.talk, &collector.err), 0);
}

/* What is to be sent next, which has to be one message. */
static inline Heapcast__Pairing *said(const struct pairing_talk *t)
{
	size_t length = t->out[0] | (size_t)t->out[1] << 8;
	Heapcast__Pairing *m;

	assert_int_equal(t->out_length, PAIRING_LENGTH + length);
	m = heapcast__pairing__unpack(NULL, length, t->out + PAIRING_LENGTH);
	assert_non_null(m);
	return m;
}

static inline void expect_said(const struct side *s, Heapcast__PairingStep step, const char *host,
			       const char *text, bool with_key)
{
	Heapcast__Pairing *m = said(&s->talk);

	assert_int_equal(m->protocol, PAIRING_PROTOCOL);
	assert_int_equal(m->step, step);
	assert_int_equal(m->agent, s->options.agent);
	assert_string_equal(m->host, host);
	assert_string_equal(m->text, text);
	assert_int_equal(m->key_id.len, with_key ? SECRET_ID_SIZE : 0);
	if (with_key)
		assert_memory_equal(m->key_id.data, s->talk.secret.id, SECRET_ID_SIZE);
	heapcast__pairing__free_unpacked(m, NULL);
}

/* Everything that one has to say, through TLS. */
static inline void deliver(struct side *from, struct side *to)
{
	size_t n;
	const uint8_t *data;

	assert_int_equal(pairing_talk_write(&from->talk), 0);
	assert_int_equal(from->talk.out_length, 0);
	assert_int_equal(from->talk.out_at, 0);
	data = secure_output(from->talk.session, &n);
	secure_feed(to->talk.session, data, n);
	to->r = pairing_talk_read(&to->talk, &to->err);
	secure_sent(from->talk.session, n);
}

/* A message as the other side could have said it. */
struct message {
	Heapcast__PairingStep step;
	bool agent;
	unsigned protocol;
	uint8_t *key;
	size_t key_length;
	char *text;
};

static inline void put(struct pairing_talk *t, const struct message *message)
{
	Heapcast__Pairing m = HEAPCAST__PAIRING__INIT;
	uint8_t *to = t->in + t->in_length;
	size_t length;

	m.protocol = message->protocol;
	m.step = message->step;
	m.agent = message->agent;
	m.host = (char *)(uintptr_t) "other";
	m.key_id = (ProtobufCBinaryData){message->key_length, message->key};
	if (message->text)
		m.text = message->text;
	length = heapcast__pairing__pack(&m, to + PAIRING_LENGTH);
	to[0] = (uint8_t)length;
	to[1] = (uint8_t)(length >> 8);
	t->in_length += PAIRING_LENGTH + length;
}

static inline void expect_refusal(struct side *s, int error, const char *text)
{
	assert_int_equal(s->r, error);
	assert_string_equal(s->err.text, text);
	assert_int_equal(s->talk.state, PAIRING_OVER);
	assert_false(s->talk.confirmed);
	expect_said(s, REFUSED, "", text, false);
	assert_int_equal(s->share.kept, 0);
	assert_int_equal(s->share.uses, 3);
	assert_string_equal(s->talk.name.text, "");
}
