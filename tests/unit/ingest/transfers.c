/*
 * Symbol files, step by step: what agents are asked for and when, what each refusal is called,
 * which pieces fit, and what is counted. The loop stands still; orders are read from the agents'
 * sockets.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/crc32.h"
#include "tests/unit/ingest/support/still.h"

#define AGENTS 2
#define SILENT 60000
#define NOBODY 30000
#define BUSY   2000
#define PIECE  (16u << 10)
#define GIB    (1ull << 30)

static const struct ingest_file wanted = {"0123456789abcdefghij", 20}, other = {"x", 1};
static struct agent agent[AGENTS];
static struct link *link_of[AGENTS];
static char folder[128];
static uint8_t content[2 * PIECE + 100];
static int answer; /* of who checks the whole file */

static int take_file(void *context, const struct ingest_file *file, const char *path,
		     struct err_text *err)
{
	struct stat st;

	(void)context;
	(void)file;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, sizeof(content));
	assert_int_equal(st.st_mode & 0777, 0600);
	return answer < 0 ? answer : err_set(err, 0, "a remark");
}

/* An agent dials in and greets. */
static void join(unsigned i)
{
	guest_dial(&agent[i], (uint8_t)(i + 1));
	agent[i].b.id[0] = (uint8_t)(i + 1); /* a stream of its own */
	agent_greet(&agent[i], agent[i].fd, 1);
	for (unsigned turns = 0; turns < 2000 && ingest->open_count <= i; turns++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(ingest->open_count, i + 1);
	link_of[i] = ingest->links;
}

static void begin(unsigned agents)
{
	snprintf(folder, sizeof(folder), "%s/symbols", temporary_folder);
	still_begin((struct ingest_options){
		.agents_max = 5, .listen = "127.0.0.1:0", .files = folder, .file_came = take_file});
	for (unsigned i = 0; i < agents; i++)
		join(i);
	told[0] = 0;
	answer = 0;
}

static void end(unsigned agents)
{
	for (unsigned i = 0; i < agents; i++) {
		guest_done(&agent[i]);
	}
	still_end();
}

static unsigned halves(void)
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

/* The next request that this agent gets: its build id's length, -1: none. */
static int request(unsigned i, Heapcast__FileRequest *ret_request)
{
	const Heapcast__Order *order;

	while ((order = next_order(&agent[i], agent[i].fd))) {
		if (!order->file)
			continue;
		if (ret_request)
			*ret_request = *order->file;
		return (int)order->file->build_id.len;
	}
	return -1;
}

static void refuse(unsigned i, int refusal)
{
	Heapcast__FilePiece p = HEAPCAST__FILE_PIECE__INIT;

	p.build_id = builder_bytes(wanted.build_id, wanted.build_id_length);
	p.refusal = (Heapcast__FileRefusal)refusal;
	assert_int_equal(files_piece(link_of[i], &p, NULL), 0);
}

static Heapcast__FilePiece piece_at(uint64_t offset, size_t length)
{
	Heapcast__FilePiece p = HEAPCAST__FILE_PIECE__INIT;

	p.build_id = builder_bytes(wanted.build_id, wanted.build_id_length);
	p.total = sizeof(content);
	p.identity = 7;
	p.offset = offset;
	p.data = builder_bytes(content + offset, length);
	p.crc = crc32_add(0, content, offset + length);
	return p;
}

static int send_piece(unsigned i, uint64_t offset, size_t length, struct err_text *err)
{
	Heapcast__FilePiece p = piece_at(offset, length);

	return files_piece(link_of[i], &p, err);
}

/* ---- asking ---- */

static void one_after_the_other(void **state)
{
	Heapcast__FileRequest r;
	uint64_t received = 9, total = 9;

	(void)state;
	begin(0);
	assert_int_equal(ingest_fetch(ingest, &wanted), -ENOTCONN);
	end(0);
	begin(1);
	assert_int_equal(ingest_files(ingest), 0);
	assert_false(ingest_fetching(ingest, &wanted, &received, &total));
	assert_int_equal(ingest_fetch(ingest, &wanted), 0);
	assert_int_equal(ingest_fetch(ingest, &wanted), 0);
	assert_int_equal(ingest_fetch(ingest, &other), 0);
	assert_int_equal(ingest_files(ingest), 2);
	assert_int_equal(request(0, &r), 20);
	assert_memory_equal(r.build_id.data, wanted.build_id, 20);
	assert_true(!r.offset && !r.identity && !r.crc);
	assert_int_equal(request(0, NULL), -1); /* one at a time */
	assert_true(ingest_fetching(ingest, &wanted, &received, &total));
	assert_true(!received && !total);
	assert_int_equal(send_piece(0, 0, 1000, NULL), 0);
	assert_true(ingest_fetching(ingest, &wanted, &received, &total));
	assert_true(received == 1000 && total == sizeof(content));
	assert_int_equal(ingest->files.bytes, sizeof(content));
	assert_int_equal(halves(), 1);
	refuse(0, HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_GONE);
	files_tick(ingest, loop.time);
	check_told("file: on the agent's host the file is gone, or another one is in its place\n");
	assert_true(!halves() && !ingest->files.bytes);
	assert_int_equal(request(0, &r), 1); /* the other one */
	assert_memory_equal(r.build_id.data, "x", 1);
	end(1);
	still_begin((struct ingest_options){.agents_max = 5});
	assert_int_equal(ingest_fetch(ingest, &wanted), -ENOTSUP);
	still_end();
}

static void silence_is_no_answer(void **state)
{
	uint64_t now;

	(void)state;
	begin(1);
	now = loop.time;
	assert_int_equal(ingest_fetch(ingest, &wanted), 0);
	assert_int_equal(request(0, NULL), 20);
	files_tick(ingest, now + SILENT);
	check_told("");
	files_tick(ingest, now + SILENT + 1);
	check_told("file: the agent does not answer: it may be too old for that\n");
	assert_int_equal(request(0, NULL), 0); /* not any more */
	assert_int_equal(ingest_files(ingest), 0);
	end(1);
}

static void the_busy_are_asked_again(void **state)
{
	uint64_t now;

	(void)state;
	begin(1);
	now = loop.time;
	assert_int_equal(ingest_fetch(ingest, &wanted), 0);
	assert_int_equal(request(0, NULL), 20);
	refuse(0, HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_BUSY);
	files_tick(ingest, now + BUSY - 1);
	assert_int_equal(request(0, NULL), -1);
	files_tick(ingest, now + BUSY);
	assert_int_equal(request(0, NULL), 20);
	check_told("");
	end(1);
}

static void nobody_is_left(void **state)
{
	uint64_t now;
	Heapcast__FileRequest r;

	(void)state;
	begin(2);
	now = loop.time;
	assert_int_equal(ingest_fetch(ingest, &wanted), 0);
	assert_int_equal(request(1, NULL), 20);
	assert_int_equal(send_piece(1, 0, 500, NULL), 0);
	loop.time += 5;
	link_close(link_of[1], "test");
	files_tick(ingest, now + 5);
	assert_int_equal(request(0, &r), 20); /* goes on there */
	assert_true(r.offset == 500 && r.identity == 7 && r.crc == crc32_add(0, content, 500));
	loop.time += 5;
	link_close(link_of[0], "test");
	told[0] = 0;
	files_tick(ingest, now + 10 + NOBODY);
	check_told("");
	files_tick(ingest, now + 10 + NOBODY + 1);
	check_told("file: its agent is gone\n");
	assert_int_equal(halves(), 0);
	end(2);
}

/* Each agent is asked once; another's reason is better than that it does not know the file. */
static void reasons(void **state)
{
	static const char *const texts[] = {
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_UNKNOWN] =
			"no program that an agent here has recorded had a module with this build "
			"id",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_GONE] =
			"on the agent's host the file is gone, or another one is in its place",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_SWITCHED_OFF] =
			"the agent gives no files away (--send-symbols no)",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_PRIVATE] =
			"not every user of the agent's host may read the file: 'agent "
			"--send-symbols yes' gives what the program's own user may read",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_TOO_LARGE] =
			"the file is too large: agents give files of at most 512 MiB",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_STRIPPED] =
			"the file was stripped of everything that names code, and there is no "
			"debug "
			"file for it on the agent's host",
		[11] = NULL,
	};
	char expected[300];

	(void)state;
	begin(2);
	for (int refusal = 1; refusal < 12; refusal++) {
		unsigned first = 1;

		if (refusal == HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_BUSY ||
		    refusal == HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_CHANGED)
			continue;
		for (unsigned order = 0; order < 2; order++) {
			int says[] = {refusal, HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_UNKNOWN};

			assert_int_equal(ingest_fetch(ingest, &wanted), 0);
			assert_int_equal(request(first, NULL), 20);
			refuse(first, says[order]);
			files_tick(ingest, loop.time);
			assert_int_equal(request(!first, NULL), 20);
			refuse(!first, says[!order]);
			files_tick(ingest, loop.time);
			snprintf(expected, sizeof(expected), "file: %s\n",
				 texts[refusal] ? texts[refusal] : "the agent refused it");
			check_told(expected);
		}
	}
	end(2);
}

static void changes(void **state)
{
	(void)state;
	begin(1);
	assert_int_equal(ingest_fetch(ingest, &wanted), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(request(0, NULL), 20);
		assert_int_equal(send_piece(0, 0, 100, NULL), 0);
		assert_int_equal(halves(), 1);
		check_told("");
		refuse(0, HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_CHANGED);
		assert_int_equal(halves(), i == 3);
		assert_int_equal(ingest->files.bytes, i == 3 ? sizeof(content) : 0);
		files_tick(ingest, loop.time);
	}
	check_told("file: the file was changed again and again while it was sent\n");
	assert_true(!halves() && !ingest->files.bytes);
	end(1);
}

/* ---- pieces ---- */

#define SENSELESS "a piece of a file that makes no sense"
#define MISFIT	  "pieces of a file that do not fit together"

static void pieces_that_do_not_fit(void **state)
{
	static const char *const says[] = {
		SENSELESS,
		SENSELESS,
		SENSELESS,
		SENSELESS,
		SENSELESS,
		SENSELESS,
		MISFIT,
		MISFIT,
		MISFIT,
		MISFIT,
		"a piece of a file with a wrong checksum",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		struct err_text err = {0};
		Heapcast__FilePiece p;

		begin(1);
		assert_int_equal(ingest_fetch(ingest, &wanted), 0);
		assert_int_equal(send_piece(0, 0, PIECE, NULL), 0);
		p = piece_at(PIECE, PIECE);
		switch (i) {
		case 0:
			p.data.len = 0;
			break;
		case 1:
			p.data.len++;
			break;
		case 2:
			p.total = 0;
			break;
		case 3:
			p.identity = 0;
			break;
		case 4:
			p.total = 2 * PIECE - 1;
			break;
		case 5:
			p.offset = p.total + 1;
			break;
		case 6:
			p.offset++;
			break;
		case 7:
			p.total++;
			break;
		case 8:
			p.identity++;
			break;
		case 9:
			p.offset = 0; /* twice */
			break;
		case 10:
			p.crc++;
			break;
		}
		assert_int_equal(files_piece(link_of[0], &p, &err), -EPROTO);
		assert_string_equal(err.text, says[i]);
		assert_null(ingest->files.transfers->link);
		files_tick(ingest, loop.time + NOBODY);
		check_told(""); /* others may come, he is not asked again */
		files_tick(ingest, loop.time + NOBODY + 1);
		check_told("file: its agent is gone\n");
		end(1);
	}
}

static void pieces_of_nobody(void **state)
{
	struct err_text err = {0};
	Heapcast__FilePiece p;

	(void)state;
	begin(2);
	assert_int_equal(ingest_fetch(ingest, &wanted), 0); /* of the second */
	p = piece_at(5, 1);				    /* would not fit */
	assert_int_equal(files_piece(link_of[0], &p, &err), 0);
	p.build_id.len = 19;
	assert_int_equal(files_piece(link_of[1], &p, &err), 0);
	p.build_id.len = 0;
	assert_int_equal(files_piece(link_of[1], &p, &err), 0);
	p.build_id = builder_bytes(content, INGEST_BUILD_ID_MAX);
	assert_int_equal(files_piece(link_of[1], &p, &err), 0);
	p.build_id.len++;
	assert_int_equal(files_piece(link_of[1], &p, &err), -EPROTO);
	assert_string_equal(err.text, "a piece of a file that nobody can have asked for");
	end(2);
}

static void whole_files(void **state)
{
	(void)state;
	begin(1);
	for (unsigned i = 0; i < 2; i++) {
		answer = i ? -EKEYREJECTED : 0;
		ingest->files.bytes = 4 * GIB - sizeof(content); /* as much as may come */
		assert_int_equal(ingest_fetch(ingest, &wanted), 0);
		assert_int_equal(send_piece(0, 0, PIECE, NULL), 0);
		assert_int_equal(ingest->files.bytes, 4 * GIB);
		assert_int_equal(send_piece(0, PIECE, PIECE, NULL), 0);
		assert_int_equal(send_piece(0, 2 * PIECE, 100, NULL), 0);
		assert_true(ingest->files.transfers->working);
		assert_int_equal(send_piece(0, 0, 5, NULL), 0); /* too late: not looked at */
		turn();
		check_told(i ? "file: Key was rejected by service\n" : "file: a remark\n");
		assert_int_equal(ingest->files.bytes, i ? 4 * GIB - sizeof(content) : 4 * GIB);
		assert_int_equal(ingest_files(ingest), 0);
		assert_int_equal(halves(), 0);
	}
	ingest->files.bytes = 4 * GIB - sizeof(content) + 1;
	assert_int_equal(ingest_fetch(ingest, &wanted), 0);
	assert_int_equal(send_piece(0, 0, PIECE, NULL), 0);
	check_told("file: agents have sent 4 GiB of symbol files: no more in this run\n");
	ingest->files.bytes = 0;
	end(1);
}

static void files_that_are_too_large(void **state)
{
	Heapcast__FilePiece p = piece_at(0, 5);

	(void)state;
	begin(1);
	p.total = (512ull << 20) + 1;
	assert_int_equal(ingest_fetch(ingest, &wanted), 0);
	assert_int_equal(files_piece(link_of[0], &p, NULL), 0);
	check_told("file: the agent says that the file has more than 512 MiB\n");
	assert_int_equal(request(0, NULL), 20);
	assert_int_equal(request(0, NULL), 0); /* it need not go on */
	assert_int_equal(access(folder, F_OK), -1);
	p.total--; /* as large as may be; whether the disk has room for it is another matter */
	assert_int_equal(ingest_fetch(ingest, &wanted), 0);
	assert_in_range(files_piece(link_of[0], &p, NULL), 0, 1);
	assert_null(strstr(told, "512 MiB"));
	told[0] = 0;
	end(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(one_after_the_other),
		TEST_IN_FOLDER(silence_is_no_answer),
		TEST_IN_FOLDER(the_busy_are_asked_again),
		TEST_IN_FOLDER(nobody_is_left),
		TEST_IN_FOLDER(reasons),
		TEST_IN_FOLDER(changes),
		TEST_IN_FOLDER(pieces_that_do_not_fit),
		TEST_IN_FOLDER(pieces_of_nobody),
		TEST_IN_FOLDER(whole_files),
		TEST_IN_FOLDER(files_that_are_too_large),
	};

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7 + i / 255);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
