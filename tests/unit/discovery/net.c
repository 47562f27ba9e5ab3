/*
 * The sockets of discovery, in a network of the test's own: two virtual interfaces beside the
 * loopback one, each with addresses of both kinds. What is sent arrives, where it should, from
 * where it should, and nowhere else.
 */
#include "proto/discovery_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/discovery.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/emulated.h"
#include "tests/unit/own_network.h"

#define NETWORK                                                                                    \
	"ip link add hc0 address 02:00:00:00:00:01 type veth peer name hc1 address "               \
	"02:00:00:00:00:02 && "                                                                    \
	"ip addr add 10.77.0.1/24 broadcast 10.77.0.255 dev hc0 && "                               \
	"ip addr add 10.78.0.1/16 broadcast 10.78.255.255 dev hc0 && "                             \
	"ip addr add 10.79.0.1/32 dev hc1 && "                                                     \
	"ip addr add fe80::1/64 dev hc0 nodad && ip addr add fe80::2/64 dev hc1 nodad && "         \
	"ip addr add fd00::1/64 dev hc0 nodad && "                                                 \
	"sysctl -qw net.ipv6.conf.hc0.addr_gen_mode=1 net.ipv6.conf.hc1.addr_gen_mode=1 "          \
	"2>/dev/null; ip link set hc0 up && ip link set hc1 up"

static bool has_interfaces;
static unsigned descriptors;

static void open_net(struct discovery_net *net, const char *interface)
{
	struct err_text err = {{0}};

	descriptors = descriptors_open();
	if (discovery_net_open(net, interface, 0, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(descriptors_open(), descriptors + DISCOVERY_SOCKETS);
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		assert_true(net->fd[i] >= 0);
}

static void close_net(struct discovery_net *net)
{
	discovery_net_close(net);
	discovery_net_close(net);
	assert_int_equal(descriptors_open(), descriptors);
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		assert_int_equal(net->fd[i], -1);
}

static struct sockaddr_storage address_of(const char *text, uint16_t port, const char *interface)
{
	struct sockaddr_storage at = {0};
	struct sockaddr_in *four = (struct sockaddr_in *)&at;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&at;

	at.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	four->sin_port = htons(port);
	assert_int_equal(inet_pton(at.ss_family, text,
				   at.ss_family == AF_INET ? (void *)&four->sin_addr
							   : (void *)&six->sin6_addr),
			 1);
	if (interface)
		six->sin6_scope_id = if_nametoindex(interface);
	return at;
}

/* The next datagram of a socket, waited for; its length, 0 if it was dropped, or a negative errno.
 */
static int receive(const struct discovery_net *net, enum discovery_socket which, char *data,
		   size_t size, struct sockaddr_storage *from)
{
	struct pollfd ready = {.fd = net->fd[which], .events = POLLIN};

	memset(data, 0, size);
	poll(&ready, 1, 200);
	return discovery_net_receive(net, which, data, size - 1, from);
}

static void expect_text(const struct sockaddr_storage *at, const char *expected)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(at->ss_family,
		  at->ss_family == AF_INET
			  ? (const void *)&((const struct sockaddr_in *)at)->sin_addr
			  : (const void *)&((const struct sockaddr_in6 *)at)->sin6_addr,
		  text, sizeof(text));
	assert_string_equal(text, expected);
}

/* ---- sending ---- */

static void loopback_has_its_broadcast(void **state)
{
	struct discovery_net net, other;
	struct sockaddr_storage from;
	char data[32];

	(void)state;
	open_net(&net, "lo");
	assert_int_equal(net.index, if_nametoindex("lo"));
	assert_int_equal(net.networks, 1);
	assert_int_equal(net.network[0].address, 0x7f000001);
	assert_int_equal(net.network[0].mask, 0xff000000);
	assert_int_equal(discovery_net_open(&other, "lo", 4096, NULL), 0); /* the port is shared */
	assert_false(discovery_net_send(&net, "beacon", 6));		   /* nothing has changed */
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), 6);
	assert_string_equal(data, "beacon");
	expect_text(&from, "127.0.0.1");
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), -EAGAIN);
	assert_int_equal(receive(&other, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), 6);
	/* The answer goes to the private port. */
	discovery_net_answer(&other, &from, "answer", 6);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_OWN, data, sizeof(data), &from), 6);
	assert_string_equal(data, "answer");
	discovery_net_answer(&net, &from, "back", 4);
	assert_int_equal(receive(&other, DISCOVERY_FOUR_OWN, data, sizeof(data), &from), 4);
	discovery_net_close(&other);
	close_net(&net);
	/* Without an interface it says nothing on the loopback one. */
	open_net(&net, NULL);
	assert_int_equal(net.networks, 0);
	assert_int_equal(net.index, 0);
	discovery_net_send(&net, "beacon", 6);
	if (!has_interfaces)
		assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from),
				 -EAGAIN);
	close_net(&net);
}

static void six_is_answered(void **state)
{
	struct sockaddr_storage to = address_of("::1", DISCOVERY_UDP_PORT, NULL), from;
	struct discovery_net net;
	char data[32];

	(void)state;
	open_net(&net, NULL);
	discovery_net_answer(&net, &to, "six", 3);
	assert_int_equal(receive(&net, DISCOVERY_SIX_ALL, data, sizeof(data), &from), 3);
	assert_int_equal(from.ss_family, AF_INET6);
	discovery_net_answer(&net, &from, "seven", 5);
	assert_int_equal(receive(&net, DISCOVERY_SIX_OWN, data, sizeof(data), &from), 5);
	assert_string_equal(data, "seven");
	close_net(&net);
}

static void networks_are_found(void **state)
{
	struct discovery_net net;

	(void)state;
	if (!has_interfaces)
		skip();
	open_net(&net, "hc0");
	assert_int_equal(net.index, if_nametoindex("hc0"));
	assert_int_equal(net.networks, 2);
	assert_int_equal(net.network[0].address, 0x0a4d0001);
	assert_int_equal(net.network[0].mask, 0xffffff00);
	assert_int_equal(net.network[1].address, 0x0a4e0001);
	assert_int_equal(net.network[1].mask, 0xffff0000);
	close_net(&net);
}

/* To each network's broadcast address, and to the group once. */
static void interfaces_are_reached(void **state)
{
	struct sockaddr_storage from;
	struct discovery_net net;
	char data[32];

	(void)state;
	if (!has_interfaces)
		skip();
	SKIP_EMULATED_IF(emulated() && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
			 "the emulator turns the bytes of broadcast addresses round");
	open_net(&net, "hc0");
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), -EAGAIN);
	discovery_net_send(&net, "four", 4);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), 4);
	assert_string_equal(data, "four");
	expect_text(&from, "10.77.0.1");
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), 4);
	expect_text(&from, "10.78.0.1");
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), -EAGAIN);
	assert_int_equal(receive(&net, DISCOVERY_SIX_ALL, data, sizeof(data), &from), 4);
	assert_memory_equal(&((struct sockaddr_in6 *)&from)->sin6_addr, "\xfe\x80", 2);
	assert_int_equal(((struct sockaddr_in6 *)&from)->sin6_scope_id, net.index);
	close_net(&net);
	/* All interfaces: the other end of the virtual cable hears it, too. */
	open_net(&net, NULL);
	discovery_net_send(&net, "all", 3);
	for (unsigned i = 0; i < 4; i++) /* both send, both hear both */
		assert_int_equal(receive(&net, DISCOVERY_SIX_ALL, data, sizeof(data), &from), 3);
	close_net(&net);
}

static void replace(const char *address, const char *by)
{
	char command[128];

	snprintf(command, sizeof(command), "ip addr del %s dev hc1 && ip addr add %s dev hc1%s",
		 address, by, strchr(by, ':') ? " nodad" : "");
	assert_int_equal(system(command), 0);
}

static void changes_are_told(void **state)
{
	static const char *const others[] = {"10.82.0.1/24", "11.82.0.1/24", "11.82.0.2/24",
					     "fd00::8/64",   "fc00::8/64",   NULL};
	struct discovery_net net;

	(void)state;
	if (!has_interfaces)
		skip();
	open_net(&net, NULL);
	assert_false(discovery_net_send(&net, NULL, 0));
	assert_int_equal(system("ip addr add 10.80.0.1/24 dev hc1"), 0);
	assert_true(discovery_net_send(&net, NULL, 0));
	assert_false(discovery_net_send(&net, NULL, 0));
	assert_int_equal(
		system("ip addr del 10.80.0.1/24 dev hc1 && ip addr add 10.81.0.1/24 dev hc1"), 0);
	assert_true(discovery_net_send(&net, NULL, 0)); /* as many, and another one */
	assert_int_equal(
		system("ip addr del 10.81.0.1/24 dev hc1 && ip addr add fd00::9/64 dev hc1 "
		       "nodad"),
		0);
	assert_true(discovery_net_send(&net, NULL, 0));
	assert_int_equal(system("ip addr del fd00::9/64 dev hc1 && ip addr add fd00::8/64 dev hc1 "
				"nodad"),
			 0);
	assert_true(discovery_net_send(&net, NULL, 0));
	assert_int_equal(system("ip addr del fd00::8/64 dev hc1"), 0);
	assert_int_equal(system("ip addr add 10.82.0.1/24 dev hc1"), 0);
	assert_true(discovery_net_send(&net, NULL, 0));
	/* Each byte of it counts: the first one and the last one, too. */
	for (unsigned i = 0; others[i + 1]; i++) {
		replace(others[i], others[i + 1]);
		assert_true(discovery_net_send(&net, NULL, 0));
		assert_false(discovery_net_send(&net, NULL, 0));
	}
	assert_int_equal(system("ip addr del fc00::8/64 dev hc1"), 0);
	close_net(&net);
}

/* ---- receiving ---- */

static void others_are_not_admitted(void **state)
{
	static const struct {
		const char *address;
		bool lo, hc0;
	} from[] = {
		{"127.0.0.1", true, false},	{"127.255.255.255", true, false},
		{"128.0.0.1", false, false},	{"10.77.0.99", false, true},
		{"10.77.1.1", false, false},	{"10.76.0.1", false, false},
		{"10.78.255.254", false, true}, {"10.79.0.1", false, false},
	};
	struct discovery_net all, lo, hc0;
	struct sockaddr_storage at = {.ss_family = AF_UNIX};

	(void)state;
	open_net(&all, NULL);
	assert_int_equal(discovery_net_open(&lo, "lo", 0, NULL), 0);
	assert_int_equal(discovery_net_open(&hc0, has_interfaces ? "hc0" : "lo", 0, NULL), 0);
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		at = address_of(from[i].address, 1, NULL);
		assert_true(discovery_net_admits(&all, &at));
		assert_int_equal(discovery_net_admits(&lo, &at), from[i].lo);
		if (has_interfaces)
			assert_int_equal(discovery_net_admits(&hc0, &at), from[i].hc0);
	}
	at = address_of("fe80::7", 1, "lo");
	assert_true(discovery_net_admits(&lo, &at));
	if (has_interfaces) {
		assert_false(discovery_net_admits(&hc0, &at));
		at = address_of("fe80::7", 1, "hc0");
		assert_true(discovery_net_admits(&hc0, &at));
		assert_false(discovery_net_admits(&lo, &at));
	}
	at = address_of("fe80::7", 1, NULL);
	lo.index = 0;
	assert_false(discovery_net_admits(&lo, &at));
	at.ss_family = AF_UNIX;
	assert_false(discovery_net_admits(&lo, &at));
	assert_true(discovery_net_admits(&all, &at));
	discovery_net_close(&lo);
	discovery_net_close(&hc0);
	close_net(&all);
}

static void useless_ones_are_dropped(void **state)
{
	struct sockaddr_storage from, to = address_of("127.0.0.1", DISCOVERY_UDP_PORT, NULL);
	struct discovery_net net;
	char data[8];

	(void)state;
	open_net(&net, "lo");
	discovery_net_answer(&net, &to, "1234567", 7);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), 7);
	discovery_net_answer(&net, &to, "12345678", 8);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), 0);
	net.networks = 0;
	discovery_net_answer(&net, &to, "1", 1);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), 0);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), -EAGAIN);
	assert_int_equal(from.ss_family, 0); /* of none there is no address */
	close_net(&net);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), -EBADF);
}

static void only_probes_arrive(void **state)
{
	static const char probe[] = "\x08\xd0\xa6\x8d\xc2\x04";
	struct sockaddr_storage from, to = address_of("127.0.0.1", DISCOVERY_UDP_PORT, NULL);
	struct discovery_net net;
	char data[32];

	(void)state;
	open_net(&net, "lo");
	discovery_net_only_probes(&net);
	for (unsigned i = 0; i < 6; i++) {
		memcpy(data, probe, 6);
		data[i] ^= 0x10;
		discovery_net_answer(&net, &to, data, 6);
		discovery_net_answer(&net, &to, probe, i);
	}
	memcpy(data, probe, 6);
	memcpy(data + 6, "and more", 8);
	discovery_net_answer(&net, &to, data, 14);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), 14);
	assert_memory_equal(data + 6, "and more", 8);
	discovery_net_answer(&net, &from, "rubbish", 7);
	discovery_net_answer(&net, &from, probe, 6);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_OWN, data, sizeof(data), &from), 6);
	assert_int_equal(receive(&net, DISCOVERY_FOUR_ALL, data, sizeof(data), &from), -EAGAIN);
	close_net(&net);
}

/* ---- opening ---- */

static void the_port_can_be_taken(void **state)
{
	struct sockaddr_storage at = address_of("127.0.0.1", DISCOVERY_UDP_PORT, NULL);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned before = descriptors_open();
	struct err_text err = {{0}};
	struct discovery_net net;

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(struct sockaddr_in)), 0);
	assert_int_equal(discovery_net_open(&net, NULL, 0, &err), -EADDRINUSE);
	assert_string_equal(err.text,
			    "UDP port 43513, where agents and collectors look for each other, is "
			    "taken by a program that does not share it ('ss -lunp' shows which)");
	assert_int_equal(net.fd[DISCOVERY_FOUR_ALL], -1);
	assert_true(net.fd[DISCOVERY_FOUR_OWN] >= 0);
	discovery_net_close(&net);
	assert_int_equal(descriptors_open(), before);
	close(fd);
	assert_int_equal(discovery_net_open(&net, "none0", 0, &err), -ENODEV);
	assert_string_equal(err.text,
			    "there is no interface 'none0' with an address that is up (ip "
			    "address shows all)");
	discovery_net_close(&net);
	assert_int_equal(discovery_net_open(&net, "l", 0, &err), -ENODEV);
	discovery_net_close(&net);
}

static void sockets_are_as_they_should(void **state)
{
	struct discovery_net net;
	struct sockaddr_storage at;
	int size, usual;

	(void)state;
	open_net(&net, NULL);
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++) {
		socklen_t length = sizeof(at);
		bool own = i == DISCOVERY_FOUR_OWN || i == DISCOVERY_SIX_OWN;
		int port;

		assert_int_equal(getsockname(net.fd[i], (struct sockaddr *)&at, &length), 0);
		port = ntohs(((struct sockaddr_in *)&at)->sin_port);
		assert_int_equal(at.ss_family, i % 2 ? AF_INET6 : AF_INET);
		assert_int_equal(port == DISCOVERY_UDP_PORT, !own);
		length = sizeof(size);
		getsockopt(net.fd[i], SOL_SOCKET, SO_RCVBUF, &usual, &length);
	}
	close_net(&net);
	assert_int_equal(discovery_net_open(&net, NULL, 20000, NULL), 0);
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++) {
		socklen_t length = sizeof(size);

		getsockopt(net.fd[i], SOL_SOCKET, SO_RCVBUF, &size, &length);
		assert_int_equal(size, 40000); /* the kernel doubles it */
		getsockopt(net.fd[i], SOL_SOCKET, SO_SNDBUF, &size, &length);
		assert_int_equal(size, 40000);
	}
	assert_true(usual > 40000);
	discovery_net_close(&net);
}

/* ---- addresses ---- */

static void interfaces_have_addresses(void **state)
{
	struct sockaddr_storage at;

	(void)state;
	memset(&at, 0, sizeof(at));
	assert_true(discovery_interface_address("lo", &at));
	assert_int_equal(at.ss_family, AF_INET);
	expect_text(&at, "127.0.0.1");
	assert_int_equal(((struct sockaddr_in *)&at)->sin_port, 0);
	assert_false(discovery_interface_address("none0", &at));
	at = address_of("127.0.0.1", 5, NULL);
	assert_true(discovery_interface_has("lo", &at));
	at = address_of("::ffff:127.0.0.1", 5, NULL);
	assert_true(discovery_interface_has("lo", &at));
	expect_text(&at, "::ffff:127.0.0.1");
	at = address_of("::1", 5, NULL);
	assert_true(discovery_interface_has("lo", &at));
	assert_false(discovery_interface_has("none0", &at));
	at = address_of("127.0.0.2", 5, NULL);
	assert_false(discovery_interface_has("lo", &at));
	at = address_of("::2", 5, NULL);
	assert_false(discovery_interface_has("lo", &at));
	at.ss_family = AF_PACKET; /* it has one of those, too */
	assert_false(discovery_interface_has("lo", &at));
	if (!has_interfaces)
		return;
	at = address_of("10.78.0.1", 5, NULL);
	assert_true(discovery_interface_has("hc0", &at));
	assert_false(discovery_interface_has("hc1", &at));
	assert_false(discovery_interface_has("lo", &at));
	assert_true(discovery_interface_address("hc0", &at));
	expect_text(&at, "10.77.0.1");
	assert_int_equal(system("ip link set hc1 down"), 0);
	assert_false(discovery_interface_address("hc1", &at));
	assert_int_equal(system("ip link set hc1 up && ip addr flush dev hc1 && ip addr add "
				"fd00::5/64 dev hc1 nodad && ip addr add fe80::5/64 dev hc1 nodad"),
			 0);
	memset(&at, 0, sizeof(at));
	assert_true(discovery_interface_address("hc1", &at));
	expect_text(&at, "fe80::5");
	assert_int_equal(((struct sockaddr_in6 *)&at)->sin6_scope_id, if_nametoindex("hc1"));
}

static void mapped_addresses_are_plain(void **state)
{
	struct sockaddr_storage at = address_of("::ffff:10.1.2.3", 4567, NULL), as_it_was;

	(void)state;
	discovery_unmap(&at);
	assert_int_equal(at.ss_family, AF_INET);
	expect_text(&at, "10.1.2.3");
	assert_int_equal(ntohs(((struct sockaddr_in *)&at)->sin_port), 4567);
	as_it_was = address_of("10.1.2.3", 4567, NULL);
	assert_memory_equal(&at, &as_it_was, sizeof(at));
	discovery_unmap(&at);
	assert_memory_equal(&at, &as_it_was, sizeof(at));
	as_it_was = at = address_of("fd00::ffff:10.1.2.3", 4567, NULL);
	discovery_unmap(&at);
	assert_memory_equal(&at, &as_it_was, sizeof(at));
}

static void loopback_is_known(void **state)
{
	static const struct {
		const char *address;
		bool is;
	} list[] = {
		{"127.0.0.1", true},  {"127.255.0.9", true}, {"126.0.0.1", false},
		{"128.0.0.1", false}, {"1.0.0.127", false},  {"::1", true},
		{"::2", false},	      {"fe80::1", false},
	};
	struct sockaddr_storage at;

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		at = address_of(list[i].address, 1, NULL);
		assert_int_equal(discovery_is_loopback(&at), list[i].is);
	}
	at = address_of("127.0.0.1", 1, NULL);
	at.ss_family = AF_UNIX;
	assert_false(discovery_is_loopback(&at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loopback_has_its_broadcast),
		cmocka_unit_test(six_is_answered),
		cmocka_unit_test(networks_are_found),
		cmocka_unit_test(interfaces_are_reached),
		cmocka_unit_test(changes_are_told),
		cmocka_unit_test(others_are_not_admitted),
		cmocka_unit_test(useless_ones_are_dropped),
		cmocka_unit_test(only_probes_arrive),
		cmocka_unit_test(the_port_can_be_taken),
		cmocka_unit_test(sockets_are_as_they_should),
		cmocka_unit_test(interfaces_have_addresses),
		cmocka_unit_test(mapped_addresses_are_plain),
		cmocka_unit_test(loopback_is_known),
	};

	if (!own_network_enter()) {
		puts("SKIPPED: this system gives no network namespace");
		return 77;
	}
	has_interfaces = !system(NETWORK);
	close(STDIN_FILENO); /* the first descriptor is 0, and that is one, too */
	if (!has_interfaces)
		puts("no virtual interfaces here: what needs them is skipped");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
