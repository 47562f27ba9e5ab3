/*
 * A whole agent, and programs that ask it to be recorded: child processes that say hello as
 * libheapcast.so does, and wait. What they would record is written into their rings from here.
 */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "agent/serve/agent.h"
#include "base/log.h"
#include "base/secure/secret.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define PATIENCE_MS 8000
#define NOBODY	    65534

static struct agent agent;
static struct agent_settings settings;
static char output[128], spool[128], log_file[128];
static unsigned finished;
static char path_of_last[FILE_NAME_MAX];
static uint64_t saved_of_last;

static void on_finished(void *context, const struct session_report *report)
{
	(void)context;
	finished++;
	saved_of_last = report->ledger.delivered;
	snprintf(path_of_last, sizeof(path_of_last), "%s", report->path);
}

/* Settings of an agent for one program at a time, that writes to a file. */
static int setup(void **state)
{
	if (temporary_setup(state))
		return -1;
	finished = 0;
	snprintf(output, sizeof(output), "%s/%%p.heapcast", temporary_folder);
	snprintf(spool, sizeof(spool), "%s/spool", temporary_folder);
	snprintf(log_file, sizeof(log_file), "%s/log", temporary_folder);
	settings = (struct agent_settings){
		.memory_limit = 8 << 20,
		.each = {.output = output,
			 .output_owner = (uid_t)-1,
			 .ring = {.mode = RING_FULL, .depth_limit = 64}},
		.linger_ns = 1000000000,
		.stop_ns = 5000000000,
	};
	return log_open("warn", log_file);
}

static int teardown(void **state)
{
	log_open("error", NULL);
	return temporary_teardown(state);
}

static void begin(void)
{
	struct err_text err = {{0}};
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/socket", temporary_folder);
	unlink(path); /* of the agent before, which was another user's */
	fd = handshake_socket(path);
	assert_true(fd >= 0);
	if (agent_open(&agent, &settings, fd, &err) < 0)
		fail_msg("%s", err.text);
	agent.finished = on_finished;
}

/* Runs the agent until this is true. */
#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		uint64_t until_ns = now() + PATIENCE_MS * UINT64_C(1000000);                       \
		while (!(condition) && now() < until_ns) {                                         \
			uv_run(&agent.loop, UV_RUN_NOWAIT);                                        \
			if (!(condition))                                                          \
				poll(NULL, 0, 1);                                                  \
		}                                                                                  \
		assert_true(condition);                                                            \
	} while (0)

struct program {
	pid_t pid;
	int told; /* each answer's kind, as one byte */
};

static void be_program(int say)
{
	const struct ring_hello hello = {.magic = RING_MAGIC,
					 .version = RING_VERSION,
					 .byte_order = RING_ORDER_MARK,
					 .pointer_bits = 8 * sizeof(void *)};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	struct ring_answer answer;
	char path[128];
	unsigned length;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/socket", temporary_folder);
	handshake_address(path, &address, &length);
	if (connect(fd, (struct sockaddr *)&address, length) ||
	    send(fd, &hello, sizeof(hello), 0) != sizeof(hello))
		_exit(1);
	while (recv(fd, &answer, sizeof(answer), 0) == sizeof(answer)) {
		char kind = (char)answer.kind;

		if (write(say, &kind, 1) != 1)
			_exit(1);
	}
	pause();
	_exit(0);
}

static struct program program_begin(void)
{
	struct program p;
	int pipe[2];

	assert_int_equal(pipe2(pipe, O_CLOEXEC | O_NONBLOCK), 0);
	p.pid = fork();
	if (!p.pid)
		be_program(pipe[1]);
	assert_true(p.pid > 0);
	close(pipe[1]);
	p.told = pipe[0];
	return p;
}

static void program_end(const struct program *p)
{
	kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	close(p->told);
}

/* What the program was told last; 0: nothing new. */
static char told(const struct program *p)
{
	char kind = 0;

	while (read(p->told, &kind, 1) == 1)
		;
	return kind;
}

static struct program program_recorded(void)
{
	struct program p = program_begin();
	char kind = 0;

	UNTIL(kind || (kind = told(&p)));
	assert_int_equal(kind, RING_ACCEPTED);
	assert_int_equal(agent_live(&agent), 1);
	return p;
}

/* Allocations, as the program in the first slot would record them. */
static void record(unsigned count)
{
	static struct bench ring_of;
	const uint64_t pcs[] = {0x1000, 0x2000};
	struct session *s = &agent.session[0];
	struct writer w;

	ring_of.ring.ring = s->ring.ring;
	s->ring.ring->header->clock = RING_CLOCK_MONOTONIC;
	__atomic_store_n(&s->ring.ring->header->byte_order, RING_ORDER_MARK, __ATOMIC_RELEASE);
	w = writer_claim(&ring_of, 0, (uint32_t)s->stream.target.pid);
	for (unsigned i = 0; i < count; i++)
		writer_event(&w, 1, 0x10000 + 16 * i, 8, now(), 0, 2, pcs);
	writer_publish(&w);
}

static void file_of_its_own(void **state)
{
	unsigned descriptors = descriptors_open();
	struct program p;
	char path[160];
	struct stat st;

	(void)state;
	begin();
	p = program_recorded();
	snprintf(path, sizeof(path), "%s/%d.heapcast", temporary_folder, (int)p.pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_uid, geteuid());
	record(3);
	program_end(&p);
	UNTIL(finished);
	assert_int_equal(agent_live(&agent), 0);
	assert_string_equal(path_of_last, path);
	assert_int_equal(saved_of_last, 3);
	agent_close(&agent);
	assert_int_equal(descriptors_open(), descriptors);
}

/* While the only slot is taken, a program waits for it for a moment, and gets it. */
static void place_is_awaited(void **state)
{
	struct program first, second;
	char kind = 0;

	(void)state;
	begin();
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
	char kind = 0;

	(void)state;
	begin();
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
	begin();
	p = program_recorded();
	record(1);
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
	begin();
	p = program_recorded();
	record(2);
	agent_stop(&agent);
	agent_loop(&agent);
	assert_int_equal(finished, 1);
	assert_int_equal(saved_of_last, 2);
	assert_int_equal(agent.undelivered, 0);
	assert_int_equal(agent.undelivered_of, 0);
	agent_close(&agent);
	program_end(&p);
}

static bool log_has(const char *text)
{
	char all[4096];
	int fd = open(log_file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, all, sizeof(all) - 1);

	if (fd >= 0)
		close(fd);
	all[n > 0 ? n : 0] = '\0';
	return strstr(all, text);
}

/* Records a program into a file of this owner, and returns the owner that the file has. */
static uid_t owner_after(uid_t owner)
{
	struct program p;
	struct stat st;

	settings.each.output_owner = owner;
	begin();
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
		assert_false(log_has("can't give"));
		assert_int_equal(chmod(temporary_folder, 0777), 0);
		unlink(log_file);
		assert_int_equal(seteuid(NOBODY), 0);
		assert_int_equal(log_open("warn", log_file), 0);
	}
	own = geteuid();
	assert_int_equal(owner_after((uid_t)-1), own);
	assert_int_equal(owner_after(own), own);
	assert_false(log_has("can't give"));
	assert_int_equal(owner_after(0), own);
	assert_true(log_has("can't give"));
	assert_true(log_has("to user 0: "));
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
	char place[TARGET_PATH_MAX];
	mode_t mask = umask(0);
	size_t length = strlen(spool);

	(void)state;
	settings.spool = spool;
	settings.spool_limit = 4 << 20;
	settings.secret = &key;
	begin();
	assert_int_equal(mode_of(spool), 0700);
	assert_memory_equal(agent.spool_path, spool, length);
	assert_int_equal(agent.spool_path[length], '/');
	assert_int_equal(strlen(agent.spool_path), length + 1 + HOME_KEY_DIGITS);
	assert_int_equal(mode_of(agent.spool_path), 0700);
	strcpy(place, agent.spool_path);
	agent_close(&agent);
	settings.secret = &second;
	begin();
	assert_string_not_equal(agent.spool_path, place);
	agent_close(&agent);
	settings.secret = NULL;
	begin();
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
	begin();
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
		cmocka_unit_test_setup_teardown(file_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(place_is_awaited, setup, teardown),
		cmocka_unit_test_setup_teardown(place_is_not_to_be_had, setup, teardown),
		cmocka_unit_test_setup_teardown(stopped_too_soon, setup, teardown),
		cmocka_unit_test_setup_teardown(stopped_in_time, setup, teardown),
		cmocka_unit_test_setup_teardown(file_is_given_away, setup, teardown),
		cmocka_unit_test_setup_teardown(spool_of_a_key, setup, teardown),
		cmocka_unit_test(names_of_collectors),
		cmocka_unit_test_setup_teardown(subscription_is_no_acknowledgement, setup,
						teardown),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
