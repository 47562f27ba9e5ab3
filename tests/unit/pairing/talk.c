/*
 * The conversation of pairing, without sockets: what each side says, word for word, what it takes
 * in which state, what it refuses and why, and what is left behind on disk.
 */
#include "tests/unit/pairing/talk_scene.h"

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
	};
	struct secret code;

	if (pair_code_secret("ABCDEFGHIJKLMNOPQRSTUVWXYA", 26, &code, NULL) < 0) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
