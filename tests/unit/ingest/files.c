/*
 * Symbol files from an agent, and from agents that lie: an agent made for the test answers each
 * request with the pieces of a table. What comes must be whole, go on after an interruption, or be
 * refused without a trace on the disk.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/crc32.h"
#include "proto/columns.h"
#include "collector/catalogue/store.h"
#include "collector/ingest/state.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/ingest/support/peers.h"
#include "tests/unit/temporary.h"

#define PIECE (16u << 10)
#define TOTAL (2 * PIECE + 100)

static const struct ingest_file wanted = {"0123456789abcdefghij", 20};
static uint8_t content[TOTAL];

/* One answer; what is 0 is as it ought to be. */
struct answer {
	uint64_t offset, length, total, identity;
	uint32_t crc_off; /* added to the right one */
	int refusal;
	bool other_file, hang_up;
};

/* What the agent says, one connection after the other, and what becomes of it. */
struct script {
	const char *what;
	struct answer answers[8];
	uint64_t resumed_at; /* the last request's offset must be */
	const char *text;    /* NULL: the file comes; else what the collector says; "": the link is
				closed */
	int came;	     /* what the receiver says */
};

static const struct script *script;
static struct ingest_file asked;
static uint64_t asked_offset, asked_identity;
static uint32_t asked_crc;

/* ---- the agent ---- */

static void send_answer(struct frame_encoder *encoder, int fd, const struct answer *a)
{
	static uint8_t message[FRAME_HEADROOM + (64 << 10)], out[128 << 10];
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__FilePiece piece = HEAPCAST__FILE_PIECE__INIT;
	struct ingest_file file = wanted;
	static uint8_t data[32 << 10];
	long n;

	file.build_id[0] ^= a->other_file;
	piece.build_id = (ProtobufCBinaryData){file.build_id_length, file.build_id};
	piece.refusal = (Heapcast__FileRefusal)a->refusal;
	if (!a->refusal) {
		uint64_t known = a->offset < TOTAL ? TOTAL - a->offset : 0;
		uint64_t real = a->length < known ? a->length : known;

		memcpy(data, content + (known ? a->offset : 0), real);
		piece.total = a->total ? a->total : TOTAL;
		piece.identity = a->identity ? a->identity : 7;
		piece.offset = a->offset;
		piece.data = (ProtobufCBinaryData){a->length, data};
		piece.crc =
			crc32_add(crc32_add(0, content, known ? a->offset : 0), data, a->length) +
			a->crc_off;
	}
	link.file = &piece;
	batch.link = &link;
	n = frame_encode(encoder, message + FRAME_HEADROOM,
			 heapcast__batch__pack(&batch, message + FRAME_HEADROOM), out, sizeof(out));
	if (n > 0)
		agent_send(fd, out, (size_t)n);
}

static bool await_request(struct agent *a, int fd)
{
	const Heapcast__Order *order;

	while ((order = next_order(a, fd)))
		if (order->file && order->file->build_id.len == wanted.build_id_length) {
			memcpy(asked.build_id, order->file->build_id.data, wanted.build_id_length);
			asked_offset = order->file->offset;
			asked_identity = order->file->identity;
			asked_crc = order->file->crc;
			return true;
		}
	return false;
}

static void play(struct agent *a)
{
	struct frame_encoder *encoder = frame_encoder_new();
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	if (!await_request(a, fd))
		a->failed = true;
	for (size_t i = 0; i < 8 && (script->answers[i].length || script->answers[i].refusal);
	     i++) {
		send_answer(encoder, fd, &script->answers[i]);
		if (!script->answers[i].hang_up)
			continue;
		/* Closed with something unread, the link would be reset, and the piece lost. */
		shutdown(fd, SHUT_WR);
		while (next_order(a, fd))
			;
		close(fd);
		fd = agent_accept(a);
		agent_greet(a, fd, 1);
		a->failed |= !await_request(a, fd);
	}
	while (next_order(a, fd))
		;
	close(fd);
	frame_encoder_free(encoder);
}

/* ---- the collector ---- */

struct taking {
	uv_loop_t loop;
	uv_timer_t timer;
	struct ingest *ingest;
	bool complete, concluded, timed_out, stopped, cut;
	char text[256];
	uint8_t came[2 * TOTAL];
	size_t came_length;
	uint64_t bytes; /* that count for the most of one run */
	unsigned left;	/* transfers */
};

static void stop(struct taking *t)
{
	if (t->stopped)
		return;
	t->stopped = true;
	uv_close((uv_handle_t *)&t->timer, NULL);
	ingest_stop(t->ingest, NULL, NULL);
}

static int file_came(void *context, const struct ingest_file *file, const char *path,
		     struct err_text *err)
{
	struct taking *t = context;
	FILE *f = fopen(path, "re");

	(void)file;
	if (!f)
		return -errno;
	t->came_length = fread(t->came, 1, sizeof(t->came), f);
	fclose(f);
	return script->came ? err_set(err, script->came, "not the one") : 0;
}

static void on_event(void *context, const struct ingest_event *e)
{
	struct taking *t = context;

	if (e->kind == INGEST_CONNECTED && !t->concluded)
		ingest_fetch(t->ingest, &wanted);
	if (e->kind == INGEST_DISCONNECTED)
		t->cut = true;
	if (e->kind == INGEST_FILE) {
		t->concluded = true;
		t->complete = e->complete;
		t->bytes = t->ingest->files.bytes;
		t->left = t->ingest->files.count;
		snprintf(t->text, sizeof(t->text), "%s", e->text);
	}
	if (e->kind == INGEST_FILE || (t->cut && script->text && !*script->text))
		stop(t);
}

static void on_timeout(uv_timer_t *timer)
{
	struct taking *t = timer->data;

	t->timed_out = true;
	stop(t);
}

static unsigned halves(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned count = 0;

	while (dir && (entry = readdir(dir)))
		count += !strncmp(entry->d_name, INGEST_FILE_PREFIX, strlen(INGEST_FILE_PREFIX));
	if (dir)
		closedir(dir);
	return count;
}

static void run(const struct script *s)
{
	struct taking *t = calloc(1, sizeof(*t));
	struct err_text err = {0};
	struct store *store;
	struct agent a;
	char folder[4096];
	const char *peers[1];
	struct ingest_options options = {.peers = peers,
					 .peer_count = 1,
					 .listen = "off",
					 .files = folder,
					 .file_came = file_came,
					 .event = on_event,
					 .context = t};
	static unsigned open_before; /* libuv keeps some from the first loop on */

	script = s;
	agent_begin(&a, play);
	peers[0] = a.address;
	snprintf(folder, sizeof(folder), "%s/symbols", temporary_folder);
	assert_int_equal(store_open(temporary_folder, STORE_WRITE, &store, &err), 0);
	uv_loop_init(&t->loop);
	uv_timer_init(&t->loop, &t->timer);
	t->timer.data = t;
	uv_timer_start(&t->timer, on_timeout, PATIENCE_MS, 0);
	assert_int_equal(ingest_start(&t->loop, store, &options, &t->ingest, &err), 0);
	agent_start(&a);
	uv_run(&t->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&t->loop), 0);
	agent_join(&a);
	if (t->timed_out || a.failed)
		fail_msg("%s: %s", s->what,
			 a.failed ? "nothing was asked for" : "nothing came of it");
	if (t->complete != (s->text == NULL) || (s->text && !strstr(t->text, s->text)))
		fail_msg("%s: %d, '%s'", s->what, t->complete, t->text);
	if (t->complete) {
		assert_int_equal(t->came_length, TOTAL);
		assert_memory_equal(t->came, content, TOTAL);
	}
	assert_int_equal(t->bytes, t->complete ? TOTAL : 0);
	assert_int_equal(t->left, 0);
	assert_int_equal(asked_offset, s->resumed_at);
	assert_int_equal(halves(folder), 0);
	store_close(store);
	agent_done(&a);
	if (open_before)
		assert_int_equal(descriptors_open(), open_before);
	open_before = descriptors_open();
	free(t);
}

#define WHOLE                                                                                      \
	{.length = PIECE}, {.offset = PIECE, .length = PIECE},                                     \
	{                                                                                          \
		.offset = 2 * PIECE, .length = 100                                                 \
	}

static void whole_files(void **state)
{
	static const struct script scripts[] = {
		{"in order", {WHOLE}, .text = NULL},
		{"with a piece of another file between",
		 {{.length = 5, .other_file = true}, WHOLE},
		 .text = NULL},
		{"on and on after an interruption",
		 {{.length = PIECE, .hang_up = true},
		  {.offset = PIECE, .length = PIECE},
		  {.offset = 2 * PIECE, .length = 100}},
		 .resumed_at = PIECE},
		{"another file after an interruption",
		 {{.length = PIECE, .identity = 9, .hang_up = true}, WHOLE},
		 .resumed_at = PIECE},
		{"another file after more of the first one",
		 {{.length = PIECE, .identity = 9},
		  {.offset = PIECE, .length = PIECE, .identity = 9, .hang_up = true},
		  WHOLE},
		 .resumed_at = 2 * PIECE},
		{"busy first",
		 {{.refusal = HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_BUSY, .hang_up = true}, WHOLE},
		 .text = NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		run(&scripts[i]);
		if (scripts[i].resumed_at) {
			assert_int_equal(asked_crc, crc32_add(0, content, scripts[i].resumed_at));
			assert_int_not_equal(asked_identity, 0);
		}
	}
}

static void refused_files(void **state)
{
	static const struct script scripts[] = {
		{"stripped",
		 {{.refusal = HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_STRIPPED}},
		 .text = "stripped of everything"},
		{"gone",
		 {{.length = PIECE}, {.refusal = HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_GONE}},
		 .text = "the file is gone"},
		{"a reason of tomorrow", {{.refusal = 99}}, .text = "the agent refused it"},
		{"not what was asked for", {WHOLE}, .text = "not the one", .came = -EKEYREJECTED},
		{"too much",
		 {{.length = PIECE, .total = (512ull << 20) + 1}},
		 .text = "more than 512 MiB"},
		{"too much after an interruption",
		 {{.length = PIECE, .identity = 9, .hang_up = true},
		  {.length = PIECE, .total = (512ull << 20) + 1}},
		 .resumed_at = PIECE,
		 .text = "more than 512 MiB"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		run(&scripts[i]);
}

/* The link is closed, and nothing is left. */
static void lies(void **state)
{
	static const struct script scripts[] = {
		{"a hole", {{.length = PIECE}, {.offset = 2 * PIECE, .length = 100}}, .text = ""},
		{"twice", {{.length = PIECE}, {.length = PIECE}}, .text = ""},
		{"not from the start", {{.offset = PIECE, .length = PIECE}}, .text = ""},
		{"beyond the end", {{.length = 200, .total = 100}}, .text = ""},
		{"far beyond the end", {{.offset = UINT64_MAX - 5, .length = 10}}, .text = ""},
		{"too large a piece", {{.length = PIECE + 1}}, .text = ""},
		{"a wrong checksum", {{.length = PIECE, .crc_off = 1}}, .text = ""},
		{"another total",
		 {{.length = PIECE}, {.offset = PIECE, .length = PIECE, .total = TOTAL + 1}},
		 .text = ""},
		{"another file on the way",
		 {{.length = PIECE}, {.offset = PIECE, .length = PIECE, .identity = 8}},
		 .text = ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		run(&scripts[i]);
}

/* No folder for them can be made: the link goes on, and the file is not taken. */
static void no_place_for_files(void **state)
{
	static const struct script one = {
		"a file where the folder is to be", {WHOLE}, .text = "no file for it can be made"};
	char path[4096];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/symbols", temporary_folder);
	f = fopen(path, "we");
	assert_non_null(f);
	fclose(f);
	run(&one);
}

/* What was half-made when a collector was killed goes when the next one starts. */
static void halves_are_removed(void **state)
{
	static const struct script stripped = {
		"after a kill",
		{{.refusal = HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_STRIPPED}},
		.text = "stripped"};
	char path[4096];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/symbols", temporary_folder);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/symbols/" INGEST_FILE_PREFIX "abcdef", temporary_folder);
	f = fopen(path, "we");
	assert_non_null(f);
	fclose(f);
	run(&stripped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(whole_files),
		TEST_IN_FOLDER(refused_files),
		TEST_IN_FOLDER(lies),
		TEST_IN_FOLDER(no_place_for_files),
		TEST_IN_FOLDER(halves_are_removed),
	};

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7 + i / 255);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
