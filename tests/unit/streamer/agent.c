/*
 * A whole agent, and programs that ask it to be recorded: files, places, stopping, owners, keys,
 * collectors. programs.c has what becomes of sessions.
 */
#include "tests/unit/streamer/whole.h"

#include "base/secure/secret.h"
#include "tests/unit/descriptors.h"

#define NOBODY 65534

/* A program that asks, and has not heard yet. */
static struct program program_begin(void)
{
	struct program p = program_idle();

	command(p.say, 'h', NULL);
	return p;
}

/* What the program was told last; 0: nothing new. */
static uint32_t told(const struct program *p)
{
	struct heard heard = {0};

	while (recv(p->say, &heard, sizeof(heard), MSG_DONTWAIT) > 0)
		;
	return heard.kind;
}

static void file_of_its_own(void **state)
{
	unsigned descriptors = descriptors_open();
	struct program p;
	char path[160];
	struct stat st;

	(void)state;
	whole_begin();
	p = program_recorded();
	snprintf(path, sizeof(path), "%s/%d.heapcast", temporary_folder, (int)p.pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_uid, geteuid());
	record(0, 3);
	program_end(&p);
	UNTIL(finished);
	assert_int_equal(agent_live(&agent), 0);
	assert_string_equal(path_of_last, path);
	assert_int_equal(last.ledger.delivered, 3);
	agent_close(&agent);
	assert_int_equal(descriptors_open(), descriptors);
}

/* While the only slot is taken, a program waits for it for a moment, and gets it. */
static void place_is_awaited(void **state)
{
	struct program first, second;
	uint32_t kind = 0;

	(void)state;
	whole_begin();
	first = program_recorded();
	second = program_begin();
	UNTIL(agent.held[0].client || told(&second));
	assert_non_null(agent.held[0].client);
	assert_null(agent.held[1].client);
	assert_int_equal(agent.held[0].client->pid, second.pid);
	program_end(&first);
	/* a moment that lasts, on a busy machine */
	UNTIL(kind || (agent.held[0].since_ns = now(), kind = told(&second)));
	assert_int_equal(kind, RING_ACCEPTED);
	assert_null(agent.held[0].client);
	assert_int_equal(finished, 1);
	program_end(&second);
	UNTIL(finished == 2);
	agent_close(&agent);
}

/* When the moment is over, it is told that there is no room. */
static void place_is_not_to_be_had(void **state)
{
	struct program first, second, third;
	uint32_t kind = 0;

	(void)state;
	whole_begin();
	first = program_recorded();
	second = program_begin();
	UNTIL(agent.held[0].client);
	third = program_begin();
	UNTIL(agent.held[1].client);
	assert_int_equal(agent.held[0].client->pid, second.pid);
	assert_int_equal(agent.held[1].client->pid, third.pid);
	/* the second's is over first */
	UNTIL(kind || (agent.held[1].since_ns = now(), kind = told(&second)));
	assert_int_equal(kind, RING_BUSY);
	assert_null(agent.held[0].client);
	assert_int_equal(told(&third), 0);
	assert_int_equal(agent_live(&agent), 1);
	program_end(&third);
	program_end(&second);
	program_end(&first);
	agent_close(&agent);
}

/* What is not delivered in time when the agent is told to stop is counted, and so are its programs.
 */
static void stopped_too_soon(void **state)
{
	struct program p;

	(void)state;
	settings.collector = "127.0.0.1:1"; /* where nobody listens */
	settings.each.output = NULL;
	settings.stop_ns = 0;
	whole_begin();
	p = program_recorded();
	record(0, 1);
	UNTIL(session_unsaved(&agent.session[0]) == 1);
	assert_int_equal(agent.undelivered_of, 0);
	agent_stop(&agent);
	agent_loop(&agent);
	assert_int_equal(agent.undelivered, 1);
	assert_int_equal(agent.undelivered_of, 1);
	agent_close(&agent);
	program_end(&p);
}

static void stopped_in_time(void **state)
{
	struct program p;

	(void)state;
	whole_begin();
	p = program_recorded();
	record(0, 2);
	agent_stop(&agent);
	agent_loop(&agent);
	assert_int_equal(finished, 1);
	assert_int_equal(last.ledger.delivered, 2);
	assert_int_equal(agent.undelivered, 0);
	assert_int_equal(agent.undelivered_of, 0);
	agent_close(&agent);
	program_end(&p);
}

/* Records a program into a file of this owner, and returns the owner that the file has. */
static uid_t owner_after(uid_t owner)
{
	struct program p;
	struct stat st;

	settings.each.output_owner = owner;
	whole_begin();
	p = program_recorded();
	assert_int_equal(stat(agent.session[0].file.path, &st), 0);
	program_end(&p);
	finished = 0;
	UNTIL(finished);
	agent_close(&agent);
	return st.st_uid;
}

/* A file that can't be given to its owner is written all the same, with a warning. */
static void file_is_given_away(void **state)
{
	bool root = geteuid() == 0;
	uid_t own;

	(void)state;
	if (root) {
		assert_int_equal(owner_after(12345), 12345);
		assert_int_equal(owner_after((uid_t)-1), 0);
		assert_int_equal(log_count("can't give"), 0);
		assert_int_equal(chmod(temporary_folder, 0777), 0);
		unlink(log_file);
		assert_int_equal(seteuid(NOBODY), 0);
		assert_int_equal(log_open("warn", log_file), 0);
	}
	own = geteuid();
	assert_int_equal(owner_after((uid_t)-1), own);
	assert_int_equal(owner_after(own), own);
	assert_int_equal(log_count("can't give"), 0);
	assert_int_equal(owner_after(0), own);
	assert_true(log_count("can't give"));
	assert_true(log_count("to user 0: "));
	if (root)
		assert_int_equal(seteuid(0), 0);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	return st.st_mode & 07777;
}

/* What was recorded under a key is kept apart, and for nobody else's eyes. */
static void spool_of_a_key(void **state)
{
	static const struct secret key = {
		.key = "sixteen bytes or more", .key_length = 21, .id = "ours..."};
	static const struct secret second = {
		.key = "another one of such a kind", .key_length = 26, .id = "other.."};
	char place[TARGET_PATH_MAX], spool[128];
	mode_t mask = umask(0);
	size_t length;

	(void)state;
	snprintf(spool, sizeof(spool), "%s/spool", temporary_folder);
	length = strlen(spool);
	settings.spool = spool;
	settings.spool_limit = 4 << 20;
	settings.secret = &key;
	whole_begin();
	assert_int_equal(mode_of(spool), 0700);
	assert_memory_equal(agent.spool_path, spool, length);
	assert_int_equal(agent.spool_path[length], '/');
	assert_int_equal(strlen(agent.spool_path), length + 1 + HOME_KEY_DIGITS);
	assert_int_equal(mode_of(agent.spool_path), 0700);
	strcpy(place, agent.spool_path);
	agent_close(&agent);
	settings.secret = &second;
	whole_begin();
	assert_string_not_equal(agent.spool_path, place);
	agent_close(&agent);
	settings.secret = NULL;
	whole_begin();
	assert_string_equal(agent.spool_path, spool);
	agent_close(&agent);
	umask(mask);
}

/* Collectors, as the report names them. */
static void names_of_collectors(void **state)
{
	static const char *const names[] = {"desk (10.0.0.5)", "lab (10.0.0.6)", "van (10.0.0.7)",
					    "attic (10.0.0.8)"};
	static struct session s;
	char text[64];

	(void)state;
	memset(&agent, 0, sizeof(agent));
	s.agent = &agent;
	s.stream.spool.next = 5; /* batches 1 to 4 */
	session_name_collectors(&s, true, text, sizeof(text));
	assert_string_equal(text, "");
	for (unsigned i = 0; i < 4; i++)
		snprintf(agent.collectors.at[2 * i].name, COLLECTOR_NAME_MAX, "%s", names[i]);
	s.cursor[0] = (struct cursor){.active = true, .begun = true, .acked = 4};
	s.cursor[2] = (struct cursor){.active = true, .begun = true, .acked = 3};
	s.cursor[4] = (struct cursor){.active = true, .begun = true, .acked = 4};
	s.cursor[6] = (struct cursor){.active = true}; /* has not come */
	session_name_collectors(&s, true, text, sizeof(text));
	assert_string_equal(text, "desk (10.0.0.5), van (10.0.0.7)");
	session_name_collectors(&s, false, text, sizeof(text));
	assert_string_equal(text, "lab (10.0.0.6)");
	s.cursor[6].begun = true;
	session_name_collectors(&s, false, text, sizeof(text));
	assert_string_equal(text, "lab (10.0.0.6), attic (10.0.0.8)");
	session_name_collectors(&s, false, text, 20); /* as much as there is room for */
	assert_string_equal(text, "lab (10.0.0.6), att");
	session_name_collectors(&s, false, text, 15);
	assert_string_equal(text, "lab (10.0.0.6)");
	session_name_collectors(&s, false, text, 8);
	assert_string_equal(text, "lab (10");
	assert_int_equal(session_kept(&s), 0);
	s.cursor[6].active = false;
	assert_int_equal(session_kept(&s), 3);
	assert_false(session_has_absent(&s)); /* none is waited for without a key */
	agent.collectors.at[2].named = true;
	assert_true(session_has_absent(&s));
	assert_int_equal(session_absent_from(&s), 4);
}

/* A batch that a collector does not ask for is kept until it is acknowledged. */
static void subscription_is_no_acknowledgement(void **state)
{
	struct program p;
	struct session *s;
	struct link *link;

	(void)state;
	settings.collector = "127.0.0.1:1"; /* where nobody listens */
	whole_begin();
	p = program_recorded();
	s = &agent.session[0];
	link = &agent.link[0];
	link->who = 0;
	agent.host.subscribed(&agent, link, &s->stream, 5);
	assert_true(s->cursor[0].active && s->cursor[0].begun);
	assert_int_equal(session_kept(s), 0);
	agent.host.acknowledged(&agent, link, &s->stream, 5);
	assert_int_equal(session_kept(s), 5);
	agent.host.subscribed(&agent, link, &s->stream, 7);
	assert_int_equal(session_kept(s), 5);
	agent.host.subscribed(&agent, link, &s->stream, 3); /* its files were removed */
	assert_int_equal(session_kept(s), 3);
	agent.host.acknowledged(&agent, link, &s->stream, 2); /* an old one */
	assert_int_equal(session_kept(s), 3);
	agent_close(&agent);
	program_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_AGENT(file_of_its_own),
		TEST_OF_AGENT(place_is_awaited),
		TEST_OF_AGENT(place_is_not_to_be_had),
		TEST_OF_AGENT(stopped_too_soon),
		TEST_OF_AGENT(stopped_in_time),
		TEST_OF_AGENT(file_is_given_away),
		TEST_OF_AGENT(spool_of_a_key),
		cmocka_unit_test(names_of_collectors),
		TEST_OF_AGENT(subscription_is_no_acknowledgement),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
