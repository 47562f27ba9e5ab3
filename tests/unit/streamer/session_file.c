/*
 * A session's file and settings: where the recording goes if its first place is none, what its name
 * is made of, and what a ring that is taken up may set.
 */
#include "tests/unit/streamer/whole.h"

#include "agent/stream/file_sink.h"
#include "tests/unit/descriptors.h"

#define NONE "/nonexistent/folder"

static struct session *s; /* the first one, once the agent is there */

/* Opens the session's file anew. Returns 0 or an error. */
static int open_again(const char *output, bool own, const char *folder, const char *agents)
{
	struct err_text err = {{0}};
	struct file_sink before = s->file;
	int r;

	s->file.fd = -1;
	s->file.path[0] = '\0';
	s->settings.output = output;
	s->settings.own_output = own;
	snprintf(s->folder, sizeof(s->folder), "%s", folder);
	agent.settings.folder = agents;
	r = session_open_file(s, 1, &err);
	assert_int_equal(s->file.fd >= 0, r == 0);
	if (r == 0)
		file_sink_close(&s->file);
	else
		assert_true(*err.text);
	snprintf(path_of_last, sizeof(path_of_last), "%s", s->file.path);
	s->file = before;
	return r;
}

/* NAME, with the number of the program behind it if there is one. */
static void assert_path(const char *name, pid_t number)
{
	char path[256];

	if (number)
		snprintf(path, sizeof(path), "%s/%s.%d", temporary_folder, name, (int)number);
	else
		snprintf(path, sizeof(path), "%s/%s", temporary_folder, name);
	assert_string_equal(path_of_last, path);
	assert_int_equal(unlink(path), 0);
}

static void second_place(void **state)
{
	const char *here = temporary_folder;
	struct program p;
	char whole[128];
	unsigned lines;

	(void)state;
	settings.many = true;
	whole_begin();
	s = &agent.session[0];
	p = program_recorded();
	assert_int_equal(open_again("a.%p", false, here, NONE), 0);
	assert_path("a", p.pid);
	assert_int_equal(open_again("b.%p", false, "", here), 0);
	assert_path("b", p.pid);
	assert_int_equal(open_again("n%n", false, here, NONE), 0); /* the agent's first recording */
	assert_path("n0", 0);
	lines = log_count("can't write");
	assert_int_equal(open_again("c.%p", false, NONE, here), 0); /* and says why not there */
	assert_path("c", p.pid);
	assert_true(log_count(NONE) > 0);
	/* What the program has named itself goes nowhere else. */
	assert_int_equal(open_again("d.%p", true, NONE, here), -ENOENT);
	assert_int_equal(open_again("e.%p", false, NONE, NONE), -ENOENT);
	assert_int_equal(open_again(NONE "/f", false, here, here), -ENOENT);
	assert_int_equal(open_again("g.%p", false, "", NONE), -ENOENT);
	assert_int_equal(log_count(NONE "/g"), 1); /* the log says so, once */
	assert_int_equal(log_count(NONE "/e"), 1);
	assert_int_equal(open_again("h%", false, here, here), -EINVAL);
	assert_true(log_count("can't write") >= lines);
	snprintf(whole, sizeof(whole), "%s/whole", here);
	assert_int_equal(open_again(whole, false, NONE, NONE), 0);
	assert_path("whole", 0);
	/* A later agent's file has its number behind the name. */
	s->stream.incarnation = 3;
	assert_int_equal(open_again("i.%p", false, here, here), 0);
	s->stream.incarnation = 1;
	assert_non_null(strstr(path_of_last, ".3"));
	assert_int_equal(unlink(path_of_last), 0);
	program_end(&p);
	UNTIL(finished);
	agent_close(&agent);
}

/* A program can set in its ring no more than it could in its environment. */
static void recalled(void **state)
{
	struct ring_home *home;
	struct session_settings *set;
	struct program p;
	uint64_t generation;

	(void)state;
	settings.many = true;
	whole_begin();
	s = &agent.session[0];
	p = program_recorded();
	home = &s->ring.ring->header->home;
	set = &s->settings;
	assert_int_equal(home->output_owner, UINT32_MAX); /* noted when it began */
	for (unsigned i = 0; i < 4; i++) {
		bool ours = i & 1, theirs = i & 2;

		agent.settings.each.follow = ours;
		agent.settings.each.observe =
			(struct observer_settings){ours ? 1000 : 0, ours ? 2000 : 0, ours};
		agent.settings.each.cull_ns = ours ? 3000 : 0;
		agent.settings.each.output = "ours";
		home->follow = theirs ? 7 : 0;
		home->allocator = theirs;
		home->figures_ns = theirs ? 10 : 0;
		home->maps_ns = theirs ? 20 : 0;
		home->cull_ns = theirs ? 30 : 0;
		home->output[0] = '\0';
		home->output_owner = 77;
		session_recall(&agent, s);
		assert_int_equal(set->follow, theirs);
		assert_int_equal(set->observe.allocator, ours && theirs);
		assert_int_equal(set->observe.figures_ns, !ours ? 0 : theirs ? 10 : 1000);
		assert_int_equal(set->observe.maps_ns, !ours ? 0 : theirs ? 20 : 0);
		assert_int_equal(set->cull_ns, !ours ? 0 : theirs ? 30 : 0);
		assert_string_equal(set->output, "ours");
		assert_false(set->own_output);
		assert_int_equal(set->output_owner, agent.settings.each.output_owner);
	}
	snprintf(home->output, sizeof(home->output), "theirs");
	session_recall(&agent, s);
	assert_string_equal(set->output, "theirs");
	assert_true(set->own_output);
	assert_int_equal(set->output_owner, 77);
	memset(home->output, 'x', RING_OUTPUT_MAX); /* without an end */
	session_recall(&agent, s);
	assert_int_equal(strlen(set->output), RING_OUTPUT_MAX - 1);
	s->stream.target.uid++;
	session_recall(&agent, s);
	assert_string_equal(set->output, "ours");
	assert_false(set->own_output);
	s->stream.target.uid--;
	agent.settings.each = settings.each;
	*set = settings.each;
	generation = agent.host.generation;
	program_end(&p);
	UNTIL(finished);
	assert_int_equal(agent.host.generation,
			 generation + 1); /* collectors hear that it is gone */
	agent_close(&agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_AGENT(second_place),
		TEST_OF_AGENT(recalled),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
