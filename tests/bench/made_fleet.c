/*
 * Writes recordings of a made-up fleet into a data folder: boards gw-000, gw-001..., each with a
 * process of /opt/gateway/bin/gateway whose functions take and give back blocks every minute.
 *
 *	made-fleet FOLDER BOARDS MINUTES [FUNCTIONS [SEED [PLANT [EVERY [AHEAD [HOST [SAMPLE]]]]]]]
 *
 * PLANT: "board" plants a leak on one board from the middle on, in parse_header; "build" lets
 * cache_put grow on every board of the second half, which runs another build; "" plants nothing.
 * EVERY: only one minute of so many has events. All recordings end now, by clocks that are AHEAD by
 * so many seconds. HOST: how the boards' names begin (gw). SAMPLE: every second board is
 * sampled, a block of so many bytes and more with certainty.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/store.h"
#include "collector/rewrite/compose.h"

#define MINUTE_NS     60000000000ull
#define BLOCKS	      32 /* that a function holds */
#define CHURN	      4	 /* of them replaced in a minute */
#define LEAK_BYTES    8192
#define FUNCTIONS     16
#define FUNCTIONS_MAX 4096

struct made {
	const char *folder, *plant, *host;
	unsigned boards, minutes, functions, every;
	uint64_t sample;
	uint64_t end_wall_ns;
	struct store *store;
};

struct block {
	uint64_t address, size; /* address 0: none, or not recorded */
	uint64_t weight;
};

/* One board's recording. */
struct board {
	const struct made *made;
	unsigned number;
	struct composer *composer;
	uint32_t nodes[FUNCTIONS_MAX];
	struct block live[FUNCTIONS_MAX][BLOCKS];
	uint64_t time_ns;
};

static uint64_t state;

static uint64_t random_below(uint64_t count)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % count;
}

static bool is_new_build(const struct board *b)
{
	return b->made->plant && !strcmp(b->made->plant, "build") &&
	       2 * b->number >= b->made->boards;
}

static void put_functions(struct board *b)
{
	static const char *const names[] = {"parse_header", "cache_put", "send_reply"};
	uint8_t build_id[20];
	uint32_t module, outermost;
	Heapcast__Module m = HEAPCAST__MODULE__INIT;

	memset(build_id, is_new_build(b) ? 0xb2 : 0xa1, sizeof(build_id));
	m.path = composer_text("/opt/gateway/bin/gateway");
	m.build_id = (ProtobufCBinaryData){sizeof(build_id), build_id};
	m.start = 0x400000;
	m.end = 0x800000;
	composer_module(b->composer, &m, &module);
	composer_node(b->composer, 0, module, 16, &outermost);
	composer_name(b->composer, module, 16, &(struct composer_frame){.function = "main"}, 1);
	for (unsigned f = 0; f < b->made->functions; f++) {
		char name[32];
		uint64_t offset = 0x1000 + 64 * (uint64_t)f;

		snprintf(name, sizeof(name), "%s", f < 3 ? names[f] : "");
		if (f >= 3)
			snprintf(name, sizeof(name), "handler_%u", f);
		composer_node(b->composer, outermost, module, offset, &b->nodes[f]);
		composer_name(b->composer, module, offset,
			      &(struct composer_frame){
				      .function = name, .file = "src/gateway.c", .line = 10 + f},
			      1);
	}
}

static void put_event(struct board *b, uint8_t kind, unsigned function, const struct block *block)
{
	composer_event(
		b->composer,
		&(struct event){.kind = kind,
				.thread = 1,
				.time_ns = b->time_ns,
				.address = block->address,
				.weight = block->weight,
				.size = kind == HEAPCAST__EVENT_KIND__EVENT_FREE ? 0 : block->size,
				.stack = b->nodes[function]});
	b->time_ns += 1000;
}

static uint64_t interval_of(const struct board *b)
{
	return b->number % 2 ? b->made->sample : 0;
}

static void take(struct board *b, unsigned function, struct block *block, uint64_t size)
{
	uint64_t sample = interval_of(b);

	*block = (struct block){.size = size};
	if (sample && random_below(sample) >= size)
		return;
	if (size < sample)
		block->weight = sample;
	block->address = composer_address(b->composer, size);
	put_event(b, HEAPCAST__EVENT_KIND__EVENT_MALLOC, function, block);
}

static void replace(struct board *b, unsigned function, struct block *block, uint64_t size)
{
	if (block->address)
		put_event(b, HEAPCAST__EVENT_KIND__EVENT_FREE, function, block);
	take(b, function, block, size);
}

static void live_minute(struct board *b, unsigned minute, uint64_t busy)
{
	const struct made *m = b->made;
	struct block leaked;

	b->time_ns = minute * MINUTE_NS + 1000000000;
	for (unsigned f = 0; f < m->functions; f++)
		for (unsigned i = 0; i < (minute ? CHURN : BLOCKS); i++)
			replace(b, f, &b->live[f][minute ? random_below(BLOCKS) : i],
				busy * (1024 + random_below(256)) / 16);
	if (m->plant && !strcmp(m->plant, "board") && b->number == m->boards / 3 &&
	    2 * minute >= m->minutes)
		take(b, 0, &leaked, LEAK_BYTES);
	if (is_new_build(b))
		take(b, 1, &leaked, LEAK_BYTES);
}

static void write_board(struct board *b)
{
	uint64_t busy = 8 + random_below(24);
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;

	put_functions(b);
	for (unsigned minute = 0; minute < b->made->minutes; minute += b->made->every)
		live_minute(b, minute, busy);
	mark.time_ns = b->made->minutes * MINUTE_NS;
	mark.kind = HEAPCAST__MARK_KIND__MARK_TEXT;
	composer_mark(b->composer, &mark);
}

static void make_board(const struct made *made, unsigned number)
{
	struct board *b = calloc(1, sizeof(*b));
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	struct new_stream *draft = NULL;
	struct err_text err = {0};
	char host[32], architecture[] = "armv7l", board_a[] = "board A", board_b[] = "board B";
	int r;

	if (!b)
		abort();
	b->made = made;
	b->number = number;
	snprintf(host, sizeof(host), "%.20s-%03u", made->host, number);
	process.executable = composer_text("/opt/gateway/bin/gateway");
	process.host = host;
	process.architecture = architecture;
	process.board = number % 2 ? board_b : board_a;
	process.pid = 1000 + number;
	process.start_wall_ns = made->end_wall_ns - made->minutes * MINUTE_NS;
	process.sample_interval = interval_of(b);
	process.mode =
		process.sample_interval ? HEAPCAST__MODE__MODE_SAMPLE : HEAPCAST__MODE__MODE_FULL;
	r = new_stream_new(made->store, &draft, &err);
	if (!r)
		r = composer_new(new_stream_fd(draft), new_stream_id(draft), &process, &b->composer,
				 &err);
	if (!r) {
		write_board(b);
		r = composer_end(b->composer, NULL, &err);
	}
	if (!r)
		r = new_stream_place(draft, &err);
	if (r < 0) {
		fprintf(stderr, "made-fleet: %s\n", err_get(&err, r));
		exit(1);
	}
	composer_free(b->composer);
	new_stream_free(draft);
	free(b);
}

int main(int argc, char **argv)
{
	struct made made = {.functions = FUNCTIONS, .every = 1, .host = "gw"};
	struct err_text err = {0};
	struct timespec now;

	if (argc < 4) {
		fprintf(stderr, "usage: made-fleet FOLDER BOARDS MINUTES [FUNCTIONS [SEED [PLANT "
				"[EVERY [AHEAD [HOST [SAMPLE]]]]]]]\n");
		return 2;
	}
	made.folder = argv[1];
	made.boards = (unsigned)strtoul(argv[2], NULL, 10);
	made.minutes = (unsigned)strtoul(argv[3], NULL, 10);
	if (argc > 4)
		made.functions = (unsigned)strtoul(argv[4], NULL, 10);
	state = 88172645463325252ull ^ (argc > 5 ? strtoull(argv[5], NULL, 10) << 20 : 0);
	if (argc > 6 && *argv[6])
		made.plant = argv[6];
	if (argc > 7)
		made.every = (unsigned)strtoul(argv[7], NULL, 10);
	if (argc > 9)
		made.host = argv[9];
	if (argc > 10)
		made.sample = strtoull(argv[10], NULL, 10);
	if (!made.every || made.functions < 3 || made.functions > FUNCTIONS_MAX)
		return 2;
	clock_gettime(CLOCK_REALTIME, &now);
	made.end_wall_ns = (uint64_t)now.tv_sec * 1000000000;
	if (argc > 8)
		made.end_wall_ns += (uint64_t)strtoll(argv[8], NULL, 10) * 1000000000;
	if (store_open(made.folder, STORE_ADD, &made.store, &err) < 0) {
		fprintf(stderr, "made-fleet: %s\n", err.text);
		return 1;
	}
	for (unsigned i = 0; i < made.boards; i++)
		make_board(&made, i);
	store_close(made.store);
	return 0;
}
