/*
 * Who is at the other end of a link, and what it is heard with: hellos, addresses, orders whole and
 * in pieces, requests that are none, and collectors that come again. In a network of the program's
 * own, where that is allowed, the host has more addresses.
 */
#include "tests/unit/streamer/link_scene.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include "base/bytes.h"
#include "base/log.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/emulated.h"
#include "tests/unit/own_network.h"
#include "tests/unit/temporary.h"

static struct scene s;
static char log_file[128];
static const uint8_t desk[STREAM_ID_SIZE] = {1, 2, 3, 4, 5};

static unsigned log_count(const char *text)
{
	static char all[32768];
	int fd = open(log_file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, all, sizeof(all) - 1);
	unsigned count = 0;

	all[n > 0 ? n : 0] = '\0';
	close(fd);
	for (const char *at = all; (at = strstr(at, text)); at++)
		count++;
	return count;
}

/* Says hello by this name and id, on the link in use. */
static void hello_of(const char *host, const uint8_t *id, size_t length)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Hello m = HEAPCAST__HELLO__INIT;

	m.protocol = PROTOCOL_VERSION;
	m.host = (char *)(uintptr_t)host;
	m.id = (ProtobufCBinaryData){length, (uint8_t *)(uintptr_t)id};
	order.hello = &m;
	send_order(&s, &order);
}

/* A connection by TCP between these addresses; false if this host does not have both. */
static bool join_tcp(int family, const char *from, const char *to)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6}, own = {.sin6_family = AF_INET6};
	socklen_t length = sizeof(six);
	int at = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, taken, off = 0;
	char text[64];

	if (at < 0)
		return false;
	setsockopt(at, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	snprintf(text, sizeof(text), family == AF_INET ? "::ffff:%s" : "%s", to);
	inet_pton(AF_INET6, text, &six.sin6_addr);
	snprintf(text, sizeof(text), family == AF_INET ? "::ffff:%s" : "%s", from);
	inet_pton(AF_INET6, text, &own.sin6_addr);
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(at, (struct sockaddr *)&six, sizeof(six)) || listen(at, 1) ||
	    getsockname(at, (struct sockaddr *)&six, &length) ||
	    bind(fd, (struct sockaddr *)&own, sizeof(own)) ||
	    connect(fd, (struct sockaddr *)&six, sizeof(six))) {
		close(at);
		close(fd);
		return false;
	}
	taken = accept4(at, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(taken >= 0);
	close(at);
	join_with(&s, taken, fd);
	return true;
}

static void greetings(void **state)
{
	(void)state;
	scene_open(&s);
	s.who = 6;
	join(&s);
	assert_false(s.link[0].greeted);
	hello_of("desk\n1", desk, sizeof(desk));
	assert_true(s.link[0].greeted && s.link[0].has_id);
	assert_int_equal(s.link[0].who, 6);
	assert_memory_equal(s.id, desk, sizeof(desk));
	assert_string_equal(s.host_name, "desk\n1");
	assert_ptr_equal(s.greeting.address, s.link[0].address);
	assert_false(s.greeting.proved);
	assert_string_equal(s.link[0].replies.by, "collector desk 1 (test)");
	hello_of("desk", desk, sizeof(desk)); /* one is enough */
	assert_true(link_free(&s.link[0]));
	assert_int_equal(s.closed, 1);
	leave(&s);
	for (size_t length = 0; length <= sizeof(desk) + 1; length += sizeof(desk) - 1) {
		uint8_t id[2 * STREAM_ID_SIZE] = {9};

		join(&s);
		hello_of("", id, length);
		assert_null(s.greeting.id);
		assert_true(s.link[0].greeted);
		assert_false(s.link[0].has_id);
		leave(&s);
	}
	assert_int_equal(log_count("update the older one"), 0);
	join(&s);
	hello(&s, PROTOCOL_VERSION + 3);
	assert_int_equal(log_count("it speaks protocol"), 1);
	assert_true(link_free(&s.link[0]));
	leave(&s);
	scene_close(&s);
}

static void names(void **state)
{
	char name[100];

	(void)state;
	scene_open(&s);
	memset(name, 'n', sizeof(name));
	for (size_t length = sizeof(s.link[0].peer) - 2; length <= sizeof(s.link[0].peer);
	     length++) {
		size_t kept = length < sizeof(s.link[0].peer) ? length : sizeof(s.link[0].peer) - 1;
		int pair[2];

		name[length] = '\0';
		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			0);
		s.peer[0].fd = pair[1];
		assert_int_equal(link_open(&s.link[0], pair[0], name), 0);
		assert_int_equal(strlen(s.link[0].peer), kept);
		assert_memory_equal(s.link[0].peer, name, kept);
		expect_hello(&s, 1, 1);
		leave(&s);
		name[length] = 'n';
	}
	assert_int_equal(log_count("closed by the collector"), 3);
	scene_close(&s);
}

/* Orders of the same host are trusted: who has an address of 127.0.0.0/8 or the same one at both
 * ends. */
static void addresses(void **state)
{
	const struct {
		int family;
		const char *from, *to;
		bool local;
	} cases[] = {{AF_INET, "127.0.0.1", "127.0.0.1", true},
		     {AF_INET, "127.0.0.2", "127.0.0.1", true},
		     {AF_INET6, "::1", "::1", true},
		     {AF_INET, "10.1.1.1", "10.1.1.1", true},
		     {AF_INET, "10.1.1.2", "10.1.1.1", false}};

	(void)state;
	scene_open(&s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!join_tcp(cases[i].family, cases[i].from, cases[i].to))
			continue;
		assert_string_equal(s.link[0].address, cases[i].from);
		assert_int_equal(s.link[0].replies.local, cases[i].local);
		leave(&s);
	}
	scene_close(&s);
}

/* A connection that breaks is told by its reason. */
static void reset(void **state)
{
	struct linger now_ = {.l_onoff = 1};

	(void)state;
	SKIP_EMULATED_IF(emulated_mistells_errors(), MISTELLS_ERRORS);
	scene_open(&s);
	if (!join_tcp(AF_INET, "127.0.0.1", "127.0.0.1"))
		skip();
	setsockopt(s.peer[0].fd, SOL_SOCKET, SO_LINGER, &now_, sizeof(now_));
	close(s.peer[0].fd);
	for (int i = 0; i < 5000 && !link_free(&s.link[0]); i++) {
		turn(&s);
		poll(NULL, 0, 1);
	}
	assert_true(link_free(&s.link[0]));
	assert_int_equal(log_count("link to test: Connection reset by peer"), 1);
	scene_close(&s);
}

/* What can't be watched, or has no list that fits, is no link, and leaves nothing behind. */
static void no_link(void **state)
{
	unsigned descriptors = descriptors_open();
	size_t size;
	int fd, pair[2];

	(void)state;
	scene_open(&s);
	fd = open(log_file, O_RDONLY | O_CLOEXEC);
	assert_int_equal(link_open(&s.link[0], fd, "file"), -EPERM);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_true(link_free(&s.link[0]));
	size = s.packer.message_size;
	s.packer.message_size = 10;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	assert_int_equal(link_open(&s.link[0], pair[0], "test"), -EMSGSIZE);
	assert_true(s.link[0].closing);
	link_pump(&s.link[0]); /* has no effect */
	link_close(&s.link[0]);
	turn(&s);
	assert_true(link_free(&s.link[0]));
	assert_int_equal(s.closed, 1);
	close(pair[1]);
	s.packer.message_size = size;
	size = s.link[0].out_size;
	s.link[0].out_size = 10;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	assert_true(link_open(&s.link[0], pair[0], "test") < 0);
	turn(&s);
	assert_true(link_free(&s.link[0]));
	close(pair[1]);
	s.link[0].out_size = size;
	join(&s);
	expect_hello(&s, 1, 1);
	leave(&s);
	link_pump(&s.link[0]);
	scene_close(&s);
	assert_int_equal(descriptors_open(), descriptors);
}

/* A list that does not fit ends the link. */
static void list_too_long(void **state)
{
	size_t size;

	(void)state;
	scene_open(&s);
	join(&s);
	expect_hello(&s, 1, 1);
	size = s.packer.message_size;
	s.packer.message_size = 10;
	s.host.generation++;
	link_pump(&s.link[0]);
	turn(&s);
	assert_true(link_free(&s.link[0]));
	s.packer.message_size = size;
	leave(&s);
	scene_close(&s);
}

/* A collector that subscribes on a new link has given up its old one. */
static void comes_again(void **state)
{
	(void)state;
	scene_open(&s);
	s.who = 4;
	join(&s);
	hello_of("desk", desk, sizeof(desk));
	subscribe(&s, 0, 0);
	s.at = 1;
	s.who = 5; /* another one */
	join(&s);
	hello_of("lab", desk, sizeof(desk));
	subscribe(&s, 0, 0);
	assert_true(s.link[0].fd >= 0 && s.link[1].fd >= 0);
	s.at = 2;
	s.who = 4; /* says no id: it may be anybody */
	join(&s);
	hello_of("desk", NULL, 0);
	subscribe(&s, 0, 0);
	assert_true(s.link[0].fd >= 0 && s.link[1].fd >= 0 && s.link[2].fd >= 0);
	leave(&s);
	join(&s);
	hello_of("desk", desk, sizeof(desk));
	assert_true(s.link[0].fd >= 0); /* it may still choose the old one */
	subscribe(&s, 0, 0);
	assert_true(link_free(&s.link[0]));
	assert_true(s.link[1].fd >= 0 && s.link[2].fd >= 0);
	assert_int_equal(log_count("link to test: the collector has come again, as test"), 1);
	leave(&s);
	s.at = 0;
	s.who = 5;
	close(s.peer[0].fd);
	join(&s);
	hello_of("desk", NULL, 0);
	s.at = 2;
	join(&s);
	hello_of("lab", desk, sizeof(desk));
	subscribe(&s, 0, 0);
	assert_true(link_free(&s.link[1])); /* and not the one without an id */
	assert_true(s.link[0].fd >= 0);
	close(s.peer[1].fd);
	leave(&s);
	s.at = 0;
	leave(&s);
	scene_close(&s);
}

/* ---- orders ---- */

static void control(uint64_t id, Heapcast__Action action)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Control m = HEAPCAST__CONTROL__INIT;

	m.id = id;
	m.action = action;
	order.control = &m;
	send_order(&s, &order);
}

static void expect_reply(uint64_t id, Heapcast__ReplyStatus status)
{
	Heapcast__Batch *b = receive(&s);

	assert_non_null(b);
	assert_non_null(b->link);
	assert_null(b->link->hello);
	assert_int_equal(b->link->n_reply, 1);
	assert_int_equal(b->link->reply[0]->id, id);
	assert_int_equal(b->link->reply[0]->status, status);
	heapcast__batch__free_unpacked(b, NULL);
}

static void orders(void **state)
{
	char host[600];

	(void)state;
	for (size_t i = 0; i < sizeof(host); i++)
		host[i] = (char)('a' + random() % 26);
	host[sizeof(host) - 1] = '\0';
	scene_open(&s);
	s.host.orders = ORDERS_YES;
	join(&s);
	expect_hello(&s, 1, 1);
	control(1, HEAPCAST__ACTION__ACTION_SNAPSHOT); /* before the hello */
	assert_true(link_free(&s.link[0]));
	assert_int_equal(s.orders, 0);
	leave(&s);
	join(&s);
	expect_hello(&s, 1, 1);
	hello_of(host, NULL, 0); /* fills the buffer that orders come into */
	control(7, HEAPCAST__ACTION__ACTION_SNAPSHOT);
	expect_reply(7, HEAPCAST__REPLY_STATUS__REPLY_DONE);
	assert_int_equal(s.orders, 1);
	s.host.orders = ORDERS_NO;
	control(8, HEAPCAST__ACTION__ACTION_SNAPSHOT);
	expect_reply(8, HEAPCAST__REPLY_STATUS__REPLY_SWITCHED_OFF);
	assert_int_equal(s.orders, 1);
	s.host.orders = ORDERS_YES;
	s.host.ordered = NULL;
	control(9, HEAPCAST__ACTION__ACTION_SNAPSHOT);
	expect_reply(9, HEAPCAST__REPLY_STATUS__REPLY_DONE);
	expect_nothing(&s);
	assert_int_equal(s.orders, 1);
	leave(&s);
	scene_close(&s);
}

/* A file is asked for only where there are some. */
static void files(void **state)
{
	static struct symbol_files all;
	static uint8_t build_id[20] = {0xab};
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__FileRequest m = HEAPCAST__FILE_REQUEST__INIT;
	Heapcast__Batch *b = NULL;

	(void)state;
	m.build_id = (ProtobufCBinaryData){sizeof(build_id), build_id};
	order.file = &m;
	scene_open(&s);
	join(&s);
	expect_hello(&s, 1, 1);
	hello(&s, PROTOCOL_VERSION);
	send_order(&s, &order);
	expect_nothing(&s);
	assert_true(s.link[0].fd >= 0);
	assert_int_equal(symbol_files_init(&all, &s.arena, &s.loop, s.streams, 1, link_pump), 0);
	s.host.files = &all;
	send_order(&s, &order);
	for (int i = 0; i < 500 && !b; i++, poll(NULL, 0, 1))
		b = receive(&s);
	assert_non_null(b);
	assert_non_null(b->link);
	assert_non_null(b->link->file);
	assert_memory_equal(b->link->file->build_id.data, build_id, sizeof(build_id));
	assert_int_equal(b->link->file->refusal, HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_UNKNOWN);
	heapcast__batch__free_unpacked(b, NULL);
	send_order(&s, &order); /* goes before it is answered */
	leave(&s);
	assert_null(all.to);
	assert_null(all.turned_away);
	uv_close((uv_handle_t *)&all.timer, NULL);
	for (int i = 0; i < 500 && all.working; i++, poll(NULL, 0, 1))
		turn(&s);
	turn(&s);
	symbol_files_done(&all);
	scene_close(&s);
}

/* A frame of an order whose message has this many bytes more than it needs. */
static size_t order_frame(size_t padding, uint8_t *out, size_t size)
{
	static uint8_t message[FRAME_HEADROOM + 40000];
	static char host[40000];
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Hello m = HEAPCAST__HELLO__INIT;
	long n;

	memset(host, 'h', sizeof(host));
	host[padding] = '\0';
	m.protocol = PROTOCOL_VERSION;
	m.host = host;
	order.hello = &m;
	n = frame_encode(s.encoder, message + FRAME_HEADROOM,
			 heapcast__order__pack(&order, message + FRAME_HEADROOM), out, size);
	assert_true(n > 0);
	return (size_t)n;
}

static void in_pieces(void **state)
{
	static uint8_t out[8000];
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Control m = HEAPCAST__CONTROL__INIT;
	uint8_t message[FRAME_HEADROOM + 1000];
	size_t length = 0, part;
	long n;

	(void)state;
	scene_open(&s);
	s.host.orders = ORDERS_YES;
	join(&s);
	expect_hello(&s, 1, 1);
	length = order_frame(4, out, sizeof(out));
	for (size_t i = 0; i < length; i++) {
		assert_false(s.link[0].greeted);
		assert_int_equal(send(s.peer[0].fd, out + i, 1, MSG_NOSIGNAL), 1);
		turn(&s);
	}
	assert_true(s.link[0].greeted);
	order.control = &m;
	m.action = HEAPCAST__ACTION__ACTION_SNAPSHOT;
	for (length = 0, m.id = 1; m.id <= 3; m.id++, length += (size_t)n) {
		n = frame_encode(s.encoder, message + FRAME_HEADROOM,
				 heapcast__order__pack(&order, message + FRAME_HEADROOM),
				 out + length, sizeof(out) - length);
		assert_true(n > 0);
	}
	part = length - 5; /* two and a half */
	assert_int_equal(send(s.peer[0].fd, out, part, MSG_NOSIGNAL), part);
	turn(&s);
	assert_int_equal(s.orders, 2);
	assert_int_equal(send(s.peer[0].fd, out + part, length - part, MSG_NOSIGNAL),
			 length - part);
	turn(&s);
	assert_int_equal(s.orders, 3);
	leave(&s);
	scene_close(&s);
}

/* Orders are short. What would be longer than the buffer, or unpacks to more than 16 KiB, is
 * refused, and so is what is no order. */
static void sizes(void **state)
{
	static uint8_t out[60000];
	const size_t most = 16 << 10;
	size_t head = 0, length;

	(void)state;
	scene_open(&s);
	/* bytes of the message besides the name */
	while (true) {
		struct reader content;

		length = order_frame(most - head, out, sizeof(out));
		content = reader_of(out + 6, 8);
		if (reader_u64le(&content) <= most)
			break;
		head++;
	}
	for (unsigned more = 0; more < 2; more++) {
		join(&s);
		length = order_frame(most - head + more, out, sizeof(out));
		assert_true(length < s.link[0].in_size);
		assert_int_equal(send(s.peer[0].fd, out, length, MSG_NOSIGNAL), length);
		turn(&s);
		assert_int_equal(s.link[0].greeted, !more);
		assert_int_equal(link_free(&s.link[0]), more);
		leave(&s);
	}
	/* a block that does not fit */
	join(&s);
	memcpy(out + 15, "\xff\xff\x00\x00", 4);
	assert_int_equal(send(s.peer[0].fd, out, 19, MSG_NOSIGNAL), 19);
	turn(&s);
	assert_true(link_free(&s.link[0]));
	leave(&s);
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	length = order_frame(10, out, sizeof(out));
	out[length - 1] ^= 1; /* of the checksum */
	assert_int_equal(send(s.peer[0].fd, out, length, MSG_NOSIGNAL), length);
	turn(&s);
	assert_true(link_free(&s.link[0]));
	assert_true(log_count("warn  link to test: ") > 0);
	leave(&s);
	scene_close(&s);
}

/* A collector that speaks TLS only says so in its way. That is told once. */
static void tls_only(void **state)
{
	(void)state;
	scene_open(&s);
	for (unsigned i = 0; i < 2; i++) {
		join(&s);
		assert_int_equal(
			send(s.peer[0].fd, secure_refusal, sizeof(secure_refusal), MSG_NOSIGNAL),
			sizeof(secure_refusal));
		turn(&s);
		assert_true(link_free(&s.link[0]));
		assert_true(s.host.told_of_tls);
		leave(&s);
		assert_int_equal(log_count("warn  link to test: it speaks TLS only"), 1);
		assert_int_equal(log_count("warn  "), 1);
	}
	/* It is no such thing from one that has said hello. */
	s.host.told_of_tls = false;
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	assert_int_equal(send(s.peer[0].fd, secure_refusal, sizeof(secure_refusal), MSG_NOSIGNAL),
			 sizeof(secure_refusal));
	turn(&s);
	assert_true(link_free(&s.link[0]));
	assert_false(s.host.told_of_tls);
	assert_int_equal(log_count("it speaks TLS only"), 1);
	assert_int_equal(log_count("no LZ4 frame begins here"), 1);
	leave(&s);
	scene_close(&s);
}

static int peers_setup(void **state)
{
	if (temporary_setup(state))
		return -1;
	snprintf(log_file, sizeof(log_file), "%s/log", temporary_folder);
	return log_open("info", log_file);
}

static int peers_teardown(void **state)
{
	log_open("error", NULL);
	return temporary_teardown(state);
}

/* Gives the loopback interface another address. */
static void add_address(const char *alias, const char *address)
{
	struct ifreq r = {0};
	struct sockaddr_in a = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &a.sin_addr);
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", alias);
	memcpy(&r.ifr_addr, &a, sizeof(a));
	ioctl(fd, SIOCSIFADDR, &r);
	close(fd);
}

#define TEST_OF_PEERS(name) cmocka_unit_test_setup_teardown(name, peers_setup, peers_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_PEERS(greetings), TEST_OF_PEERS(names),	   TEST_OF_PEERS(addresses),
		TEST_OF_PEERS(reset),	  TEST_OF_PEERS(no_link),  TEST_OF_PEERS(comes_again),
		TEST_OF_PEERS(orders),	  TEST_OF_PEERS(files),	   TEST_OF_PEERS(in_pieces),
		TEST_OF_PEERS(sizes),	  TEST_OF_PEERS(tls_only), TEST_OF_PEERS(list_too_long),
	};
	uv_loop_t first;

	if (own_network_enter()) {
		add_address("lo:1", "10.1.1.1");
		add_address("lo:2", "10.1.1.2");
	}
	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
