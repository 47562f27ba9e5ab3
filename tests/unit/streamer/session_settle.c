/*
 * The settings of one program: whom the agent asks for them, who is told what is not honoured and
 * how often, and what the ring keeps of them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/serve/agent.h"
#include "base/log.h"

static struct agent agent;
static struct session session;
static struct ring_header header;
static struct ring_memory memory = {.header = &header};
static struct handshake_client client;
static int other_end;
static struct err_text say;

static int begin(void **state)
{
	int pair[2];

	(void)state;
	memset(&agent, 0, sizeof(agent));
	memset(&session, 0, sizeof(session));
	memset(&header, 0, sizeof(header));
	say = (struct err_text){{0}};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	client = (struct handshake_client){.fd = pair[0], .pid = getpid(), .uid = geteuid()};
	other_end = pair[1];
	return log_open("error", NULL);
}

static int end(void **state)
{
	(void)state;
	close(client.fd);
	close(other_end);
	return 0;
}

/* ---- what is told ---- */

/* What the program is told if the agent says this; NULL: nothing. */
static const char *told(const char *text)
{
	static struct {
		struct ring_answer answer;
		char text[sizeof(say.text)];
	} in;
	ssize_t n;

	snprintf(say.text, sizeof(say.text), "%s", text);
	session_say(&agent, &client, &say);
	memset(&in, 0, sizeof(in));
	n = recv(other_end, &in, sizeof(in) - 1, 0);
	if (n < 0)
		return NULL;
	assert_int_equal(in.answer.kind, RING_SAY);
	assert_int_equal(n, sizeof(in.answer) + strlen(in.text));
	return in.text;
}

static void each_process_once(void **state)
{
	pid_t gone = fork();

	(void)state;
	if (!gone)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	assert_null(told(""));
	client.pid = gone;
	assert_null(told("of nobody"));
	client.pid = getpid();
	client.flags = RING_HELLO_FORKED; /* its parent was told */
	assert_null(told("of a child"));
	client.flags = RING_HELLO_FORKED << 1 | RING_HELLO_FORKED >> 1;
	assert_string_equal(told("a\nb \x1b c"), "a b ? c");
	assert_null(told("again"));
	client.flags = 0;
	assert_null(told("again"));
	agent.told[0].start_ticks++; /* another process had this number */
	assert_string_equal(told("another"), "another");
	agent.told[0].start_ticks--;
	agent.told[1].pid = gone;
	assert_null(told("again"));
	agent.told[0].pid = gone;
	assert_string_equal(told("another"), "another");
	assert_int_equal(agent.told_next, 3);
}

/* The last ones are remembered, not more. */
static void so_many_are_remembered(void **state)
{
	struct agent_told own;

	(void)state;
	for (uint32_t i = 0; i < AGENT_TOLD; i++) {
		assert_string_equal(told("each place"), "each place");
		own = agent.told[i];
		assert_int_equal(own.pid, getpid());
		assert_int_equal(agent.told_next, i + 1);
		assert_null(told("again"));
		agent.told[i].pid = -1;
	}
	agent.told[0].pid = agent.told[AGENT_TOLD - 1].pid = -2;
	assert_string_equal(told("the first place"), "the first place");
	assert_memory_equal(&agent.told[0], &own, sizeof(own));
	assert_int_equal(agent.told[AGENT_TOLD - 1].pid, -2);
}

static void long_texts(void **state)
{
	char text[sizeof(say.text)];

	(void)state;
	for (size_t length = RING_SAY_MAX - 1; length < RING_SAY_MAX + 2; length++) {
		const char *heard;

		memset(text, 'x', sizeof(text));
		text[length] = '\0';
		agent.told_next = 0;
		memset(agent.told, 0, sizeof(agent.told));
		heard = told(text);
		assert_non_null(heard);
		assert_int_equal(strlen(heard), length < RING_SAY_MAX ? length : RING_SAY_MAX);
	}
}

/* ---- what is settled ---- */

static struct {
	int answer;
	const char *output;
	bool own_output;
	unsigned calls;
	bool same_files;
} asked;

static int settle(void *context, const char *text, size_t length, bool same_files,
		  struct session_settings *io, struct err_text *why)
{
	assert_ptr_equal(context, &asked);
	assert_ptr_equal(text, client.settings);
	assert_int_equal(length, client.settings_length);
	assert_ptr_equal(why, &say);
	assert_int_equal(io->cull_ns, 77); /* the agent's */
	asked.calls++;
	asked.same_files = same_files;
	io->output = asked.output;
	io->own_output = asked.own_output;
	return asked.answer;
}

static void agents_and_programs(void **state)
{
	char settings[] = "HEAPCAST_X=1", output[RING_OUTPUT_MAX + 1];

	(void)state;
	memset(&asked, 0, sizeof(asked));
	client.settings = settings;
	client.settings_length = sizeof(settings);
	agent.settings.each = (struct session_settings){.output = "agents", .cull_ns = 77};
	assert_int_equal(session_settle(&agent, &session, &client, &say), 0);
	assert_string_equal(session.settings.output, "agents"); /* nobody to ask */
	assert_int_equal(session.settings.cull_ns, 77);
	agent.settings.settle = settle;
	agent.settings.settle_context = &asked;
	asked.output = "agents again";
	assert_int_equal(session_settle(&agent, &session, &client, &say), 0);
	assert_int_equal(asked.calls, 1);
	assert_true(asked.same_files);
	assert_ptr_equal(session.settings.output, asked.output);
	assert_string_equal(session.output, "");
	/* A path that the program has named is kept: its text goes. */
	asked.own_output = true;
	asked.output = output;
	for (size_t length = RING_OUTPUT_MAX - 2; length < RING_OUTPUT_MAX; length++) {
		memset(output, 'o', length);
		output[length] = '\0';
		assert_int_equal(session_settle(&agent, &session, &client, &say), 0);
		assert_ptr_equal(session.settings.output, session.output);
		assert_string_equal(session.output, output);
		assert_string_equal(say.text, "");
	}
	memset(output, 'o', RING_OUTPUT_MAX);
	output[RING_OUTPUT_MAX] = '\0';
	assert_int_equal(session_settle(&agent, &session, &client, &say), -EINVAL);
	assert_string_equal(say.text, "HEAPCAST_OUTPUT has more than 1023 letters: "
				      "this program is not recorded");
	/* Who is refused is told that reason. */
	asked.answer = -EPERM;
	say = (struct err_text){"as it was"};
	assert_int_equal(session_settle(&agent, &session, &client, &say), -EPERM);
	assert_string_equal(say.text, "as it was");
}

/* Only of a program that sees what the agent sees. */
static void same_files(void **state)
{
	int fd = client.fd;
	pid_t child;

	(void)state;
	memset(&asked, 0, sizeof(asked));
	agent.settings.settle = settle;
	agent.settings.settle_context = &asked;
	agent.settings.each.cull_ns = 77;
	assert_int_equal(session_settle(&agent, &session, &client, &say), 0);
	assert_true(asked.same_files);
	client.fd = -1; /* whose is it? */
	assert_int_equal(session_settle(&agent, &session, &client, &say), 0);
	assert_false(asked.same_files);
	client.fd = fd;
	child = fork();
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	client.pid = child;
	assert_int_equal(session_settle(&agent, &session, &client, &say), 0);
	assert_false(asked.same_files);
	assert_int_equal(asked.calls, 3);
}

static void noted(void **state)
{
	const struct ring_home none = {0};
	struct session_settings *set = &session.settings;

	(void)state;
	*set = (struct session_settings){.output = "a path", .output_owner = 12, .cull_ns = 34};
	session.ring.ring = &memory;
	session_note(&session); /* another source has no ring */
	assert_memory_equal(&header.home, &none, sizeof(none));
	session.stream.source = &session.ring.source;
	session_note(&session);
	assert_int_equal(header.home.output_owner, 12);
	assert_int_equal(header.home.cull_ns, 34);
	assert_int_equal(header.home.follow, 0);
	assert_int_equal(header.home.allocator, 0);
	assert_string_equal(header.home.output, ""); /* the agent's own */
	set->own_output = set->follow = set->observe.allocator = true;
	set->observe.figures_ns = 56;
	set->observe.maps_ns = 78;
	set->output_owner = (uid_t)-1;
	session_note(&session);
	assert_int_equal(header.home.output_owner, UINT32_MAX);
	assert_int_equal(header.home.follow, 1);
	assert_int_equal(header.home.allocator, 1);
	assert_int_equal(header.home.figures_ns, 56);
	assert_int_equal(header.home.maps_ns, 78);
	assert_string_equal(header.home.output, "a path");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_process_once), TEST(so_many_are_remembered),
		TEST(long_texts),	 TEST(agents_and_programs),
		TEST(same_files),	 TEST(noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
