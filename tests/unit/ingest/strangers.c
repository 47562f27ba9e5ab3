/*
 * Connections of those who have not said who they are: how many there may be, of one address and of
 * all, who makes room, how long each may take, what is sent to them, and how a link that has died
 * is noticed. The test dials from several addresses of the loopback interface.
 */
#include <netinet/tcp.h>

#include "tests/unit/ingest/support/still.h"

#define PLACE "127.0.0.1:0"

/* Connects from 127.0.0.`host`; it is accepted. */
static int dial(unsigned host)
{
	struct sockaddr_in from = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK + host - 1)},
			   to = {.sin_family = AF_INET,
				 .sin_port = htons(ingest_port(ingest)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct link *newest = ingest->links;

	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	ingest->strangers.tokens = 1; /* not too many in a second */
	for (unsigned i = 0; i < 3000 && ingest->links == newest; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_ptr_not_equal(ingest->links, newest);
	return fd;
}

/* The address of its other end, which names the link. */
static const char *name_of(int fd)
{
	static char text[ADDRESS_TEXT];
	struct sockaddr_in own;
	socklen_t length = sizeof(own);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &length), 0);
	return address_format(text, (struct sockaddr *)&own);
}

static bool is_in(int fd)
{
	return link_by_address(ingest, name_of(fd)) != NULL;
}

static void close_all(int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
}

/* An address has its share; the oldest one of it makes room, and nobody else does. */
static void one_address_has_a_share(void **state)
{
	int fds[HALF_OPEN_EACH + 3], other;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 100, .listen = PLACE});
	other = dial(2);
	for (unsigned i = 0; i < HALF_OPEN_EACH; i++) {
		fds[i] = dial(1);
		ingest->links->who.since_ms = 1000 + i;
	}
	assert_true(is_in(fds[0]) && is_in(other));
	for (unsigned i = 0; i < 2; i++) {
		told[0] = 0;
		fds[HALF_OPEN_EACH + i] = dial(1);
		ingest->links->who.since_ms = 5000 + i;
		assert_true(!is_in(fds[i]) && is_in(fds[i + 1]) && is_in(other));
		assert_true(is_in(fds[HALF_OPEN_EACH + i]));
	}
	/* one that has greeted is no stranger any more */
	ingest->links->state = LINK_GOODBYE;
	fds[HALF_OPEN_EACH + 2] = dial(1);
	assert_true(is_in(fds[2]));
	ingest->links->next->state = LINK_HELLO;
	close_all(fds, HALF_OPEN_EACH + 3);
	close(other);
	still_end();
}

/* Where all have no more room, the address with the most gives up its oldest. */
static void all_have_room_for_so_many(void **state)
{
	int fds[HALF_OPEN_MAX + 1];

	(void)state;
	still_begin((struct ingest_options){.agents_max = 100, .listen = PLACE});
	for (unsigned i = 0; i < HALF_OPEN_MAX; i++) {
		/* 31 of the second one, and 11 of three others */
		fds[i] = dial(i < 33 ? 3 + i % 3 : 2);
		ingest->links->who.since_ms = 1000 + i;
	}
	for (unsigned i = 0; i < HALF_OPEN_MAX; i++)
		assert_true(is_in(fds[i]));
	told[0] = 0;
	fds[HALF_OPEN_MAX] = dial(9);
	assert_true(!is_in(fds[33]) && is_in(fds[34]) && is_in(fds[0]));
	assert_true(is_in(fds[HALF_OPEN_MAX]));
	assert_non_null(strstr(told, ": it has not said who it is, and others want its place\n"));
	assert_non_null(strstr(told, name_of(fds[33])));
	close_all(fds, HALF_OPEN_MAX + 1);
	still_end();
}

static void check_option(int fd, int level, int option, int expected)
{
	int value = -1;
	socklen_t length = sizeof(value);

	assert_int_equal(getsockopt(fd, level, option, &value, &length), 0);
	assert_int_equal(value, expected);
}

/* It is awaited for five seconds, and a board that lost power is noticed. */
static void each_has_its_time(void **state)
{
	struct link *link;
	uv_os_fd_t own;
	int fd;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 100, .listen = PLACE});
	fd = dial(1);
	link = ingest->links;
	assert_int_equal(link->state, LINK_HELLO);
	assert_int_equal(link->kind, LINK_PLAIN);
	assert_string_equal(link->address, name_of(fd));
	assert_int_equal(link->handles, 2);
	assert_in_range(link->who.since_ms, loop.time - 5000, loop.time);
	assert_int_equal(link->timer.timeout - link->who.since_ms, STRANGERS_SHAKE_MS);
	assert_int_equal(link->heard_ms, link->who.since_ms);
	assert_int_equal(uv_fileno((uv_handle_t *)&link->tcp, &own), 0);
	check_option(own, IPPROTO_TCP, TCP_NODELAY, 1);
	check_option(own, SOL_SOCKET, SO_KEEPALIVE, 1);
	check_option(own, IPPROTO_TCP, TCP_KEEPIDLE, 4);
	check_option(own, IPPROTO_TCP, TCP_KEEPINTVL, 2);
	check_option(own, IPPROTO_TCP, TCP_KEEPCNT, 3);
	check_option(own, IPPROTO_TCP, TCP_USER_TIMEOUT, 12000);
	link->timer.timer_cb(&link->timer);
	assert_false(is_in(fd));
	assert_non_null(strstr(told, name_of(fd)));
	assert_non_null(strstr(told, ": it did not greet in time\n"));
	told[0] = 0;
	link->timer.timer_cb(&link->timer); /* it is over */
	check_told("");
	close(fd);
	still_end();
}

/* Connects, and is not waited for. */
static int knock(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(ingest_port(ingest)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* So many in a second; the others are accepted a little later. */
static void not_all_at_once(void **state)
{
	int fd;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 100, .listen = PLACE});
	fd = knock();
	for (unsigned i = 0; i < 3000 && !ingest->accept_waits && !is_in(fd); i++) {
		ingest->strangers.tokens = 0;
		ingest->strangers.filled_ms = uv_now(&loop);
		uv_run(&loop, UV_RUN_ONCE);
	}
	/* Where a turn takes 5 ms one more may come already. */
	assert_true(ingest->accept_waits || is_in(fd));
	for (unsigned i = 0; i < 3000 && !is_in(fd); i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_true(is_in(fd) && !ingest->accept_waits);
	close(fd);
	still_end();
}

/* A link that is not open is let go at once; an open one has two seconds for what is on its way. */
static void goodbyes(void **state)
{
	struct link *link;
	int fd;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 100, .listen = PLACE});
	fd = dial(1);
	told[0] = 0;
	link_goodbye(ingest->links);
	assert_false(is_in(fd));
	close(fd);
	fd = dial(2);
	link = ingest->links;
	link->state = LINK_OPEN;
	ingest->open_count++;
	link_goodbye(link);
	assert_int_equal(link->state, LINK_GOODBYE);
	assert_int_equal(link->timer.timeout - loop.time, GOODBYE_MS);
	assert_true(is_in(fd));
	assert_int_equal(ingest->open_count, 1);
	for (unsigned i = 0; i < 3000 && is_in(fd); i++) /* all has left */
		uv_run(&loop, UV_RUN_ONCE);
	assert_false(is_in(fd));
	assert_int_equal(ingest->open_count, 0);
	close(fd);
	fd = dial(3);
	link = ingest->links;
	link->state = LINK_OPEN;
	ingest->open_count++;
	link_goodbye(link);
	link->timer.timer_cb(&link->timer); /* or it has taken too long */
	assert_false(is_in(fd));
	assert_int_equal(ingest->open_count, 0);
	check_told("");
	close(fd);
	still_end();
}

/* Who has gone before it was accepted takes no place. */
static void gone_already(void **state)
{
	const struct linger at_once = {.l_onoff = 1};
	int fd;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 100, .listen = PLACE});
	fd = knock();
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
	ingest->strangers.tokens = 5;
	for (unsigned i = 0; i < 300 && ingest->strangers.tokens == 5; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_true(ingest->strangers.tokens != 5);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(ingest->link_count, 0);
	check_told("");
	still_end();
}

/* Once it stops, nobody is let in. */
static void not_while_it_stops(void **state)
{
	ssize_t n = -1;
	char byte;
	int fd;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 100, .listen = PLACE});
	uv_timer_stop(&ingest->tick); /* which would end what has nothing left to do */
	ingest->stopping = true;
	fd = knock();
	for (unsigned i = 0; i < 3000 && n; i++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
		usleep(n ? 100 : 0);
	}
	assert_int_equal(n, 0);
	assert_int_equal(ingest->link_count, 0);
	ingest->stopping = false;
	uv_timer_again(&ingest->tick);
	close(fd);
	still_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(one_address_has_a_share),
		TEST_IN_FOLDER(all_have_room_for_so_many),
		TEST_IN_FOLDER(each_has_its_time),
		TEST_IN_FOLDER(not_all_at_once),
		TEST_IN_FOLDER(goodbyes),
		TEST_IN_FOLDER(gone_already),
		TEST_IN_FOLDER(not_while_it_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
