/*
 * Several collectors: each agent has an order of its own, keeps to the collector that has said
 * hello, waits for that one a while when it is gone, and comes back to a better one when it has
 * nothing to send.
 */
#include "tests/unit/streamer/dialer_scene.h"

#define DESKS 3

static int at[DESKS];
static uint16_t port[DESKS];
static char list[128];

static void desks_open(void)
{
	for (unsigned i = 0; i < DESKS; i++)
		at[i] = desk(&port[i]);
	snprintf(list, sizeof(list), " 127.0.0.1:%u,127.0.0.1:%u , 127.0.0.1:%u", port[0], port[1],
		 port[2]);
}

static void desks_close(void)
{
	for (unsigned i = 0; i < DESKS; i++)
		if (at[i] >= 0)
			close(at[i]);
}

static unsigned port_of(unsigned index)
{
	return ntohs(((const struct sockaddr_in *)&d.address[index].at)->sin_port);
}

static unsigned desk_of(unsigned index)
{
	unsigned i = 0;

	while (i < DESKS && port[i] != port_of(index))
		i++;
	assert_true(i < DESKS);
	return i;
}

/* Waits for a connection at any desk. */
static unsigned called(int *ret_fd)
{
	unsigned who = DESKS;

	*ret_fd = -1;
	for (int left = PATIENCE_MS; who == DESKS && left; left--) {
		for (unsigned i = 0; i < DESKS && who == DESKS; i++)
			if (at[i] >= 0 && (*ret_fd = taken(at[i])) >= 0)
				who = i;
		uv_run(&s.loop, UV_RUN_NOWAIT);
		poll(NULL, 0, 1);
	}
	assert_true(who < DESKS);
	UNTIL(!link_free(&s.link[1]));
	return who;
}

/* As if the collector had said hello. */
static void greets(void)
{
	s.link[1].greeted = true;
	UNTIL(d.up);
}

/* Agents spread over the collectors, and those of a collector that is gone over the others. */
static void order(void **state)
{
	enum { AGENTS = 3000 };
	unsigned first[DESKS] = {0}, second[DESKS][DESKS] = {{0}};

	(void)state;
	for (uint64_t agent = 0; agent < AGENTS; agent++) {
		struct dial_address a[DESKS + 1] = {0}, b[DESKS];

		for (unsigned i = 0; i <= DESKS; i++) {
			struct sockaddr_in *in = (struct sockaddr_in *)&a[i].at;

			in->sin_family = AF_INET;
			in->sin_port = htons(43513);
			in->sin_addr.s_addr = htonl(0x0a000001 + i % DESKS);
			a[i].item = i % DESKS;
		}
		for (unsigned i = 0; i < DESKS; i++)
			b[i] = a[DESKS - i];
		assert_int_equal(dial_addresses_order(agent, a, DESKS + 1),
				 DESKS); /* one came twice */
		assert_int_equal(dial_addresses_order(agent, b, DESKS), DESKS);
		for (unsigned i = 0; i < DESKS; i++)
			assert_int_equal(a[i].item, b[i].item);
		first[a[0].item]++;
		second[a[0].item][a[1].item]++;
		/* Without the first, the others stay as they are. */
		b[0] = a[2];
		b[1] = a[1];
		assert_int_equal(dial_addresses_order(agent, b, 2), 2);
		assert_int_equal(b[0].item, a[1].item);
	}
	for (unsigned i = 0; i < DESKS; i++) {
		assert_in_range(first[i], AGENTS / DESKS - 120, AGENTS / DESKS + 120);
		for (unsigned k = 0; k < DESKS; k++)
			if (k != i)
				assert_in_range(second[i][k], first[i] / 2 - 90, first[i] / 2 + 90);
	}
}

/* The first one is gone: it is dialled for a while, then the others. */
static void moves(void **state)
{
	unsigned home, next, who, tries;
	int fd;

	(void)state;
	begin(NULL);
	desks_open();
	dial_to(list, 1);
	home = called(&fd);
	assert_int_equal(home, desk_of(0));
	greets();
	close(at[home]);
	at[home] = -1;
	close(fd);
	UNTIL(d.held == DIAL_HELD - 1);
	next = d.tries;
	UNTIL(!d.held);
	assert_in_range(d.tries - next, DIAL_HELD - 2, DIAL_HELD + 1);
	/* (connection refused. An emulator of MIPS hands on the error of its host, which has
	 * another number there.) */
	assert_int_equal(log_count("); trying again for 10 s"), 1);
	tries = d.tries;
	next = called(&fd);
	assert_int_equal(next, desk_of(1));
	assert_int_equal(d.tries, tries + 1); /* the one that is gone is left out */
	close(fd);
	UNTIL(link_free(&s.link[1])); /* it said nothing: the next one, at once */
	next = called(&fd);
	assert_int_equal(next, desk_of(2));
	greets();
	/* One that was restarted is taken again, unless there is no time for that. */
	close(fd);
	who = called(&fd);
	assert_int_equal(who, next);
	greets();
	close(at[next]);
	at[next] = -1;
	close(fd);
	UNTIL(d.held);
	dialer_hurry(&d);
	assert_int_equal(d.held, 1);
	UNTIL(!d.held);
	who = called(&fd);
	assert_int_equal(who, desk_of(1)); /* the first one is still gone */
	close(fd);
	desks_close();
	dialer_end();
}

/* Who takes the connection, and says nothing, hangs. */
static void says_nothing(void **state)
{
	unsigned who;
	int fd, other;

	(void)state;
	begin(NULL);
	desks_open();
	dial_to(list, 1);
	who = called(&fd);
	assert_int_equal(who, desk_of(0));
	UNTIL(log_count("took the connection and says nothing; trying the next one") == 1);
	who = called(&other);
	assert_int_equal(who, desk_of(1));
	close(fd);
	close(other);
	desks_close();
	dialer_end();
}

/* Who takes nothing is left for one that may be better, and not for one that was not. */
static void takes_nothing(void **state)
{
	unsigned who;
	int fd[DESKS + 1];

	(void)state;
	begin(NULL);
	desks_open();
	dial_to(list, 1);
	assert_false(dialer_leave(&d)); /* there is none yet */
	for (unsigned i = 0; i < DESKS; i++) {
		who = called(&fd[i]);
		assert_int_equal(who, desk_of(i));
		greets();
		assert_int_equal(dialer_leave(&d), i < DESKS - 1);
		if (i < DESKS - 1)
			UNTIL(link_free(&s.link[1]));
		d.address[i].off += 100000; /* none comes back before the end */
	}
	ticks_pass();
	assert_false(dialer_leave(&d));
	assert_false(link_free(&s.link[1]));
	/* It is gone: a full one is better than none. */
	close(at[desk_of(DESKS - 1)]);
	at[desk_of(DESKS - 1)] = -1;
	close(fd[DESKS - 1]);
	who = called(&fd[DESKS]);
	assert_int_equal(who, desk_of(0));
	greets();
	assert_false(dialer_leave(&d));
	/* The time of the other one is over. The second time lasts twice as long. */
	d.address[1].off = 1;
	UNTIL(!d.address[1].off);
	assert_false(d.address[1].full);
	d.address[0].off = 1;
	assert_true(dialer_leave(&d));
	assert_in_range(d.address[0].off, DIAL_OFF + 1, 2 * DIAL_OFF);
	close(fd[0]);
	who = called(&fd[0]);
	assert_int_equal(who, desk_of(1));
	for (unsigned i = 0; i <= DESKS; i++)
		if (i != DESKS - 1)
			close(fd[i]);
	desks_close();
	dialer_end();
}

/* The first one comes back: the agent goes home when it has nothing to send. */
static void goes_home(void **state)
{
	unsigned home, who;
	uint16_t again;
	int fd, old;

	(void)state;
	begin(NULL);
	desks_open();
	dial_to(list, 1);
	home = called(&fd);
	close(fd);
	UNTIL(link_free(&s.link[1]));
	who = called(&old);
	assert_int_equal(who, desk_of(1));
	greets();
	ticks_pass();
	ticks_pass();
	assert_int_equal(d.home_due, DIAL_HOME); /* it is busy */
	close(at[home]);
	dialer_rest(&d, true);
	UNTIL(d.home_wait == 2 * DIAL_HOME);
	ticks_pass();
	assert_int_equal(log_count("going back"), 0); /* nobody is there */
	again = port[home];
	at[home] = desk_at(1, 8, &again);
	assert_true(at[home] >= 0);
	d.home_due = 1;
	UNTIL(log_count("is there again: going back to it") == 1);
	fd = taken(at[home]); /* the look */
	close(fd);
	who = called(&fd);
	assert_int_equal(who, home);
	greets();
	UNTIL(d.home_wait == DIAL_HOME);
	close(fd);
	close(old);
	desks_close();
	dialer_end();
}

/* One that it had before: that comes first, once. */
static void begins_where_it_was(void **state)
{
	char where[DIAL_NAME];
	unsigned who;
	int fd;

	(void)state;
	begin(NULL);
	desks_open();
	snprintf(where, sizeof(where), "127.0.0.1 %u", port[2]);
	dial_to(list, 1);
	dialer_prefer(&d, where);
	who = called(&fd);
	assert_int_equal(who, 2);
	assert_false(dialer_at(&d, where));
	greets();
	assert_true(dialer_at(&d, where));
	assert_int_equal(strtoul(strchr(where, ' '), NULL, 10), port[2]);
	turn_to(list, 1);
	close(fd);
	who = called(&fd);
	assert_int_equal(who, desk_of(0));
	close(fd);
	dialer_prefer(&d, "10.0.0.1 1"); /* which is none of them */
	turn_to(list, 1);
	who = called(&fd);
	assert_int_equal(who, desk_of(0));
	close(fd);
	desks_close();
	dialer_end();
}

/* Names that nobody knows are left out. */
static void unknown_names(void **state)
{
	unsigned who;
	char some[64];
	int fd;

	(void)state;
	begin(NULL);
	desks_open();
	snprintf(some, sizeof(some), "a..b,127.0.0.1:%u,c..d:9", port[1]);
	dial_to(some, 1);
	who = called(&fd);
	assert_int_equal(who, 1);
	assert_int_equal(d.addresses, 1);
	assert_int_equal(log_count("no collector at a..b:1 ("), 1);
	close(fd);
	desks_close();
	dialer_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_DIALER(order),	       TEST_OF_DIALER(moves),
		TEST_OF_DIALER(says_nothing),  TEST_OF_DIALER(takes_nothing),
		TEST_OF_DIALER(goes_home),     TEST_OF_DIALER(begins_where_it_was),
		TEST_OF_DIALER(unknown_names),
	};

	dialer_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
