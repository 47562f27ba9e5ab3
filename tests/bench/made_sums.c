/*
 * Makes a fleet whose sums by minute are many, to measure questions that read them: gateways in
 * eight builds, whose backtraces have 24 frames.
 *
 *	made-sums FOLDER streams STREAMS STACKS MINUTES
 *		writes recordings, in which each backtrace allocates once, and gives back at once
 *	made-sums FOLDER sums MINUTES [ROWS]
 *		keeps sums beside each of them, through the same writer as questions: in each
 *minute, one of each backtrace. With ROWS, writes them there, too, as rows of ClickHouse's table
 *`sums` in RowBinary; that may be a FIFO
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/write.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/store.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/query/minutes.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "collector/rewrite/compose.h"
#include "collector/sums/stack_ids.h"
#include "collector/sums/stream_sums.h"
#include "collector/symbols/symbols.h"

#define BUILDS	     8
#define BUILD_STACKS 2500 /* of which a stream has some */
#define FRAMES	     24
#define FUNCTIONS    1500
#define SITES	     400 /* functions that allocate */

static void check(int r, const struct err_text *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "made-sums: %s\n", err_get(err, r));
	exit(1);
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static uint64_t state = 88172645463325252ull;

static uint64_t random_below(uint64_t count)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % count;
}

/* ---- recordings ---- */

struct made_stream {
	struct composer *composer;
	uint32_t gateway, libstdcxx, libcore;
	unsigned build;
	uint8_t named[FUNCTIONS];
	uint64_t time_ns;
};

static void function_name(char *out, size_t size, unsigned function)
{
	static const char *const spaces[] = {"net::http", "storage::cache", "proto::mqtt",
					     "ui",	  "config::schema", "telemetry"},
				 *const nouns[] = {"Session",	  "RequestParser", "BlockCache",
						   "TopicRouter", "WidgetTree",	   "MetricStore"},
				 *const verbs[] = {"handle_incoming",  "append_header",
						   "insert_or_assign", "route_message",
						   "layout_children",  "flush"};
	uint64_t h = mixed(function, 1);

	snprintf(out, size, "%s::%s::%s_%u(std::string_view, unsigned int)", spaces[h % 6],
		 nouns[h / 6 % 6], verbs[h / 36 % 6], function);
}

/* Frames of functions of the program lie in one of its two files. */
static uint32_t put_frame(struct made_stream *s, uint32_t caller, unsigned function)
{
	uint32_t module = function % 3 ? s->gateway : s->libcore, node;
	uint64_t offset = 0x1000 + 64 * (uint64_t)function + 8 * s->build;
	char name[160], file[64];

	composer_node(s->composer, caller, module, offset, &node);
	if (!s->named[function]) {
		function_name(name, sizeof(name), function);
		snprintf(file, sizeof(file), "src/part_%02u/file_%03u.cc", function % 40,
			 function % 300);
		composer_name(s->composer, module, offset,
			      &(struct composer_frame){
				      .function = name, .file = file, .line = 10 + function % 900},
			      1);
		s->named[function] = 1;
	}
	return node;
}

/* Outer frames are shared by many backtraces. The innermost one is "operator new". */
static uint32_t put_stack(struct made_stream *s, unsigned stack)
{
	uint32_t node = 0;

	for (unsigned depth = 0; depth < FRAMES - 2; depth++)
		node = put_frame(s, node,
				 (unsigned)(SITES + mixed(depth, stack >> (11 - depth / 2)) %
							    (FUNCTIONS - SITES)));
	node = put_frame(s, node, (unsigned)(mixed(77, stack) % SITES));
	composer_node(s->composer, node, s->libstdcxx, 0x2000, &node);
	return node;
}

static void put_block(struct made_stream *s, uint32_t node)
{
	uint64_t address = composer_address(s->composer, 64);

	for (int kind = 0; kind < 2; kind++)
		composer_event(s->composer,
			       &(struct event){.kind = kind ? HEAPCAST__EVENT_KIND__EVENT_FREE
							    : HEAPCAST__EVENT_KIND__EVENT_MALLOC,
					       .thread = 1,
					       .time_ns = s->time_ns += 1000,
					       .address = address,
					       .size = kind ? 0 : 64,
					       .stack = node});
}

static void put_module(struct made_stream *s, const char *path, uint8_t first, uint8_t rest,
		       uint32_t *ret_number)
{
	Heapcast__Module m = HEAPCAST__MODULE__INIT;
	uint8_t build_id[20];

	memset(build_id, rest, sizeof(build_id));
	build_id[0] = first;
	m.path = composer_text(path);
	m.build_id = (ProtobufCBinaryData){sizeof(build_id), build_id};
	m.start = 0x400000 * (uint64_t)first;
	m.end = m.start + 0x400000;
	composer_module(s->composer, &m, ret_number);
}

static void write_stream(struct made_stream *s, unsigned stacks, unsigned minutes)
{
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;
	unsigned first = (unsigned)random_below(BUILD_STACKS);

	put_module(s, "/opt/gateway/bin/gateway", 1, (uint8_t)s->build, &s->gateway);
	put_module(s, "/opt/gateway/lib/libcore.so.3", 2, (uint8_t)s->build, &s->libcore);
	put_module(s, "/usr/lib/libstdc++.so.6", 3, 0, &s->libstdcxx);
	composer_name(s->composer, s->libstdcxx, 0x2000,
		      &(struct composer_frame){.function = "operator new(unsigned long)"}, 1);
	s->time_ns = 1000000000;
	for (unsigned i = 0; i < stacks; i++)
		put_block(s, put_stack(s, (first + 3 * i) % BUILD_STACKS));
	mark.time_ns = minutes * (uint64_t)MINUTE_NS + 1000;
	mark.kind = HEAPCAST__MARK_KIND__MARK_TEXT;
	composer_mark(s->composer, &mark);
}

static void make_stream(struct store *store, unsigned number, unsigned stacks, unsigned minutes,
			uint64_t start_wall_ns)
{
	struct made_stream s = {.build = number % BUILDS};
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	struct new_stream *draft = NULL;
	struct err_text err = {0};
	char host[32], architecture[] = "aarch64";

	snprintf(host, sizeof(host), "gw-%04u", number);
	process.executable = composer_text("/opt/gateway/bin/gateway");
	process.host = host;
	process.architecture = architecture;
	process.pid = 1000 + number;
	process.start_wall_ns = start_wall_ns;
	process.mode = HEAPCAST__MODE__MODE_FULL;
	check(new_stream_new(store, &draft, &err), &err);
	check(composer_new(new_stream_fd(draft), new_stream_id(draft), &process, &s.composer, &err),
	      &err);
	write_stream(&s, stacks, minutes);
	check(composer_end(s.composer, NULL, &err), &err);
	check(new_stream_place(draft, &err), &err);
	composer_free(s.composer);
	new_stream_free(draft);
}

static void make_streams(struct store *store, unsigned streams, unsigned stacks, unsigned minutes)
{
	struct timespec now;
	uint64_t minute;

	clock_gettime(CLOCK_REALTIME, &now);
	minute = (uint64_t)now.tv_sec / 60 - minutes - 1;
	for (unsigned i = 0; i < streams; i++)
		make_stream(store, i, stacks, minutes, minute * MINUTE_NS);
}

/* ---- sums ---- */

struct stream_view {
	struct recording *recording;
	struct symbols *symbols;
	struct view *view;
	struct stack_ids ids;
	struct minutes seen; /* each backtrace once, by node */
};

static void open_stream(struct stream_view *v, const struct store *store,
			const struct stream_summary *s)
{
	cleanup(cleanup_free) char *path = stream_recording_path(store, &s->id);
	struct err_text err = {0};
	struct filter all;

	filter_init(&all);
	*v = (struct stream_view){0};
	check(recording_open(path, NULL, NULL, &v->recording, &err), &err);
	check(view_new(v->recording, NULL, &v->view, &err), &err);
	check(query_minutes(v->view, &all, s->start_wall_ns, 0, UINT32_MAX, &v->seen, &err), &err);
	check(stack_ids_init(&v->ids, v->view), &err);
}

static void close_stream(struct stream_view *v)
{
	stack_ids_done(&v->ids);
	minutes_done(&v->seen);
	view_free(v->view);
	recording_close(v->recording);
}

/* A backtrace allocates some blocks of its size in a minute, and frees some of what it has. */
static struct minute_sum next_sum(uint32_t minute, uint64_t node, int64_t *live)
{
	int64_t size = 16 + (int64_t)(mixed(node, 3) % 2048), born = (int64_t)random_below(16),
		died = (int64_t)random_below((uint64_t)(*live < 15 ? *live : 15) + 1);

	*live += born - died;
	return (struct minute_sum){.minute = minute,
				   .stack = node,
				   .allocated_units = born * MINUTE_UNIT,
				   .allocated = born * size,
				   .units = (born - died) * MINUTE_UNIT,
				   .bytes = (born - died) * size};
}

static void put_row(struct buf *rows, const struct stream_view *v, const struct stream_summary *s,
		    const struct minute_sum *sum)
{
	row_put_u16(rows, (uint16_t)(sum->minute / 1440));
	row_put_u64(rows, 1);
	row_put_u64(rows, 1);
	row_put_id(rows, s->id.bytes);
	row_put_u32(rows, sum->minute);
	row_put_u64(rows, stack_id_of(&v->ids, (uint32_t)sum->stack));
	row_put_i64(rows, sum->allocated_units);
	row_put_i64(rows, sum->allocated);
	row_put_i64(rows, sum->units);
	row_put_i64(rows, sum->bytes);
	row_put_i64(rows, sum->variance);
}

static void make_stream_sums(const struct sums_source *source, const struct stream_summary *s,
			     unsigned minutes, int rows_fd)
{
	cleanup(buf_done) struct buf rows = {0};
	struct minutes sums = {0};
	struct stream_view v;
	int64_t *live;
	struct err_text err = {0};

	open_stream(&v, source->store, s);
	live = calloc(v.seen.count + 1u, sizeof(*live));
	for (uint32_t m = 0; m < minutes; m++) {
		for (uint32_t i = 0; i < v.seen.count; i++) {
			struct minute_sum sum = next_sum(minute_of(s->start_wall_ns) + 1 + m,
							 v.seen.list[i].stack, &live[i]);

			check(minutes_add(&sums, &sum), &err);
			if (rows_fd >= 0)
				put_row(&rows, &v, s, &sum);
		}
	}
	if (rows_fd >= 0)
		check(write_all(rows_fd, rows.data, rows.length), &err);
	check(stream_sums_keep(source, s, &sums, &err), &err);
	minutes_done(&sums);
	free(live);
	close_stream(&v);
}

static void make_sums(struct store *store, unsigned minutes, const char *rows)
{
	struct stream_summary *list = NULL;
	struct err_text err = {0};
	size_t count = 0;
	struct sums_source source = {.store = store};
	const struct symbols_options options = {0};
	int fd = rows ? open(rows, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

	check(symbols_new(&options, &source.symbols, &err), &err);
	check(store_list_quickly(store, &list, &count, &err), &err);
	for (size_t i = 0; i < count; i++)
		make_stream_sums(&source, &list[i], minutes, fd);
	symbols_free(source.symbols);
	store_list_free(list, count);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	bool streams = argc == 6 && !strcmp(argv[2], "streams"),
	     sums = (argc == 4 || argc == 5) && !strcmp(argv[2], "sums");
	struct store *store = NULL;
	struct err_text err = {0};

	if (!streams && !sums) {
		fprintf(stderr, "usage: made-sums FOLDER streams STREAMS STACKS MINUTES\n"
				"       made-sums FOLDER sums MINUTES [ROWS]\n");
		return 2;
	}
	check(store_open(argv[1], STORE_ADD, &store, &err), &err);
	if (streams)
		make_streams(store, (unsigned)atol(argv[3]), (unsigned)atol(argv[4]),
			     (unsigned)atol(argv[5]));
	else
		make_sums(store, (unsigned)atol(argv[3]), argv[4]);
	store_close(store);
	return 0;
}
