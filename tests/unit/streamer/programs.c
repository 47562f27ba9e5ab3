/*
 * Programs that ask a whole agent: whom it records, what it says to the others, what becomes of
 * those for which there is no room, and how programs end.
 */
#include "tests/unit/streamer/whole.h"

#include "tests/unit/descriptors.h"

/* ---- whom it records ---- */

static void other_programs(void **state)
{
	const struct {
		uint32_t magic, version, byte_order, answer;
	} cases[] = {
		{RING_MAGIC + 1, RING_VERSION, RING_ORDER_MARK, RING_BAD_VERSION},
		{RING_MAGIC_OTHER_ORDER, RING_VERSION, RING_ORDER_MARK, RING_BAD_VERSION},
		{RING_MAGIC, RING_VERSION + 1, RING_ORDER_MARK, RING_BAD_VERSION},
		{RING_MAGIC, RING_VERSION - 1, RING_ORDER_MARK, RING_BAD_VERSION},
		{RING_MAGIC, RING_VERSION, RING_ORDER_MARK + 1, RING_REFUSED},
		{RING_MAGIC, RING_VERSION, RING_ORDER_MARK, RING_ACCEPTED},
	};
	struct program p;

	(void)state;
	whole_begin();
	p = program_idle();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ring_hello hello = plain_hello;

		assert_int_equal(agent_live(&agent), 0);
		assert_int_equal(log_count("the other byte order"), i > 1);
		hello.magic = cases[i].magic;
		hello.version = cases[i].version;
		hello.byte_order = cases[i].byte_order;
		assert_int_equal(answer_to(p.say, &hello), cases[i].answer);
	}
	assert_int_equal(agent_live(&agent), 1);
	assert_int_equal(agent.recordings, 1);
	assert_int_equal(log_count("recording pid"), 1);
	assert_int_equal(log_count("another agent had begun"), 0);
	program_end(&p);
	UNTIL(finished);
	agent_close(&agent);
}

/* `agent run` records the program that it started; with --follow, its children, too. */
static void the_only_program(void **state)
{
	struct program p, other;

	(void)state;
	settings.many = true;
	whole_begin();
	p = program_idle();
	other = program_idle();
	agent.only = p.pid;
	assert_int_equal(answer_to(other.say, NULL), RING_REFUSED);
	assert_int_equal(answer_to(p.say, NULL), RING_ACCEPTED);
	program_fork(&p);
	assert_int_equal(answer_to(p.say_kid, NULL), RING_REFUSED);
	assert_int_equal(agent_live(&agent), 1);
	agent.settings.each.follow = true;
	assert_int_equal(answer_to(p.say_kid, NULL), RING_REFUSED); /* its parent isn't followed */
	agent.session[0].settings.follow = true;
	assert_int_equal(answer_to(p.say_kid, NULL), RING_ACCEPTED);
	assert_int_equal(agent_live(&agent), 2);
	assert_int_equal(answer_to(other.say, NULL), RING_ACCEPTED);
	program_end(&other);
	UNTIL(finished == 1);
	program_end(&p);
	UNTIL(agent.session[0].gone);
	assert_true(stream_state(&agent.session[0].stream) == STREAM_LIVE);
	agent_child_ended(&agent, p.pid + 1, 0, 7);
	assert_false(agent.only_ended);
	agent_child_ended(&agent, p.pid, 5 << 8, 7);
	assert_true(agent.only_ended);
	assert_int_equal(agent.only_end.status, 5);
	assert_int_equal(agent.only_end.rss_peak, 7);
	UNTIL(finished >= 2 && agent_live(&agent) == 0);
	agent_close(&agent);
}

/* A program whose ancestor is recorded, and is not to be followed, runs on unrecorded. */
static void children_by_exec(void **state)
{
	struct program p;
	struct heard kid;

	(void)state;
	settings.many = true;
	whole_begin();
	p = program_recorded();
	program_fork(&p);
	assert_int_equal(answer_to(p.say_kid, NULL), RING_REFUSED);
	agent.session[0].settings.follow = true;
	command(p.say_kid, 'h', NULL);
	kid = hear(p.say_kid);
	assert_int_equal(kid.kind, RING_ACCEPTED);
	assert_int_equal(kid.flags, 0);
	assert_int_equal(agent.session[1].stream.target.pid, kid.pid);
	assert_false(agent.session[1].stream.has_parent);
	command(p.say_kid, 'e', NULL);
	UNTIL(finished == 1);
	program_end(&p);
	UNTIL(finished == 2);
	agent_close(&agent);
}

/* A fork child says whose child it is, and since when. */
static void children_by_fork(void **state)
{
	struct ring_hello hello = plain_hello;
	struct program p;
	struct stream *of;
	struct heard heard;

	(void)state;
	settings.many = true;
	settings.each.follow = true;
	whole_begin();
	p = program_idle();
	command(p.say, 'h', NULL);
	heard = hear(p.say);
	assert_int_equal(heard.kind, RING_ACCEPTED);
	assert_int_equal(heard.flags, RING_ANSWER_FOLLOW);
	record(0, 5);
	UNTIL(session_unsaved(&agent.session[0]) == 5 || last.saved);
	of = &agent.session[0].stream;
	program_fork(&p);
	hello.flags = RING_HELLO_FORKED;
	memcpy(hello.parent_stream, of->id, STREAM_ID_SIZE);
	assert_int_equal(answer_to(p.say_kid, &hello), RING_ACCEPTED);
	of = &agent.session[1].stream;
	assert_true(of->has_parent);
	assert_memory_equal(of->parent_stream, hello.parent_stream, STREAM_ID_SIZE);
	assert_int_equal(of->parent_event, 5);
	command(p.say_kid, 'e', NULL);
	UNTIL(finished == 1);
	program_end(&p);
	UNTIL(finished == 2);
	agent_close(&agent);
}

static void position_told_by_the_child(void **state)
{
	struct ring_hello hello = plain_hello;
	struct program p;

	(void)state;
	settings.many = true;
	whole_begin();
	p = program_recorded();
	agent.session[0].settings.follow = true;
	hello.flags = RING_HELLO_FORKED;
	hello.parent_event = 77;
	hello.machine = 62;
	hello.pointer_bits = 32;
	hello.page_shift = 14;
	memcpy(hello.parent_stream, agent.session[0].stream.id, STREAM_ID_SIZE);
	program_fork(&p);
	assert_int_equal(answer_to(p.say_kid, &hello), RING_ACCEPTED);
	assert_int_equal(agent.session[1].stream.parent_event, 77);
	assert_int_equal(agent.session[1].stream.said.machine, 62);
	assert_int_equal(agent.session[1].stream.said.pointer_bits, 32);
	assert_int_equal(agent.session[1].stream.said.page_size, 1 << 14);
	command(p.say_kid, 'e', NULL);
	UNTIL(finished == 1);
	program_fork(&p); /* there is no socket for a second one: it says nothing, and goes */
	program_end(&p);
	UNTIL(finished == 2);
	agent_close(&agent);
}

static void stopping(void **state)
{
	struct program p, late;

	(void)state;
	settings.many = true;
	whole_begin();
	p = program_recorded();
	late = program_idle();
	agent_stop(&agent);
	assert_true(agent.session[0].detaching);
	assert_int_equal(answer_to(p.say, NULL), RING_BUSY); /* it is being detached */
	assert_int_equal(answer_to(late.say, NULL), RING_REFUSED);
	UNTIL(finished);
	assert_int_equal(last.end.kind, HEAPCAST__END_KIND__END_DETACHED);
	program_end(&late);
	program_end(&p);
	agent_close(&agent);
}

/* ---- the next image of a process ---- */

static void next_image(void **state)
{
	struct ring_hello hello = plain_hello;
	struct program p;

	(void)state;
	whole_begin();
	p = program_recorded();
	/* it has given up waiting, and asks again */
	assert_int_equal(answer_to(p.say, NULL), RING_ACCEPTED);
	record(0, 3);
	hello.machine = 40;
	hello.page_shift = 32;
	command(p.say, 'h', &hello);
	assert_int_equal(hear(p.say).kind, RING_WAIT);
	assert_int_equal(hear(p.say).kind, RING_ACCEPTED);
	assert_int_equal(agent.session[0].stream.said.machine, 40);
	assert_int_equal(agent.session[0].stream.said.page_size, 0);
	assert_null(agent.session[0].waiting);
	assert_int_equal(agent_live(&agent), 1);
	assert_int_equal(agent.recordings, 1);
	program_end(&p);
	UNTIL(finished);
	assert_int_equal(last.ledger.delivered, 3);
	agent_close(&agent);
}

/* ---- how programs end ---- */

static void ends(void **state)
{
	struct program p;

	(void)state;
	whole_begin();
	p = program_recorded();
	command(p.say, 'e', NULL);
	UNTIL(finished == 1); /* as long as nobody has waited for it */
	assert_int_equal(last.end.kind, HEAPCAST__END_KIND__END_EXITED);
	assert_int_equal(last.end.status, 3);
	program_end(&p);
	p = program_recorded();
	kill(p.pid, SIGKILL);
	UNTIL(finished == 2);
	assert_int_equal(last.end.kind, HEAPCAST__END_KIND__END_SIGNALLED);
	assert_int_equal(last.end.status, SIGKILL);
	assert_int_equal(last.end.oom_counter, 0);
	program_end(&p);
	p = program_recorded();
	kill(p.pid, SIGTERM);
	UNTIL(finished == 3);
	assert_int_equal(last.end.kind, HEAPCAST__END_KIND__END_SIGNALLED);
	assert_int_equal(last.end.status, SIGTERM);
	program_end(&p);
	assert_int_equal(agent.recordings, 3);
	agent_close(&agent);
}

/* Without pidfd the process is looked for. */
static void end_without_pidfd(void **state)
{
	struct program p;
	struct session *s;

	(void)state;
	whole_begin();
	p = program_recorded();
	s = &agent.session[0];
	assert_true(s->watching);
	s->watching = false;
	uv_poll_stop(&s->pidfd_poll);
	for (int i = 0; i < 20; i++)
		session_work(s);
	assert_false(s->gone);
	s->stream.target.start_ticks++; /* another process has its number */
	session_work(s);
	assert_true(s->gone);
	assert_true(now() - s->gone_ns < UINT64_C(60000000000));
	s->stream.target.start_ticks--;
	s->watching = true;
	s->gone = false;
	program_end(&p);
	s->gone = true;
	s->gone_ns = now();
	UNTIL(finished || (s->gone_ns -= 100000000, false));
	agent_close(&agent);
}

/* ---- no room ---- */

/* No place for another program. */
static void fill_room(void)
{
	agent.budget.room.size = agent.budget.room.used;
}

/* A child that is not recorded is counted, and its parent's stream tells. */
static void counted(void **state)
{
	unsigned descriptors = descriptors_open();
	struct ring_hello hello = plain_hello;
	struct program p;
	struct stream *of;

	(void)state;
	settings.many = true;
	settings.each.follow = true;
	whole_begin();
	p = program_recorded();
	of = &agent.session[0].stream;
	fill_room();
	program_fork(&p);
	hello.flags = RING_HELLO_FORKED;
	memcpy(hello.parent_stream, of->id, STREAM_ID_SIZE);
	assert_int_equal(answer_to(p.say_kid, &hello), RING_COUNTED);
	assert_int_equal(agent.turned_away, 1);
	assert_non_null(agent.cell[0].header);
	assert_null(agent.cell[1].header);
	assert_memory_equal(agent.cell[0].parent, of->id, STREAM_ID_SIZE);
	assert_int_equal(agent.cell[0].header->size, RING_HEADER_SIZE);
	assert_int_equal(agent.cell[0].header->slices_offset, RING_HEADER_SIZE);
	assert_int_equal(agent.cell[0].header->modules_offset, RING_HEADER_SIZE);
	assert_int_equal(agent.cell[0].header->set_offset, RING_HEADER_SIZE);
	assert_int_equal(agent.cell[0].header->data_offset, RING_HEADER_SIZE);
	assert_int_equal(agent.cell[0].header->control, 1);
	assert_int_equal(agent.cell[0].header->mode, RING_FULL);
	assert_int_equal(agent.cell[0].header->version, RING_VERSION);
	assert_int_equal(agent.cell[0].header->account.incarnation, 1);
	assert_memory_equal(agent.cell[0].header->stream, of->id, STREAM_ID_SIZE);
	/* the next image of it finds the same cell */
	assert_int_equal(answer_to(p.say_kid, NULL), RING_COUNTED);
	assert_int_equal(agent.turned_away, 1);
	assert_null(agent.cell[1].header);
	cells_tick(&agent);
	assert_non_null(agent.cell[0].header); /* it lives */
	command(p.say_kid, 'c', NULL);
	command(p.say_kid, 'e', NULL);
	UNTIL(!agent.cell[0].header);
	assert_int_equal(of->unrecorded_sum.pid, 1);
	assert_int_equal(of->unrecorded_sum.events, 10);
	assert_int_equal(of->unrecorded_sum.bytes, 1000);
	assert_int_equal(of->uncounted, 0);
	program_end(&p);
	UNTIL(finished);
	agent_close(&agent);
	assert_int_equal(descriptors_open(), descriptors);
}

/* What is no descendant of a recorded program can't be told to anybody. */
static void not_counted(void **state)
{
	struct program p, other;

	(void)state;
	settings.many = true;
	whole_begin();
	p = program_recorded();
	fill_room();
	other = program_idle();
	assert_int_equal(answer_to(other.say, NULL), RING_BUSY);
	assert_int_equal(agent.turned_away, 0);
	assert_null(agent.cell[0].header);
	assert_int_equal(log_count("there is no memory for it"), 1);
	program_end(&other);
	program_end(&p);
	UNTIL(finished);
	agent_close(&agent);
}

/* When there is a place after all, what was counted before is told. */
static void recorded_after_all(void **state)
{
	struct program p;
	struct stream *of;
	size_t size;

	(void)state;
	settings.many = true;
	settings.each.follow = true;
	settings.each.ring.mode = RING_OFF;
	whole_begin();
	p = program_recorded();
	of = &agent.session[0].stream;
	size = agent.budget.room.size;
	fill_room();
	program_fork(&p);
	assert_int_equal(answer_to(p.say_kid, NULL), RING_COUNTED); /* by its ancestor */
	assert_int_equal(agent.cell[0].header->mode, RING_OFF);
	agent.budget.room.size = size;
	command(p.say_kid, 'c', NULL);
	assert_int_equal(answer_to(p.say_kid, NULL), RING_ACCEPTED);
	assert_null(agent.cell[0].header);
	assert_int_equal(of->unrecorded_sum.pid, 1);
	assert_int_equal(of->unrecorded_sum.events, 10);
	assert_int_equal(agent_live(&agent), 2);
	command(p.say_kid, 'e', NULL);
	UNTIL(finished == 1);
	program_end(&p);
	UNTIL(finished == 2);
	agent_close(&agent);
}

/* Its parent ends first: what it counted until then belongs to that one. */
static void parent_ends_first(void **state)
{
	struct program p;

	(void)state;
	settings.many = true;
	settings.each.follow = true;
	whole_begin();
	p = program_recorded();
	fill_room();
	program_fork(&p);
	assert_int_equal(answer_to(p.say_kid, NULL), RING_COUNTED);
	command(p.say_kid, 'c', NULL);
	command(p.say_kid, 'f', NULL); /* is heard when the counts are there */
	assert_int_equal(hear(p.say_kid).kind, UINT32_MAX);
	kill(p.pid, SIGKILL);
	UNTIL(finished);
	assert_null(agent.cell[0].header);
	assert_int_equal(agent.session[0].stream.unrecorded_sum.pid, 1);
	assert_int_equal(agent.session[0].stream.unrecorded_sum.events, 10);
	program_end(&p);
	agent_close(&agent);
}

/* Another process has its number by now: it is over. */
static void counted_number_is_reused(void **state)
{
	const struct stream *of;
	struct program p;

	(void)state;
	settings.many = true;
	settings.each.follow = true;
	whole_begin();
	p = program_recorded();
	of = &agent.session[0].stream;
	fill_room();
	program_fork(&p);
	assert_int_equal(answer_to(p.say_kid, NULL), RING_COUNTED);
	command(p.say_kid, 'c', NULL);
	command(p.say_kid, 'f', NULL); /* is heard when the counts are there */
	assert_int_equal(hear(p.say_kid).kind, UINT32_MAX);
	agent.cell[0].start_ticks++;
	cells_tick(&agent);
	assert_null(agent.cell[0].header);
	assert_int_equal(of->unrecorded_sum.events, 10);
	program_end(&p);
	UNTIL(finished);
	agent_close(&agent);
}

/* The cells are taken: it is told all the same, once. */
static void no_cell(void **state)
{
	static struct ring_header taken;
	uint64_t start;
	pid_t parent;
	struct program p;
	struct stream *of;

	(void)state;
	settings.many = true;
	settings.each.follow = true;
	whole_begin();
	p = program_recorded();
	of = &agent.session[0].stream;
	fill_room();
	assert_int_equal(target_identity(getpid(), &parent, &start), 0);
	for (unsigned i = 0; i < CELLS_MAX; i++)
		agent.cell[i] =
			(struct cell){.header = &taken, .pid = getpid(), .start_ticks = start};
	program_fork(&p);
	assert_int_equal(agent.turned_away, 0);
	command(p.say_kid, 'h', NULL);
	assert_int_equal(hear(p.say_kid).kind, RING_BUSY);
	assert_int_equal(agent.turned_away, 1);
	assert_int_equal(of->uncounted, 1);
	assert_int_equal(of->unrecorded_sum.pid, 1);
	assert_int_equal(answer_to(p.say_kid, NULL), RING_BUSY);
	assert_int_equal(agent.turned_away, 1);
	assert_int_equal(of->uncounted, 1);
	memset(agent.cell, 0, sizeof(agent.cell));
	assert_int_equal(answer_to(p.say_kid, NULL), RING_BUSY); /* was told already */
	assert_null(agent.cell[0].header);
	command(p.say_kid, 'e', NULL);
	program_end(&p);
	UNTIL(finished);
	agent_close(&agent);
}

/* A fork child that can't be recorded is told, once. */
static void unready(void **state)
{
	struct ring_hello hello = plain_hello;
	struct program p;
	struct stream *of;

	(void)state;
	settings.many = true;
	settings.each.follow = true;
	whole_begin();
	p = program_recorded();
	of = &agent.session[0].stream;
	program_fork(&p);
	hello.flags = RING_HELLO_FORKED | RING_HELLO_UNREADY;
	memcpy(hello.parent_stream, of->id, STREAM_ID_SIZE);
	assert_int_equal(answer_to(p.say_kid, &hello), RING_REFUSED);
	assert_int_equal(answer_to(p.say_kid, &hello), RING_REFUSED);
	assert_int_equal(agent.unready, 2);
	assert_int_equal(of->uncounted, 1);
	assert_int_equal(of->unrecorded_sum.pid, 1);
	assert_int_equal(agent_live(&agent), 1);
	command(p.say_kid, 'e', NULL);
	program_end(&p);
	UNTIL(finished);
	agent_close(&agent);
}

/* A program that ended before the agent read its hello is told, too. */
static void unheard(void **state)
{
	struct ring_hello hello = plain_hello;
	struct program p, gone;
	struct stream *of;

	(void)state;
	settings.many = true;
	settings.each.follow = true;
	whole_begin();
	p = program_recorded();
	of = &agent.session[0].stream;
	for (unsigned i = 0; i < 3; i++) {
		hello.flags = i ? RING_HELLO_FORKED : 0;
		if (i == 2)
			agent.only = p.pid; /* whose descendant it must be */
		memcpy(hello.parent_stream, of->id, STREAM_ID_SIZE);
		hello.parent_stream[0] ^= i == 2;
		gone = program_idle();
		command(gone.say, 'h', &hello);
		command(gone.say, 'e', NULL);
		assert_int_equal(waitpid(gone.pid, NULL, 0), gone.pid);
		UNTIL(agent.unheard == i + 1);
		assert_int_equal(of->uncounted, i);
		close(gone.say);
		close(gone.say_kid);
	}
	assert_int_equal(log_count("nor is any process that it descends from"), 1);
	agent.only = 0;
	program_end(&p);
	UNTIL(finished);
	agent_close(&agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_AGENT(other_programs),
		TEST_OF_AGENT(the_only_program),
		TEST_OF_AGENT(children_by_exec),
		TEST_OF_AGENT(children_by_fork),
		TEST_OF_AGENT(position_told_by_the_child),
		TEST_OF_AGENT(stopping),
		TEST_OF_AGENT(next_image),
		TEST_OF_AGENT(ends),
		TEST_OF_AGENT(end_without_pidfd),
		TEST_OF_AGENT(counted),
		TEST_OF_AGENT(not_counted),
		TEST_OF_AGENT(recorded_after_all),
		TEST_OF_AGENT(parent_ends_first),
		TEST_OF_AGENT(counted_number_is_reused),
		TEST_OF_AGENT(no_cell),
		TEST_OF_AGENT(unready),
		TEST_OF_AGENT(unheard),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
