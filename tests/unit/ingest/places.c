/*
 * Which agents are known, where they are, and who has a place: beacons, named agents, pauses
 * between tries, agents that are turned away, links that yield. The test sets the clock.
 */
#include <stdlib.h>

#include "base/parse.h"
#include "proto/discovery.h"
#include "tests/unit/ingest/support/still.h"

static struct sockaddr_storage at(const char *address)
{
	struct sockaddr_storage place = {0};
	struct sockaddr_in *four = (struct sockaddr_in *)&place;

	four->sin_family = AF_INET;
	four->sin_port = htons(4444); /* of the datagram */
	assert_int_equal(inet_pton(AF_INET, address, &four->sin_addr), 1);
	return place;
}

static struct beacon_seen beacon_of(uint8_t agent, uint16_t port, uint64_t sequence)
{
	struct beacon_seen b = {.port = port, .sequence = sequence, .streams = (uint32_t)sequence};

	memset(b.agent, agent, sizeof(b.agent));
	return b;
}

static void hear(uint8_t agent, uint16_t port, uint64_t sequence, const char *address, bool answers)
{
	struct beacon_seen b = beacon_of(agent, port, sequence);
	struct sockaddr_storage from = at(address);

	peer_beacon(ingest, &b, &from, answers);
}

static bool is_news(uint8_t agent, uint16_t port, uint64_t sequence, const char *address)
{
	struct beacon_seen b = beacon_of(agent, port, sequence);
	struct sockaddr_storage from = at(address);

	return peer_is_news(ingest, &b, &from);
}

static void check_place(const struct peer *p, const char *expected)
{
	char text[ADDRESS_TEXT];

	assert_string_equal(address_format(text, (const struct sockaddr *)&p->address), expected);
}

/* As if its connection had come about, and it had greeted. */
static struct link *open_link(struct peer *p)
{
	struct link *link = p->link;

	assert_non_null(link);
	link->state = LINK_OPEN;
	link->heard_ms = loop.time;
	memcpy(link->agent, p->agent, sizeof(link->agent));
	snprintf(link->host, sizeof(link->host), "board");
	ingest->open_count++;
	return link;
}

/* ---- beacons ---- */

static void an_agent_is_found(void **state)
{
	struct peer *p;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 2});
	assert_true(is_news(1, 8100, 5, "127.0.0.1"));
	hear(1, 8100, 5, "127.0.0.1", false);
	check_told("found 127.0.0.1:8100\n");
	p = ingest->peers;
	assert_int_equal(ingest->peer_count, 1);
	assert_true(p->has_agent && !p->answers && !p->keyed && !p->fixed && p->link);
	assert_true(p->seen_ms == 1000000 && p->address_seen_ms == 1000000);
	assert_true(p->sequence == 5 && p->streams == 5 && p->port == 8100);
	assert_int_equal(ingest->link_count, 1);
	assert_int_equal(p->link->state, LINK_CONNECTING);
	assert_string_equal(p->link->address, "127.0.0.1:8100");
	assert_ptr_equal(link_by_address(ingest, "127.0.0.1:8100"), p->link);
	assert_null(link_by_address(ingest, "127.0.0.1:8101"));
	check_place(p, "127.0.0.1:8100");
	/* Again; an older one; the same once more. */
	loop.time += 10;
	hear(1, 8100, 6, "127.0.0.1", false);
	assert_true(p->sequence == 6 && p->streams == 6 && p->seen_ms == 1000010 &&
		    p->address_seen_ms == 1000010);
	loop.time += 10;
	hear(1, 8100, 3, "127.0.0.1", true);
	assert_true(p->sequence == 6 && p->streams == 6 && p->seen_ms == 1000010 &&
		    p->address_seen_ms == 1000010 && p->answers);
	hear(1, 8100, 6, "127.0.0.1", false);
	assert_true(p->seen_ms == 1000010 && p->address_seen_ms == 1000020 && p->answers);
	assert_int_equal(ingest->peer_count, 1);
	check_told("");
	still_end();
}

static void an_agent_moves(void **state)
{
	struct peer *p;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 2});
	hear(1, 8100, 5, "127.0.0.1", false);
	check_told("found 127.0.0.1:8100\n");
	p = ingest->peers;
	loop.time += MOVED_MS - 1;
	assert_false(is_news(1, 8100, 6, "127.0.0.2"));
	hear(1, 8100, 6, "127.0.0.2", false);
	check_place(p, "127.0.0.1:8100");
	loop.time += 1;
	assert_false(is_news(1, 8100, 6, "127.0.0.2")); /* heard already */
	assert_false(is_news(1, 8100, 7, "127.0.0.1"));
	assert_true(is_news(1, 8100, 7, "127.0.0.2"));
	hear(1, 8100, 6, "127.0.0.2", false);
	check_place(p, "127.0.0.1:8100");
	hear(1, 8100, 7, "127.0.0.2", false);
	check_place(p, "127.0.0.2:8100");
	assert_true(p->address_seen_ms == loop.time && !p->failed && !p->backoff_ms);
	assert_string_equal(p->link->address, "127.0.0.2:8100");
	assert_int_equal(ingest->link_count, 2); /* the other is closing */
	assert_null(link_by_address(ingest, "127.0.0.1:8100"));
	check_told(""); /* it was not open yet */
	/* A link that works holds it where it is, until it is silent. */
	open_link(p);
	loop.time += MOVED_MS - 1;
	assert_false(is_news(1, 8101, 8, "127.0.0.2"));
	loop.time += 1;
	assert_true(is_news(1, 8101, 8, "127.0.0.2"));
	hear(1, 8101, 8, "127.0.0.2", false);
	check_told("disconnected 127.0.0.2:8100: its agent is at 127.0.0.2:8101 now\n");
	assert_int_equal(ingest->open_count, 0);
	still_end();
}

/* Connecting failed: it may be elsewhere at once. */
static void a_failure_moves(void **state)
{
	struct peer *p;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 2});
	hear(1, 8100, 5, "127.0.0.1", false);
	p = ingest->peers;
	link_close(p->link, "test");
	assert_true(!p->link && p->failed);
	assert_int_equal(p->next_try_ms, loop.time + BACKOFF_FIRST_MS);
	assert_true(is_news(1, 8100, 5, "127.0.0.1")); /* it has answered no probe */
	hear(1, 8100, 6, "127.0.0.3", true);
	check_place(p, "127.0.0.3:8100");
	assert_true(p->link && !p->failed && p->answers);
	link_close(p->link, "test");
	assert_false(is_news(1, 8100, 6, "127.0.0.3"));
	assert_true(is_news(1, 8100, 7, "127.0.0.1"));
	still_end();
}

/* Each address has its share; who answers takes the place of one that does not. */
static void addresses_have_shares(void **state)
{
	unsigned there = 0;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 40});
	for (unsigned i = 0; i < HALF_OPEN_EACH + PEERS_EACH + 3; i++) {
		hear((uint8_t)(i + 1), 9000, 1, "127.0.0.1", false);
		if (i == 0)
			open_link(ingest->peers); /* whose address is taken from then on */
	}
	/* All are at one place, so one link is all. */
	assert_int_equal(ingest->link_count, 1);
	assert_int_equal(ingest->peer_count, PEERS_EACH + 1);
	assert_true(ingest->prober.next_ms <= loop.time + 700);
	hear(200, 9000, 1, "127.0.0.1", true);
	assert_int_equal(ingest->peer_count, PEERS_EACH + 1);
	assert_int_equal(ingest->peers->agent[0], 200);
	for (struct peer *p = ingest->peers; p; p = p->next)
		there += p->agent[0] == 2 || p->agent[0] == 3; /* the oldest without a link */
	assert_int_equal(there, 1);
	hear(201, 9000, 1, "127.0.0.2", false); /* another address has its own share */
	assert_int_equal(ingest->peer_count, PEERS_EACH + 2);
	still_end();
}

static void peers_are_bounded(void **state)
{
	char address[32];

	(void)state;
	still_begin((struct ingest_options){.agents_max = 2});
	for (unsigned i = 0; i < 12; i++) {
		snprintf(address, sizeof(address), "127.0.1.%u", i + 1);
		hear((uint8_t)(i + 1), 9000, 1, address, false);
		if (ingest->peers->link)
			link_close(ingest->peers->link, "test");
	}
	assert_int_equal(ingest->peer_count, 8); /* four an agent */
	assert_int_equal(ingest->peers->agent[0], 8);
	hear(20, 9000, 1, "127.0.1.20", true);
	assert_int_equal(ingest->peer_count, 8);
	assert_int_equal(ingest->peers->agent[0], 20);
	assert_false(peer_is_proven(ingest, ingest->peers->agent));
	hear(1, 9000, 2, "127.0.1.1", false); /* it made room */
	assert_int_equal(ingest->peers->agent[0], 20);
	still_end();
}

static void silent_agents_are_forgotten(void **state)
{
	(void)state;
	still_begin((struct ingest_options){.agents_max = 2});
	hear(1, 9000, 1, "127.0.0.1", false);
	hear(2, 9001, 1, "127.0.0.1", false);
	link_close(ingest->peers->link, "test"); /* of 2 */
	ingest->peers->next_try_ms = UINT64_MAX;
	peer_tick(ingest, loop.time + FORGET_MS);
	assert_int_equal(ingest->peer_count, 2);
	peer_tick(ingest, loop.time + FORGET_MS + 1);
	assert_int_equal(ingest->peer_count, 1);
	assert_int_equal(ingest->peers->agent[0], 1); /* it has a link */
	assert_true(is_news(2, 9001, 2, "127.0.0.1"));
	still_end();
}

static void pauses_grow(void **state)
{
	static const unsigned pauses[] = {250, 500, 1000, 2000, 4000, 5000, 5000};
	struct peer *p;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 2});
	hear(1, 9000, 1, "127.0.0.1", false);
	p = ingest->peers;
	for (unsigned again = 0; again < 2; again++) {
		for (unsigned i = again; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
			link_close(p->link, "test");
			assert_int_equal(p->next_try_ms, loop.time + pauses[i]);
			peer_tick(ingest, p->next_try_ms - 1);
			assert_null(p->link);
			loop.time = p->next_try_ms;
			hear(1, 9000, 10 * again + i + 2, "127.0.0.1", false);
			peer_tick(ingest, loop.time);
			assert_non_null(p->link);
		}
		open_link(p);
		link_close(p->link, "test");
		assert_false(p->failed);
		assert_int_equal(p->next_try_ms, loop.time + 250);
		loop.time = p->next_try_ms;
		peer_tick(ingest, loop.time);
	}
	still_end();
}

/* Who is at an address that a link has waits; a silent link of another agent there is dead. */
static void one_link_an_address(void **state)
{
	struct peer *first, *second;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 2});
	hear(1, 9000, 1, "127.0.0.1", false);
	first = ingest->peers;
	open_link(first);
	told[0] = 0;
	hear(2, 9000, 1, "127.0.0.1", false);
	second = ingest->peers;
	check_told("found 127.0.0.1:9000\n");
	assert_null(second->link);
	assert_int_equal(second->next_try_ms, loop.time + BACKOFF_OTHER_MS);
	loop.time += MOVED_MS - 1;
	hear(2, 9000, 2, "127.0.0.1", false);
	peer_tick(ingest, loop.time);
	assert_null(second->link);
	loop.time += 1;
	second->next_try_ms = 0;
	peer_tick(ingest, loop.time);
	check_told("disconnected 127.0.0.1:9000: another agent is there now\n");
	assert_non_null(second->link);
	assert_null(first->link);
	still_end();
}

/* ---- named agents ---- */

static void named_agents(void **state)
{
	struct err_text err = {0};
	struct peer *p;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	assert_int_equal(peer_add_fixed(ingest, "board", &err), 0);
	p = ingest->peers;
	assert_true(p->fixed && p->port == AGENT_TCP_PORT_FIRST && !p->has_agent);
	assert_string_equal(p->host, "board");
	assert_int_equal(peer_kind(p), LINK_PLAIN);
	assert_int_equal(peer_add_fixed(ingest, "[fe80::1]:70", &err), 0);
	assert_int_equal(ingest->peers->port, 70);
	assert_string_equal(ingest->peers->host, "fe80::1");
	assert_int_equal(peer_add_fixed(ingest, "board:x", &err), -EINVAL);
	assert_string_equal(err.text, "'board:x' is no HOST:PORT");
	assert_int_equal(peer_add_fixed(ingest, "board:1", &err), 0);
	assert_int_equal(peer_add_fixed(ingest, "board:1", &err), -ENOMEM);
	assert_string_equal(err.text, "more agents than there is room for (1)");
	assert_int_equal(ingest->peer_count, 4);
	for (p = ingest->peers; p; p = p->next)
		p->next_try_ms = UINT64_MAX;
	peer_tick(ingest, loop.time + 2 * FORGET_MS); /* they are not forgotten */
	assert_int_equal(ingest->peer_count, 4);
	still_end();
}

/* A name that can't be found is looked up again, later and later; that is said once. */
static void names_that_are_none(void **state)
{
	struct peer *p;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	assert_int_equal(peer_add_fixed(ingest, "127.0.0.1:9", NULL), 0);
	p = ingest->peers;
	peer_tick(ingest, loop.time);
	assert_true(p->resolving);
	for (unsigned i = 0; i < 300 && p->resolving; i++)
		uv_run(&loop, UV_RUN_ONCE);
	if (p->link)
		link_close(p->link, "test");
	p->backoff_ms = 0;
	p->warned = false;
	told[0] = 0;
	for (unsigned i = 0; i < 3; i++) { /* as if it had been looked up */
		p->resolving = true;
		ingest->pending++;
		p->resolve.cb(&p->resolve, i == 1 ? 0 : UV_EAI_NONAME, NULL);
		assert_true(!p->resolving && !p->link);
		assert_int_equal(p->next_try_ms, loop.time + (BACKOFF_FIRST_MS << i));
	}
	check_told("warning: cannot reach 127.0.0.1 port 9: unknown node or service; trying "
		   "again\n");
	still_end();
}

/* ---- places ---- */

static void check_note(const char *expected)
{
	char note[STORE_NOTE_MAX];

	assert_int_equal(store_note(store, note), expected != NULL);
	if (expected)
		assert_string_equal(note, expected);
}

static struct peer *new_peer(uint8_t agent, const char *address)
{
	told[0] = 0;
	hear(agent, 9000, 0, address, false);
	return ingest->peers;
}

static void the_turned_away_are_named(void **state)
{
	char address[32], expected[256];

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	room_tick(ingest, loop.time);
	check_note(NULL);
	open_link(new_peer(1, "127.0.0.1"));
	new_peer(2, "127.0.0.2");
	check_told("found 127.0.0.2:9000\nwarning: the agent at 127.0.0.2:9000 has no place: there "
		   "is room for 1 at a time (--agents-max)\n");
	assert_int_equal(ingest_totals(ingest).turned_away, 1);
	room_tick(ingest, loop.time);
	check_note("1 agent has no place, as there is room for 1 at a time (--agents-max): "
		   "127.0.0.2:9000");
	for (uint8_t i = 3; i < 5; i++) {
		snprintf(address, sizeof(address), "127.0.0.%u", i);
		new_peer(i, address);
	}
	peer_tick(ingest, loop.time + 300); /* the same ones again: told once */
	told[0] = 0;
	ingest->agents_max = 100; /* for more peers, not for more links */
	ingest->open_count = 100;
	for (uint8_t i = 5; i < 12; i++) {
		snprintf(address, sizeof(address), "127.0.0.%u", i);
		new_peer(i, address);
		snprintf(expected, sizeof(expected),
			 i < 10	   ? "found %s:9000\nwarning: the agent at %s:9000 has no place: "
				     "there is room for 100 at a time (--agents-max)\n"
			 : i == 10 ? "found %s:9000\nwarning: more agents have no place; the "
				     "progress line counts them\n"
				   : "found %s:9000\n",
			 address, address);
		check_told(expected);
	}
	room_tick(ingest, loop.time);
	check_note("10 agents have no place, as there is room for 100 at a time (--agents-max): "
		   "127.0.0.11:9000, 127.0.0.10:9000, 127.0.0.9:9000 and 7 more");
	ingest->open_count = 1;
	ingest->agents_max = 1;
	for (struct peer *p = ingest->peers; p; p = p->next)
		p->next_try_ms = UINT64_MAX;
	room_tick(ingest, loop.time + 9999);
	assert_int_equal(ingest_totals(ingest).turned_away, 10);
	room_tick(ingest, loop.time + 10000);
	assert_int_equal(ingest_totals(ingest).turned_away, 0);
	check_note(NULL);
	still_end();
}

static void a_free_place_is_told(void **state)
{
	struct peer *p;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	p = new_peer(1, "127.0.0.1");
	open_link(p);
	p = new_peer(2, "127.0.0.2");
	assert_null(p->link);
	assert_false(room_to_dial(ingest, p));
	assert_int_equal(ingest->turned_away_count, 1);
	ingest->open_count = 0;
	assert_true(room_to_dial(ingest, p));
	room_tick(ingest, loop.time);
	assert_int_equal(ingest->turned_away_count, 0);
	ingest->open_count = 1;
	p->fixed = true;
	assert_true(room_to_dial(ingest, p));
	p->fixed = false;
	p->streams = 1; /* it has something to send, and the other has not */
	assert_true(room_to_dial(ingest, p));
	still_end();
}

static void the_idle_yield(void **state)
{
	struct link *link[3], newcomer = {.ingest = ingest};
	struct intake intake = {0};

	(void)state;
	still_begin((struct ingest_options){.agents_max = 3});
	newcomer.ingest = ingest;
	snprintf(newcomer.host, sizeof(newcomer.host), "late");
	snprintf(newcomer.address, sizeof(newcomer.address), "1.2.3.4:5");
	for (uint8_t i = 0; i < 3; i++) {
		assert_true(room_for_link(&newcomer, false));
		link[i] = open_link(new_peer(i + 1, i == 0   ? "127.0.0.1"
						    : i == 1 ? "127.0.0.2"
							     : "127.0.0.3"));
		link[i]->heard_ms = 100 - (i == 1 ? 50 : i);
	}
	told[0] = 0;
	assert_false(room_for_link(&newcomer, false)); /* nothing to send: no word */
	check_told("");
	intake.link = link[1];
	ingest->intakes = &intake;
	assert_true(room_for_link(&newcomer, true));
	ingest->intakes = NULL;
	check_told("disconnected 127.0.0.3:9000: it has nothing to send, and others want its "
		   "place\n");
	ingest->open_count++;
	assert_true(room_for_link(&newcomer, true)); /* the longest silent */
	check_told("disconnected 127.0.0.2:9000: it has nothing to send, and others want its "
		   "place\n");
	ingest->open_count++;
	intake.link = link[0];
	ingest->intakes = &intake;
	assert_false(room_for_link(&newcomer, true));
	check_told("warning: late at 1.2.3.4:5 has no place: there is room for 3 at a time "
		   "(--agents-max)\n");
	intake.told_ended = true; /* it has ended */
	assert_true(room_for_link(&newcomer, true));
	ingest->intakes = NULL;
	ingest->open_count = 0;
	still_end();
}

static void room_for_how_many(void **state)
{
	static const struct {
		uint64_t memory;
		uint32_t asked, expected;
	} cases[] = {{10 * 131072, 0, 10}, {10 * 131072 - 1, 0, 9},
		     {131072, 0, 1},	   {1, 0, 1},
		     {131072, 7, 7},	   {0, 1, 1},
		     {0, 12, 12}};

	(void)state;
	still_begin((struct ingest_options){0});
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct ingest_options o = {.memory_limit = cases[i].memory,
						 .agents_max = cases[i].asked};

		room_init(ingest, &o);
		assert_int_equal(ingest->agents_max, cases[i].expected);
		assert_int_equal(ingest->streams_max, 4 * cases[i].expected);
		assert_int_equal(ingest->memory_limit,
				 (cases[i].memory ? cases[i].memory : INGEST_MEMORY) / 2);
	}
	check_told("");
	room_init(ingest, &(struct ingest_options){.agents_max = UINT32_MAX});
	assert_non_null(strstr(told, "warning: there is room for "));
	assert_non_null(strstr(told, " agents, not 4294967295: this process may have "));
	still_end();
}

/* ---- links that are not open yet ---- */

static void few_are_dialled_at_a_time(void **state)
{
	char address[32];
	struct peer *p;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 200});
	for (unsigned i = 0; i < HALF_OPEN_EACH + 1; i++) {
		hear((uint8_t)(i + 1), (uint16_t)(9000 + i), 1, "127.0.0.1", false);
		assert_int_equal(ingest->peers->link != NULL, i < HALF_OPEN_EACH);
	}
	assert_int_equal(ingest->peers->next_try_ms, loop.time + BACKOFF_FIRST_MS);
	for (unsigned i = HALF_OPEN_EACH; i < HALF_OPEN_MAX + 1; i++) {
		snprintf(address, sizeof(address), "127.0.1.%u", i);
		hear((uint8_t)(i + 40), 9000, 1, address, false);
		assert_int_equal(ingest->peers->link != NULL, i < HALF_OPEN_MAX);
	}
	told[0] = 0;
	hear(220, 9000, 1, "127.0.2.1", true); /* answers: the oldest makes room */
	assert_non_null(ingest->peers->link);
	for (p = ingest->peers; p->agent[0] != 1; p = p->next)
		assert_true(p->link || p->agent[0] == HALF_OPEN_EACH + 1 ||
			    p->agent[0] == HALF_OPEN_MAX + 40);
	assert_null(p->link);
	check_told("found 127.0.2.1:9000\n");
	still_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(an_agent_is_found),
		TEST_IN_FOLDER(an_agent_moves),
		TEST_IN_FOLDER(a_failure_moves),
		TEST_IN_FOLDER(addresses_have_shares),
		TEST_IN_FOLDER(peers_are_bounded),
		TEST_IN_FOLDER(silent_agents_are_forgotten),
		TEST_IN_FOLDER(pauses_grow),
		TEST_IN_FOLDER(one_link_an_address),
		TEST_IN_FOLDER(named_agents),
		TEST_IN_FOLDER(names_that_are_none),
		TEST_IN_FOLDER(the_turned_away_are_named),
		TEST_IN_FOLDER(a_free_place_is_told),
		TEST_IN_FOLDER(the_idle_yield),
		TEST_IN_FOLDER(room_for_how_many),
		TEST_IN_FOLDER(few_are_dialled_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
