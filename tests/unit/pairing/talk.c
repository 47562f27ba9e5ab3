/*
 * The conversation of pairing, without sockets: what each side says, word for word, what it takes
 * in which state, what it refuses and why, and what is left behind on disk.
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

static void side_open(struct side *s, const char *name, bool is_agent)
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

static void side_close(struct side *s)
{
	static const struct secret none;
	static const uint8_t no_key[PAIR_KEY_SIZE];

	pairing_talk_done(&s->talk);
	assert_memory_equal(&s->talk.secret, &none, sizeof(none));
	assert_memory_equal(s->talk.key, no_key, sizeof(no_key));
	secure_session_free(s->talk.session);
	secure_close(s->secure);
}

static void carry(struct side *from, struct side *to)
{
	size_t n;
	const uint8_t *data = secure_output(from->talk.session, &n);

	secure_feed(to->talk.session, data, n);
	secure_shake(to->talk.session, &to->err);
	secure_sent(from->talk.session, n);
}

/* Two that know each other's code, and have said nothing yet. */
static void meet(void)
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

static void part(void)
{
	side_close(&agent);
	side_close(&collector);
	assert_int_equal(descriptors_open(), descriptors);
}

/* Both have said hello, and heard it. */
static void begin(void)
{
	meet();
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), 0);
	assert_int_equal(pairing_talk_begin(&collector.talk, &collector.err), 0);
}

/* What is to be sent next, which has to be one message. */
static Heapcast__Pairing *said(const struct pairing_talk *t)
{
	size_t length = t->out[0] | (size_t)t->out[1] << 8;
	Heapcast__Pairing *m;

	assert_int_equal(t->out_length, PAIRING_LENGTH + length);
	m = heapcast__pairing__unpack(NULL, length, t->out + PAIRING_LENGTH);
	assert_non_null(m);
	return m;
}

static void expect_said(const struct side *s, Heapcast__PairingStep step, const char *host,
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
static void deliver(struct side *from, struct side *to)
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

static void expect_key(const struct side *s, const char *name, const char *peer, bool begun)
{
	struct pair_facts facts;
	struct pairs p;

	assert_int_equal(pairs_open(&p, s->folder, PAIRS_ALL, &(struct err_text){{0}}, NULL), 0);
	assert_int_equal(p.count, name ? 1 : 0);
	assert_int_equal(p.begun, begun);
	if (name) {
		assert_string_equal(p.name[0].text, name);
		assert_memory_equal(p.secret[0].id, s->talk.secret.id, SECRET_ID_SIZE);
		assert_memory_equal(p.secret[0].key, s->talk.key, PAIR_KEY_SIZE);
		assert_int_equal(pair_facts(s->folder, name, &facts), 0);
		assert_string_equal(facts.peer, peer);
	}
	pairs_done(&p);
}

static unsigned files_of(const struct side *s)
{
	DIR *folder = opendir(s->folder);
	unsigned count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count > 2 ? count - 2 : 0;
}

static void two_get_a_key(void **state)
{
	(void)state;
	begin();
	assert_memory_equal(agent.talk.key, collector.talk.key, PAIR_KEY_SIZE);
	expect_said(&agent, HELLO, "host of the agent", "", false);
	expect_said(&collector, HELLO, "host of the collector", "", false);
	deliver(&agent, &collector);
	assert_int_equal(collector.r, 0);
	assert_int_equal(collector.talk.state, PAIRING_AGREES);
	assert_string_equal(collector.talk.host, "host of the agent");
	deliver(&collector, &agent);
	assert_int_equal(agent.r, 0);
	assert_int_equal(agent.talk.state, PAIRING_AGREES);
	expect_said(&agent, READY, "", "", true);
	expect_key(&agent, NULL, NULL, false); /* a draft is nobody's */
	assert_int_equal(files_of(&agent), 1);
	deliver(&agent, &collector);
	assert_int_equal(collector.r, 0);
	assert_int_equal(collector.talk.state, PAIRING_ENDS);
	assert_false(collector.talk.confirmed);
	expect_said(&collector, KEPT, "", "", true);
	expect_key(&collector, "host-of-the-agent", "host of the agent (10.0.0.8)", false);
	deliver(&collector, &agent);
	assert_int_equal(agent.r, 0);
	assert_int_equal(agent.talk.state, PAIRING_OVER);
	assert_true(agent.talk.confirmed);
	expect_said(&agent, DONE, "", "", true);
	expect_key(&agent, "host-of-the-collector", "host of the collector (10.0.0.7)", true);
	deliver(&agent, &collector);
	assert_int_equal(collector.r, 0);
	assert_int_equal(collector.talk.state, PAIRING_OVER);
	assert_true(collector.talk.confirmed);
	assert_int_equal(collector.talk.out_length, 0);
	assert_int_equal(agent.share.kept, 1);
	assert_int_equal(agent.share.uses, 2);
	assert_int_equal(collector.share.kept, 1);
	assert_int_equal(collector.share.uses, 2);
	assert_string_equal(collector.talk.name.text, "host-of-the-agent");
	part();
	assert_int_equal(files_of(&agent), 2);
	assert_int_equal(files_of(&collector), 1);
}

static void a_name_can_be_given(void **state)
{
	(void)state;
	begin();
	agent.options.name = "desk";
	collector.options.name = "board";
	snprintf(collector.share.host, sizeof(collector.share.host), "new\nline");
	collector.talk.out_length = 0;
	assert_int_equal(pairing_talk_begin(&collector.talk, &collector.err), 0);
	deliver(&agent, &collector);
	deliver(&collector, &agent);
	assert_string_equal(agent.talk.host, "new line");
	deliver(&agent, &collector);
	deliver(&collector, &agent);
	expect_key(&agent, "desk", "new line (10.0.0.7)", true);
	expect_key(&collector, "board", "host of the agent (10.0.0.8)", false);
	part();
}

/* ---- refusals ---- */

/* A message as the other side could have said it. */
struct message {
	Heapcast__PairingStep step;
	bool agent;
	unsigned protocol;
	uint8_t *key;
	size_t key_length;
	char *text;
};

static void put(struct pairing_talk *t, const struct message *message)
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

static void expect_refusal(struct side *s, int error, const char *text)
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

static void other_versions_are_refused(void **state)
{
	(void)state;
	for (unsigned protocol = 0; protocol < 3; protocol += 2) {
		char text[200];

		begin();
		agent.talk.out_length = 0;
		put(&agent.talk, &(struct message){.step = HELLO, .protocol = protocol});
		agent.r = pairing_talk_take(&agent.talk, &agent.err);
		snprintf(text, sizeof(text),
			 "the two are of different versions (of pairing: %u and 1): update the "
			 "older one",
			 protocol);
		expect_refusal(&agent, -EPROTO, text);
		part();
	}
}

static void two_of_a_kind_are_refused(void **state)
{
	(void)state;
	for (int is_agent = 0; is_agent < 2; is_agent++) {
		struct side *s = is_agent ? &agent : &collector;

		begin();
		s->talk.out_length = 0;
		put(&s->talk, &(struct message){.step = HELLO, .agent = is_agent, .protocol = 1});
		s->r = pairing_talk_take(&s->talk, &s->err);
		expect_refusal(s, -EPROTO,
			       is_agent ? "two agents can't be paired"
					: "two collectors can't be paired");
		part();
	}
}

/* In each state each message, with the key, another key and none: what is not the next one ends it.
 */
static void only_the_next_message_is_taken(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2 * 3 * 4 * 4; n++) {
		struct side *s = n % 2 ? &agent : &collector;
		enum pairing_state at = n / 2 % 3;
		Heapcast__PairingStep step = HELLO + n / 6 % 4;
		unsigned key =
			n / 24; /* 0: the right one, else another, a short one, a longer one */
		uint8_t id[SECRET_ID_SIZE + 1] = {0};
		bool hello = step == HELLO && at == PAIRING_GREETS;
		bool next = hello ||
			    (!key && ((at == PAIRING_AGREES && s == &agent && step == KEPT) ||
				      (at == PAIRING_AGREES && s == &collector && step == READY) ||
				      (at == PAIRING_ENDS && step == DONE)));

		begin();
		s->talk.out_length = 0;
		s->talk.state = at;
		if (s == &agent && step == KEPT && next) {
			part();
			continue; /* it wants a draft: two_get_a_key */
		}
		memcpy(id, s->talk.secret.id, SECRET_ID_SIZE);
		id[SECRET_ID_SIZE - 1] ^= key == 1;
		put(&s->talk,
		    &(struct message){.step = step,
				      .agent = s == &collector,
				      .protocol = 1,
				      .key = id,
				      .key_length = SECRET_ID_SIZE - (key == 2) + (key == 3)});
		s->r = pairing_talk_take(&s->talk, &s->err);
		if (next) {
			assert_int_equal(s->r, 0);
			assert_int_equal(s->talk.confirmed, at == PAIRING_ENDS);
		} else {
			expect_refusal(s, -EPROTO, "what it says makes no sense here");
		}
		assert_int_equal(s->talk.in_length, 0);
		part();
	}
}

static void refusals_are_told(void **state)
{
	char text[] = "I don't\nwant to";

	(void)state;
	for (enum pairing_state at = PAIRING_GREETS; at <= PAIRING_ENDS; at++) {
		begin();
		agent.talk.out_length = 0;
		agent.talk.state = at;
		put(&agent.talk, &(struct message){.step = REFUSED, .protocol = 1, .text = text});
		put(&agent.talk, &(struct message){.step = HELLO, .protocol = 1});
		agent.r = pairing_talk_take(&agent.talk, &agent.err);
		assert_int_equal(agent.r, -ECONNREFUSED);
		assert_string_equal(agent.err.text, "the other side says: I don't want to");
		assert_int_equal(agent.talk.state, PAIRING_OVER);
		assert_int_equal(agent.talk.out_length, 0);
		assert_true(agent.talk.in_length > 0); /* nothing is heard behind the end */
		assert_int_equal(pairing_talk_read(&agent.talk, &agent.err), 0);
		part();
	}
}

static void a_code_is_used_up(void **state)
{
	(void)state;
	begin();
	deliver(&agent, &collector);
	deliver(&collector, &agent);
	collector.share.uses = 0;
	deliver(&agent, &collector);
	collector.share.uses = 3;
	expect_refusal(&collector, -EALREADY, "this code was used already");
	expect_key(&collector, NULL, NULL, false);
	deliver(&collector, &agent);
	assert_int_equal(agent.r, -ECONNREFUSED);
	assert_string_equal(agent.err.text, "the other side says: this code was used already");
	part();
	assert_int_equal(files_of(&agent), 0); /* the draft went */
}

static void without_a_folder_there_is_no_key(void **state)
{
	const char *why =
		"there is no folder for keys: neither XDG_CONFIG_HOME nor HOME is set, or "
		"none is wanted";

	(void)state;
	begin();
	agent.options.folder = "";
	deliver(&agent, &collector);
	agent.talk.out_length = 0;
	deliver(&collector, &agent);
	expect_refusal(&agent, -EINVAL, why);
	part();
	begin();
	collector.options.folder = "";
	deliver(&agent, &collector);
	deliver(&collector, &agent);
	deliver(&agent, &collector);
	expect_refusal(&collector, -EINVAL, why);
	part();
}

/* The key goes again where the agent can't have an installation, and where it can't be kept. */
static void what_cannot_be_kept_is_refused(void **state)
{
	char path[256];

	(void)state;
	begin();
	deliver(&agent, &collector);
	deliver(&collector, &agent);
	deliver(&agent, &collector);
	snprintf(path, sizeof(path), "%s/installation", agent.folder);
	assert_int_equal(mkdir(path, 0700), 0);
	deliver(&collector, &agent);
	assert_non_null(strstr(agent.err.text, "no regular file"));
	expect_refusal(&agent, -EINVAL, agent.err.text);
	deliver(&agent, &collector);
	assert_int_equal(collector.r, -ECONNREFUSED);
	assert_false(collector.talk.confirmed);
	assert_string_equal(collector.talk.name.text, "host-of-the-agent"); /* harmless */
	assert_int_equal(files_of(&agent), 1);
	part();
	begin();
	deliver(&agent, &collector);
	deliver(&collector, &agent);
	deliver(&agent, &collector);
	snprintf(path, sizeof(path), "%s/%s", agent.folder, agent.talk.draft.temporary);
	assert_int_equal(unlink(path), 0);
	deliver(&collector, &agent);
	assert_non_null(strstr(agent.err.text, "cannot keep the key"));
	expect_refusal(&agent, -ENOENT, agent.err.text);
	part();
}

/* ---- messages and bytes ---- */

static void pieces_are_put_together(void **state)
{
	uint8_t whole[sizeof(agent.talk.in)];
	size_t length;

	(void)state;
	begin();
	agent.talk.out_length = 0;
	put(&agent.talk, &(struct message){.step = HELLO, .protocol = 1});
	length = agent.talk.in_length;
	put(&agent.talk, &(struct message){.step = DONE, .protocol = 1});
	memcpy(whole, agent.talk.in, agent.talk.in_length);
	agent.talk.in_length = 0;
	for (size_t i = 0; i < length; i++) {
		assert_int_equal(agent.talk.state, PAIRING_GREETS);
		agent.talk.in[agent.talk.in_length++] = whole[i];
		assert_int_equal(pairing_talk_take(&agent.talk, &agent.err), 0);
		assert_int_equal(agent.talk.in_length, i + 1 < length ? i + 1 : 0);
	}
	assert_int_equal(agent.talk.state, PAIRING_AGREES);
	agent.talk.in[0] = whole[length];
	agent.talk.in_length = 1;
	assert_int_equal(pairing_talk_take(&agent.talk, &agent.err), 0);
	assert_int_equal(agent.talk.in_length, 1);
	assert_int_equal(agent.talk.in[0], whole[length]);
	part();
	/* One and a half at once: the half stays. */
	begin();
	memcpy(agent.talk.in, whole, length + 1);
	agent.talk.in_length = length + 1;
	assert_int_equal(pairing_talk_take(&agent.talk, &agent.err), 0);
	assert_int_equal(agent.talk.in_length, 1);
	assert_int_equal(agent.talk.in[0], whole[length]);
	part();
}

static void bad_messages_are_refused(void **state)
{
	(void)state;
	begin();
	agent.talk.out_length = 0;
	agent.talk.in[0] = (uint8_t)PAIRING_MESSAGE_MAX;
	agent.talk.in[1] = PAIRING_MESSAGE_MAX >> 8;
	memset(agent.talk.in + 2, 0xff, PAIRING_MESSAGE_MAX);
	agent.talk.in_length = PAIRING_LENGTH + PAIRING_MESSAGE_MAX - 1;
	assert_int_equal(pairing_talk_take(&agent.talk, &agent.err), 0);
	agent.talk.in_length++;
	agent.r = pairing_talk_take(&agent.talk, &agent.err);
	expect_refusal(&agent, -EBADMSG, "what it says makes no sense");
	part();
	begin();
	agent.talk.out_length = 0;
	agent.talk.in[0] = (uint8_t)(PAIRING_MESSAGE_MAX + 1);
	agent.talk.in[1] = PAIRING_MESSAGE_MAX >> 8;
	agent.talk.in_length = PAIRING_LENGTH;
	agent.r = pairing_talk_take(&agent.talk, &agent.err);
	expect_refusal(&agent, -EMSGSIZE, "it says too much");
	part();
}

/* What has no room in `out` is not said; what just fits, is. */
static void sayings_are_bounded(void **state)
{
	size_t hello;

	(void)state;
	begin();
	hello = agent.talk.out_length;
	agent.talk.out_length = sizeof(agent.talk.out) - hello;
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), 0);
	assert_int_equal(agent.talk.out_length, sizeof(agent.talk.out));
	agent.talk.out_length = sizeof(agent.talk.out) - hello + 1;
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), 0);
	assert_int_equal(agent.talk.out_length, sizeof(agent.talk.out) - hello + 1);
	part();
}

/* What TLS does not take at once is said later, in its order. */
static void a_full_session_is_waited_for(void **state)
{
	size_t n, length;

	(void)state;
	begin();
	length = agent.talk.out_length;
	assert_int_equal(pairing_talk_write(&agent.talk), 0);
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), 0);
	assert_int_equal(pairing_talk_write(&agent.talk), 0); /* output is pending */
	assert_int_equal(agent.talk.out_length, length);
	assert_int_equal(agent.talk.out_at, 0);
	secure_output(agent.talk.session, &n);
	secure_sent(agent.talk.session, n);
	agent.talk.out_at = 5;
	assert_int_equal(pairing_talk_write(&agent.talk), 0);
	assert_int_equal(agent.talk.out_length, 0);
	assert_int_equal(agent.talk.out_at, 0);
	part();
}

static void ends_are_heard(void **state)
{
	size_t n;
	const uint8_t *data;
	uint8_t bad[64] = {23, 3, 3, 0, 59};

	(void)state;
	begin();
	secure_bye(agent.talk.session);
	data = secure_output(agent.talk.session, &n);
	secure_feed(collector.talk.session, data, n);
	assert_int_equal(pairing_talk_read(&collector.talk, &collector.err), -ENODATA);
	assert_string_equal(collector.err.text, "it closed the connection");
	part();
	begin();
	secure_feed(collector.talk.session, bad, sizeof(bad));
	assert_int_equal(pairing_talk_read(&collector.talk, &collector.err), -EPROTO);
	secure_output(collector.talk.session, &n); /* the alert */
	secure_sent(collector.talk.session, n);
	assert_int_equal(pairing_talk_write(&collector.talk), -EPROTO);
	part();
	/* Before the handshake there is no key to derive. */
	descriptors = descriptors_open();
	side_open(&agent, "agent", true);
	side_open(&collector, "collector", false);
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), -EPROTO);
	assert_string_equal(agent.err.text, "OpenSSL can't derive a key");
	assert_int_equal(agent.talk.out_length, 0);
	part();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(two_get_a_key),
		TEST_IN_FOLDER(a_name_can_be_given),
		TEST_IN_FOLDER(other_versions_are_refused),
		TEST_IN_FOLDER(two_of_a_kind_are_refused),
		TEST_IN_FOLDER(only_the_next_message_is_taken),
		TEST_IN_FOLDER(refusals_are_told),
		TEST_IN_FOLDER(a_code_is_used_up),
		TEST_IN_FOLDER(without_a_folder_there_is_no_key),
		TEST_IN_FOLDER(what_cannot_be_kept_is_refused),
		TEST_IN_FOLDER(pieces_are_put_together),
		TEST_IN_FOLDER(bad_messages_are_refused),
		TEST_IN_FOLDER(sayings_are_bounded),
		TEST_IN_FOLDER(a_full_session_is_waited_for),
		TEST_IN_FOLDER(ends_are_heard),
	};
	struct secret code;

	if (pair_code_secret("ABCDEFGHIJKLMNOPQRSTUVWXYA", 26, &code, NULL) < 0) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
