/*
 * Who may go on with a stream, what is made of replies and beacons, how often single agents are
 * probed, where ingest listens, and work in threads. The test sets the clock.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/ingest/pool.h"
#include "tests/unit/ingest/support/still.h"
#include "tests/unit/locks.h"
#include "tests/unit/store/builder.h"

/* ---- claims ---- */

static void who_may_go_on(void **state)
{
	static struct secure_session *const key = (void *)&told; /* is not looked into */

	(void)state;
	for (unsigned i = 0; i < 1u << 7; i++) {
		struct link has = {.session = i & 1 ? key : NULL},
			    wants = {.session = i & 2 ? key : NULL};
		struct intake s = {.link = &has, .keyed = i & 4, .incarnation = 2};
		uint32_t incarnation = 1 + (i >> 3 & 3);
		bool same_agent = i & 32, expected;

		has.agent[3] = 1;
		wants.agent[3] = same_agent;
		if (i & 64)
			s.link = incarnation & 1 ? NULL : &wants;
		/* In words: */
		if (s.keyed && !wants.session)
			expected = true;
		else if (s.link != &has || same_agent)
			expected = false;
		else if (wants.session && !has.session)
			expected = false; /* nothing is stored */
		else
			expected = incarnation <= 2;
		if (claim_is_void(&s, &wants, incarnation) != expected)
			fail_msg("case %u", i);
	}
}

/* ---- replies ---- */

static struct ingest_reply last;
static char last_text[256];
static unsigned replies;

static void on_reply(void *context, const struct ingest_event *e)
{
	(void)context;
	assert_int_equal(e->kind, INGEST_REPLY);
	assert_int_equal(e->stream->bytes[0], 9);
	last = *e->reply;
	snprintf(last_text, sizeof(last_text), "%s", e->reply->text);
	replies++;
}

static void give(struct link *link, uint64_t id, uint64_t until_ms)
{
	struct given *g = calloc(1, sizeof(*g));

	*g = (struct given){.next = ingest->given,
			    .ingest = ingest,
			    .link = link,
			    .stream.bytes = {9},
			    .id = id,
			    .until_ms = until_ms};
	ingest->given = g;
	ingest->given_count++;
}

static void replies_are_told(void **state)
{
	Heapcast__Reply m = HEAPCAST__REPLY__INIT;
	char text[] = "why\nnot";
	struct link link, other;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	ingest->event = on_reply;
	link.ingest = other.ingest = ingest;
	replies = 0;
	for (uint64_t id = 1; id <= 3; id++)
		give(&link, id, 100);
	m.id = 4;
	replies_take(&link, &m);
	m.id = 2;
	replies_take(&other, &m);
	assert_int_equal(replies, 0);
	m.status = HEAPCAST__REPLY_STATUS__REPLY_MALFORMED;
	m.time_ns = 5;
	m.mode = HEAPCAST__MODE__MODE_SAMPLE;
	m.sample_interval = INTERVAL_MAX;
	m.snapshot = 7;
	m.text = text;
	replies_take(&link, &m);
	assert_true(replies == 1 && ingest->given_count == 2);
	assert_true(last.id == 2 && last.time_ns == 5 && last.snapshot == 7);
	assert_int_equal(last.status, HEAPCAST__REPLY_STATUS__REPLY_MALFORMED);
	assert_int_equal(last.mode, HEAPCAST__MODE__MODE_SAMPLE);
	assert_true(last.sample_interval == INTERVAL_MAX);
	assert_string_equal(last_text, "why not");
	replies_take(&link, &m); /* it is over */
	assert_int_equal(replies, 1);
	m.id = 3;
	m.status++;
	m.sample_interval++;
	replies_take(&link, &m);
	assert_int_equal(last.id, 3);
	assert_int_equal(last.status, HEAPCAST__REPLY_STATUS__REPLY_UNKNOWN);
	assert_true(!last.mode && !last.sample_interval);
	m.id = 1;
	m.sample_interval = 4;
	m.mode++;
	replies_take(&link, &m);
	assert_true(last.id == 1 && !last.mode && !last.sample_interval);
	assert_true(!ingest->given && !ingest->given_count);
	ingest->event = still_on_event;
	still_end();
}

static void replies_that_do_not_come(void **state)
{
	struct link link, other;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	ingest->event = on_reply;
	link.ingest = other.ingest = ingest;
	replies = 0;
	give(&link, 1, 100);
	give(&other, 2, 101);
	give(&link, 3, 102);
	replies_tick(ingest, 99);
	assert_int_equal(replies, 0);
	replies_tick(ingest, 100);
	assert_true(replies == 1 && last.id == 1 && last.status == INGEST_REPLY_NONE);
	assert_string_equal(last_text,
			    "its agent has not answered in time: it may be too old for orders");
	replies_link_gone(&link);
	assert_true(replies == 2 && last.id == 3 && last.status == INGEST_REPLY_NONE);
	assert_string_equal(last_text, "the connection to its agent broke before it had answered");
	assert_true(ingest->given_count == 1 && ingest->given->id == 2);
	ingest->event = still_on_event;
	give(&other, 4, UINT64_MAX);
	still_end(); /* frees what waits */
}

static void orders_of_no_stream(void **state)
{
	const struct ingest_order order = {.id = 1};
	const struct stream_id id = {{1}};

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	assert_int_equal(ingest_order(ingest, &id, &order), -ENOENT);
	assert_int_equal(ingest->given_count, 0);
	still_end();
}

/* ---- probes ---- */

static void nonces_are_fresh(void **state)
{
	static const uint8_t nonce[DISCOVERY_NONCE_SIZE] = {3, 1}, other[DISCOVERY_NONCE_SIZE];
	struct prober *p;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	p = &ingest->prober;
	assert_false(probe_is_fresh(ingest, other));
	for (unsigned i = 0; i < NONCES; i++) {
		*p = (struct prober){.any = true, .last = 3};
		memcpy(p->nonce[i].bytes, nonce, sizeof(nonce));
		assert_false(probe_is_fresh(ingest, nonce)); /* it was never sent */
		p->nonce[i].sent_ms = loop.time - FRESH_MS + 1;
		assert_true(probe_is_fresh(ingest, nonce));
		assert_false(probe_is_fresh(ingest, other));
		p->nonce[i].sent_ms--;
		assert_false(probe_is_fresh(ingest, nonce));
		p->nonce[i].sent_ms = loop.time;
		p->any = false;
		assert_false(probe_is_fresh(ingest, nonce));
	}
	p->next_ms = loop.time + 5000;
	probe_soon(ingest);
	assert_int_equal(p->next_ms, loop.time + 700);
	loop.time += 10;
	probe_soon(ingest);
	assert_int_equal(p->next_ms, loop.time + 690);
	still_end();
}

static int udp_socket(struct sockaddr_storage *ret_address)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(any);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	getsockname(fd, (struct sockaddr *)&any, &length);
	memset(ret_address, 0, sizeof(*ret_address));
	memcpy(ret_address, &any, sizeof(any));
	return fd;
}

/* Whether a probe came: its nonce. */
static bool probe_came(int fd, uint8_t nonce[DISCOVERY_NONCE_SIZE])
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	uint8_t data[DISCOVERY_BEACON_MAX];
	Heapcast__Probe *m;
	ssize_t n;

	if (poll(&wait, 1, 20) <= 0)
		return false;
	n = recv(fd, data, sizeof(data), 0);
	assert_int_equal(n, DISCOVERY_PROBE_SIZE);
	m = heapcast__probe__unpack(NULL, (size_t)n, data);
	assert_non_null(m);
	assert_int_equal(m->magic, DISCOVERY_PROBE_MAGIC);
	assert_int_equal(m->protocol, PROTOCOL_VERSION);
	assert_int_equal(m->collector.len, STREAM_ID_SIZE);
	assert_memory_equal(m->collector.data, ingest->id, STREAM_ID_SIZE);
	assert_int_equal(m->nonce.len, DISCOVERY_NONCE_SIZE);
	assert_int_equal(m->key_id.len, 0);
	memcpy(nonce, m->nonce.data, DISCOVERY_NONCE_SIZE);
	heapcast__probe__free_unpacked(m, NULL);
	return true;
}

static void single_agents_are_probed(void **state)
{
	struct sockaddr_storage here, there;
	uint8_t nonce[DISCOVERY_NONCE_SIZE], again[DISCOVERY_NONCE_SIZE];
	int fd;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	fd = udp_socket(&there);
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		ingest->net.fd[i] = -1;
	ingest->net.fd[DISCOVERY_FOUR_OWN] = udp_socket(&here);
	for (unsigned i = 0; i < CHALLENGES_EACH; i++) {
		probe_one(ingest, NULL, &there);
		assert_true(probe_came(fd, i ? again : nonce));
		if (i)
			assert_memory_equal(nonce, again, sizeof(nonce)); /* within a second */
		assert_true(probe_is_fresh(ingest, nonce));
	}
	probe_one(ingest, NULL, &there);
	assert_false(probe_came(fd, again)); /* enough for this second */
	loop.time += 999;
	probe_one(ingest, NULL, &there);
	assert_false(probe_came(fd, again));
	loop.time += 1;
	probe_one(ingest, NULL, &there);
	assert_true(probe_came(fd, again));
	assert_memory_not_equal(nonce, again, sizeof(nonce));
	assert_true(probe_is_fresh(ingest, nonce) && probe_is_fresh(ingest, again));
	/* Of all addresses together there are as many. */
	loop.time += 1000;
	for (unsigned i = 0; i < CHALLENGES_MAX; i++) {
		((struct sockaddr_in *)&here)->sin_addr.s_addr = htonl(0x7f000100 + i);
		probe_one(ingest, NULL, &here);
	}
	assert_int_equal(ingest->prober.challenges, CHALLENGES_MAX);
	probe_one(ingest, NULL, &there);
	assert_false(probe_came(fd, again));
	close(ingest->net.fd[DISCOVERY_FOUR_OWN]);
	close(fd);
	still_end();
}

/* ---- beacons ---- */

static Heapcast__Beacon whole_beacon(void)
{
	static uint8_t id[STREAM_ID_SIZE] = {1, 2}, key[SECRET_ID_SIZE] = {3}, mac[SECRET_MAC_SIZE],
		       nonce[DISCOVERY_NONCE_SIZE] = {5};
	Heapcast__Beacon b = HEAPCAST__BEACON__INIT;

	b.magic = DISCOVERY_BEACON_MAGIC;
	b.protocol = PROTOCOL_VERSION;
	b.agent = builder_bytes(id, sizeof(id));
	b.port = 65535;
	b.sequence = 77;
	b.streams = 3;
	b.key_id = builder_bytes(key, sizeof(key));
	b.authentication = builder_bytes(mac, sizeof(mac));
	b.nonce = builder_bytes(nonce, sizeof(nonce));
	return b;
}

static int parse(const Heapcast__Beacon *b, struct beacon_seen *ret_seen)
{
	uint8_t packed[1024];

	return beacon_parse(packed, heapcast__beacon__pack(b, packed), ret_seen);
}

static void whole_beacons(void **state)
{
	Heapcast__Beacon b = whole_beacon();
	struct beacon_seen seen;

	(void)state;
	assert_int_equal(parse(&b, &seen), 0);
	assert_true(seen.port == 65535 && seen.sequence == 77 && seen.streams == 3);
	assert_true(seen.keyed && seen.answers);
	assert_memory_equal(seen.agent, b.agent.data, b.agent.len);
	assert_memory_equal(seen.key_id, b.key_id.data, b.key_id.len);
	assert_memory_equal(seen.nonce, b.nonce.data, b.nonce.len);
	for (unsigned i = 0; i < 9; i++) {
		b = whole_beacon();
		switch (i) {
		case 0:
			b.magic++;
			break;
		case 1:
			b.protocol++;
			break;
		case 2:
			b.agent.len--;
			break;
		case 3:
			b.port = 0;
			break;
		case 4:
			b.port++;
			break;
		case 5:
			b.key_id.len--;
			break;
		case 6:
			b.authentication.len--;
			break;
		case 7:
			b.nonce.len--;
			break;
		case 8:
			b.key_id.len = 0; /* a proof of nothing */
			break;
		}
		if (parse(&b, &seen) != -EBADMSG)
			fail_msg("case %u", i);
	}
	assert_int_equal(beacon_parse((const uint8_t *)"", 0, &seen), -EBADMSG);
	assert_int_equal(beacon_parse((const uint8_t *)"\xff", 1, &seen), -EBADMSG);
}

/* ---- where it listens ---- */

static void check_listens(const char *place, int error, const char *sentence)
{
	struct ingest_options o = {.listen = place};
	struct err_text err = {0};
	struct ingest *refused;

	assert_int_equal(ingest_start(&loop, store, &o, &refused, &err), error);
	assert_string_equal(err.text, sentence);
	uv_run(&loop, UV_RUN_NOWAIT);
}

static void places_to_listen(void **state)
{
	static const char *const good[] = {"127.0.0.1:0", ":0", "[::1]:0"};
	char expected[128];

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	assert_string_equal(ingest_where(ingest), "nowhere");
	assert_int_equal(ingest_port(ingest), 0);
	check_listens("127.0.0.1:65536", -EINVAL,
		      "--listen takes ADDR:PORT, not '127.0.0.1:65536'");
	check_listens("127.0.0.1:", -EINVAL, "--listen takes ADDR:PORT, not '127.0.0.1:'");
	check_listens("127.0.0.1:x", -EINVAL, "--listen takes ADDR:PORT, not '127.0.0.1:x'");
	check_listens("host", -EINVAL,
		      "--listen takes the address of an interface of this host, not 'host'");
	check_listens("[::1", -EINVAL,
		      "--listen takes the address of an interface of this host, not '[:'");
	check_listens("1.1.1.1:0", UV_EADDRNOTAVAIL,
		      "cannot listen on TCP 1.1.1.1:0: address not available");
	still_end();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (i == 2 && access("/proc/net/if_inet6", F_OK) < 0)
			continue;
		still_begin((struct ingest_options){.agents_max = 1, .listen = good[i]});
		assert_true(ingest_port(ingest) > 0);
		snprintf(expected, sizeof(expected), "TCP %s:%u for agents that dial in",
			 i == 0	  ? "127.0.0.1"
			 : i == 1 ? "0.0.0.0"
				  : "[::1]",
			 (unsigned)ingest_port(ingest));
		assert_string_equal(ingest_where(ingest), expected);
		still_end();
	}
}

static void our_id_stays(void **state)
{
	uint8_t id[STREAM_ID_SIZE];

	(void)state;
	still_begin((struct ingest_options){.agents_max = 1});
	memcpy(id, ingest->id, sizeof(id));
	still_end();
	still_begin((struct ingest_options){.agents_max = 1});
	assert_memory_equal(id, ingest->id, sizeof(id));
	still_end();
}

/* ---- work in threads ---- */

struct job {
	struct pool_work work;
	unsigned number;
	int nice;
	bool in_thread;
};

static unsigned jobs_done, in_order, pools_closed;
static pthread_t loop_thread;

static void run_job(struct pool_work *work)
{
	struct job *job = (struct job *)work;

	job->nice = getpriority(PRIO_PROCESS, 0);
	job->in_thread = !pthread_equal(pthread_self(), loop_thread);
}

static void finish_job(struct pool_work *work)
{
	struct job *job = (struct job *)work;

	assert_true(pthread_equal(pthread_self(), loop_thread));
	assert_true(job->in_thread);
	in_order += job->number == jobs_done++;
}

static void on_closed(void *context)
{
	pools_closed += context == &jobs_done;
}

static void work_is_done_in_order(void **state)
{
	int before = getpriority(PRIO_PROCESS, 0), yielding = before + 10 < 19 ? before + 10 : 19;

	(void)state;
	loop_thread = pthread_self();
	for (unsigned yields = 0; yields < 2; yields++) {
		struct job jobs[50] = {0};
		struct pool *pool;

		jobs_done = in_order = pools_closed = 0;
		assert_int_equal(uv_loop_init(&loop), 0);
		assert_int_equal(pool_new(&loop, 1, yields, &pool), 0);
		for (unsigned i = 0; i < 50; i++) {
			jobs[i].number = i;
			pool_queue(pool, &jobs[i].work, run_job, finish_job);
		}
		pool_close(pool, on_closed, &jobs_done); /* when all is done */
		uv_run(&loop, UV_RUN_DEFAULT);
		assert_int_equal(uv_loop_close(&loop), 0);
		assert_true(jobs_done == 50 && in_order == 50 && pools_closed == 1);
		for (unsigned i = 0; i < 50; i++)
			assert_int_equal(jobs[i].nice, yields ? yielding : before);
	}
	pool_close(NULL, on_closed, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_may_go_on),
		TEST_IN_FOLDER(replies_are_told),
		TEST_IN_FOLDER(replies_that_do_not_come),
		TEST_IN_FOLDER(orders_of_no_stream),
		TEST_IN_FOLDER(nonces_are_fresh),
		TEST_IN_FOLDER(single_agents_are_probed),
		cmocka_unit_test(whole_beacons),
		TEST_IN_FOLDER(places_to_listen),
		TEST_IN_FOLDER(our_id_stays),
		cmocka_unit_test(work_is_done_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
