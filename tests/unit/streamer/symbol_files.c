/* Symbol files on their way to a collector, piece by piece: what is sent, who waits, and what is
 * refused. */
#include "tests/unit/streamer/asked_files.h"

static void test_whole(void **state)
{
	uint64_t asked;

	(void)state;
	announce_own();
	assert_false(symbol_files_busy(&s.files, clock_monotonic_ns()));
	ask(0);
	asked = s.files.moved_ns;
	assert_true(symbol_files_busy(&s.files, asked));
	assert_true(symbol_files_busy(&s.files, asked + 4999999999));
	assert_false(symbol_files_busy(&s.files, asked + 5000000000));
	expect_rest(0, 0);
	assert_ptr_equal(pumped, link_at(0));
	assert_true(pumps > 0);
	assert_true(s.files.moved_ns > asked);
	assert_true(symbol_files_busy(&s.files, s.files.moved_ns + 2999999999));
	assert_false(symbol_files_busy(&s.files, s.files.moved_ns + 3000000000));
	ask(1); /* and another one after that */
	expect_rest(1, 0);
}

/* Who has a part goes on behind it, if the file is still the same. */
static void test_part(void **state)
{
	uint64_t offset, identity;

	(void)state;
	announce_own();
	ask(0);
	offset = expect_piece(0, 0);
	identity = s.files.file.identity;
	symbol_files_leave(&s.files, link_at(0));
	settle();
	expect_idle();
	ask_from(0, own, ELF_MADE_ID, offset, identity, crc32_add(0, s.bytes, (size_t)offset));
	expect_rest(0, offset);
	ask_from(0, own, ELF_MADE_ID, s.size - 1, identity, crc32_add(0, s.bytes, s.size - 1));
	expect_rest(0, s.size - 1);
	ask_from(0, own, ELF_MADE_ID, s.size, identity, 1);
	expect_piece(0, 0);
	ask_from(0, own, ELF_MADE_ID, offset, identity + 1, 1);
	expect_piece(0, 0);
}

/* A piece is sent in its turn only, and while the link has hardly anything in flight. */
static void test_turns(void **state)
{
	uint8_t rest[4096] = {0}, out[100];
	int pair[2];
	size_t room = s.bench.packer.message_size;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
			 0);
	announce_own();
	ask(0);
	while (!s.files.ready)
		uv_run(&s.loop, UV_RUN_ONCE);
	s.files.turn = false;
	assert_null(take(0));
	pumps = 0;
	while (!pumps)
		uv_run(&s.loop, UV_RUN_ONCE);
	assert_true(s.files.turn);
	assert_null(take(1)); /* it is another's */
	s.fd = pair[0];
	while (send(pair[0], rest, sizeof(rest), MSG_NOSIGNAL) > 0)
		;
	assert_null(take(0));
	while (recv(pair[1], rest, sizeof(rest), 0) > 0)
		;
	expect_piece(0, 0);
	assert_false(s.files.turn);
	settle();
	s.bench.packer.message_size = 64;
	s.files.turn = true;
	assert_int_equal(
		symbol_files_next(&s.files, link_at(0), -1, &s.bench.packer, out, sizeof(out)),
		-EMSGSIZE);
	s.bench.packer.message_size = room;
	close(pair[0]);
	close(pair[1]);
	symbol_files_leave(&s.files, link_at(0));
	settle();
}

static void test_busy(void **state)
{
	static const uint8_t other[3] = {9};
	uint64_t offset;

	(void)state;
	announce_own();
	ask(0);
	offset = expect_piece(0, 0);
	ask_from(1, other, sizeof(other), 0, 0, 0);
	expect_refused(1, REFUSED(BUSY), other, sizeof(other));
	assert_null(take(1));
	ask(1);
	symbol_files_leave(&s.files, link_at(1));
	assert_null(take(1));
	ask(2);
	symbol_files_leave(&s.files, link_at(1)); /* it was told already */
	expect_own_refused(2, REFUSED(BUSY));
	offset = expect_piece(0, offset);
	ask_from(1, NULL, 0, 0, 0, 0); /* who asks for nothing stops nobody else */
	offset = expect_piece(0, offset);
	ask_from(0, NULL, 0, 0, 0, 0);
	settle();
	expect_idle();
	ask(1);
	expect_rest(1, 0);
}

static void test_requests(void **state)
{
	uint8_t id[MODULE_BUILD_ID_MAX + 1] = {1};

	(void)state;
	ask_from(0, id, sizeof(id), 0, 0, 0);
	expect_idle();
	ask_from(0, id, sizeof(id) - 1, 0, 0, 0);
	expect_refused(0, REFUSED(UNKNOWN), id, sizeof(id) - 1);
	expect_idle();
	s.files.policy = SYMBOLS_NONE;
	announce_own();
	ask(0);
	assert_false(s.files.working);
	expect_own_refused(0, REFUSED(SWITCHED_OFF));
	expect_idle();
	s.files.policy = SYMBOLS_ALL;
	ask_from(0, own, ELF_MADE_ID - 1, 0, 0, 0);
	expect_refused(0, REFUSED(UNKNOWN), own, ELF_MADE_ID - 1);
	ask(0);
	expect_piece(0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SYMBOL_TEST(test_whole), SYMBOL_TEST(test_part),     SYMBOL_TEST(test_turns),
		SYMBOL_TEST(test_busy),	 SYMBOL_TEST(test_requests),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
