/*
 * Programs that ask a whole agent: those that it knows already, and children that run on when their
 * program has ended. programs.c has the others.
 */
#include "tests/unit/streamer/whole.h"

/* One that is known already is not told as one that was not heard. */
static void known(void **state)
{
	static const pid_t nobody = 0x7f000001;
	struct handshake_client client = {.fd = -1};
	struct ring_header header = {.magic = 0};
	struct program p;

	(void)state;
	settings.many = true;
	whole_begin();
	p = program_recorded();
	for (unsigned i = 0; i <= 2 * CELLS_MAX; i++) {
		struct cell *c = &agent.cell[i / 2];

		client.pid = i == 2 * CELLS_MAX ? p.pid : nobody;
		if (i < 2 * CELLS_MAX) {
			c->pid = nobody;
			c->header = i % 2 ? &header : NULL;
		}
		cells_unheard(&agent, &client, &plain_hello);
		if (i < 2 * CELLS_MAX) {
			assert_int_equal(agent.unheard, !(i % 2)); /* a free cell knows nobody */
			c->header = NULL;
			c->pid = 0;
			agent.cell_told[(uint32_t)nobody % CELLS_TOLD].pid = 0;
		} else {
			assert_int_equal(agent.unheard, 0);
		}
		agent.unheard = 0;
	}
	agent.cell_told[(uint32_t)nobody % CELLS_TOLD].pid = nobody;
	client.pid = nobody;
	cells_unheard(&agent, &client, &plain_hello);
	client.pid = 0;
	cells_unheard(&agent, &client, &plain_hello);
	assert_int_equal(agent.unheard, 0);
	program_end(&p);
	UNTIL(finished);
	agent_close(&agent);
}

/* The program has ended, and a child of it runs on in this place: it is recorded for as long as was
 * said, and let go then. */
static void children_run_on(void **state)
{
	(void)state;
	for (unsigned place = 0; place < 2; place++) {
		struct program p[2];

		settings.many = true;
		settings.each.follow = true;
		whole_begin();
		finished = 0;
		p[0] = program_recorded();
		p[1] = program_recorded();
		program_end(&p[!place]);
		UNTIL(finished == 1);
		assert_int_equal(agent_live(&agent), 1);
		agent.settings.linger_ns = 0;
		agent.only_ended = true;
		UNTIL(agent.session[place].detaching);
		assert_int_equal(agent.session[!place].detaching, false);
		program_end(&p[place]);
		UNTIL(agent_live(&agent) == 0);
		agent_close(&agent);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_AGENT(known),
		TEST_OF_AGENT(children_run_on),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
