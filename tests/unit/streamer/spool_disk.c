/* The spool's part on disk: what goes in comes out, the limit holds, files go when they are
 * acknowledged, and others find what is left behind. */
#include "tests/unit/streamer/harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/spool/spool.h"
#include "agent/spool/spool_files.h"
#include "base/log.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/temporary.h"

#define LIMIT SPOOL_LIMIT_MIN

static const uint8_t id[STREAM_ID_SIZE] = {0xab, 0xcd};

struct scene {
	struct spool spool;
	struct spool_folder folder;
	struct arena arena;
	uint8_t frame[4000];
	uint64_t put; /* frames so far */
};

static size_t length_of(uint64_t number)
{
	return 500 + number * 37 % 2500;
}

static long define(void *context, int fd, uint64_t next, const struct spool_account *before)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "definitions before %llu\n", (unsigned long long)next);

	(void)context;
	assert_int_equal(before->events, (next - 1) * 10);
	assert_int_equal(spool_file_write(fd, text, (size_t)n, 0), 0);
	return n;
}

static void scene_open(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	assert_int_equal(spool_folder_open(&s->folder, temporary_folder, LIMIT), 0);
	assert_int_equal(arena_open(&s->arena, 32768), 0);
	assert_int_equal(spool_init(&s->spool, &s->arena, 16384, 16384), 0);
	s->spool.disk.folder = &s->folder;
	s->spool.disk.id = id;
	s->spool.disk.define = define;
}

static int put(struct scene *s)
{
	uint64_t number = s->put + 1;
	struct spool_account account = {.events = number * 10, .nodes = (uint32_t)number};
	int r;

	memset(s->frame, (int)number, sizeof(s->frame));
	r = spool_put(&s->spool, s->frame, length_of(number), &account);
	s->put += r == 0;
	return r;
}

static void check(const struct scene *s, uint64_t number)
{
	uint8_t read[4000];
	const uint8_t *data = read;
	struct spool_place place;

	assert_int_equal(spool_find(&s->spool, number, &place), 0);
	assert_int_equal(place.length, length_of(number));
	if (place.data)
		data = place.data;
	else
		assert_int_equal(pread(place.fd, read, place.length, place.offset), place.length);
	for (size_t i = 0; i < place.length; i++)
		assert_int_equal(data[i], (uint8_t)number);
	assert_int_equal(spool_account_at(&s->spool, number).events, number * 10);
}

/* Bytes of all files but the lock, and how many there are. */
static uint64_t in_folder(unsigned *ret_files)
{
	DIR *all = opendir(temporary_folder);
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;

	*ret_files = 0;
	while ((e = readdir(all)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lock")) {
			assert_int_equal(fstatat(dirfd(all), e->d_name, &st, 0), 0);
			bytes += (uint64_t)st.st_size;
			++*ret_files;
		}
	closedir(all);
	return bytes;
}

static void scene_close(struct scene *s)
{
	spool_folder_close(&s->folder);
	arena_close(&s->arena);
}

/* Somebody takes much of it now and then, for a while nobody does, and another one lags behind by
 * as much as `lag`. */
static void take_some(struct scene *s, uint64_t lag)
{
	uint64_t number = s->spool.acked + 1 + (uint64_t)random() % (s->put - s->spool.acked), kept;

	if (random() % 3 == 0)
		number = s->put;
	kept = number > lag ? number - lag : 0;
	assert_int_equal(spool_ack(&s->spool, number, kept), 0);
}

static void check_all(const struct scene *s)
{
	struct spool_place place;

	for (uint64_t n = spool_oldest(&s->spool); n <= s->put; n++)
		check(s, n);
	assert_int_equal(spool_find(&s->spool, s->put + 1, &place), -ENOENT);
	assert_int_equal(spool_find(&s->spool, spool_oldest(&s->spool) - 1, &place), -ENOENT);
	assert_int_equal(spool_account_at(&s->spool, spool_oldest(&s->spool) - 1).events,
			 (spool_oldest(&s->spool) - 1) * 10);
}

static void run_random(uint64_t lag)
{
	static struct scene s;
	unsigned files;
	uint64_t full = 0, oldest;
	bool lossless = true;

	scene_open(&s);
	for (unsigned i = 0; i < 6000; i++) {
		oldest = spool_oldest(&s.spool);
		if (put(&s) == -ENOSPC) {
			full++;
			assert_true(in_folder(&files) > LIMIT * 9 / 10);
			assert_true(spool_oldest(&s.spool) > s.spool.acked || s.spool.disk.count);
			take_some(&s, lag);
		} else if (random() % 1500 == 0) {
			take_some(&s, lag);
		}
		/* What one of them lacks goes only when there is no room. */
		if (spool_oldest(&s.spool) > oldest && oldest > s.spool.kept) {
			lossless = false;
			assert_true(in_folder(&files) > LIMIT * 8 / 10);
		}
		assert_true(spool_oldest(&s.spool) <= s.spool.acked + 1);
		if (i % 50)
			continue;
		assert_true(in_folder(&files) <= LIMIT);
		check_all(&s);
	}
	assert_true(full > 0);
	assert_true(lossless == (lag == 0));
	spool_ack(&s.spool, s.put, s.put);
	in_folder(&files);
	assert_int_equal(files, 0);
	assert_int_equal(s.folder.used, 0);
	scene_close(&s);
}

static void test_random(void **state)
{
	(void)state;
	run_random(0);
}

static void test_laggard(void **state)
{
	(void)state;
	run_random(300);
}

/* A stream that finds no room says so, until another one has dropped what somebody has. */
static void test_neighbour(void **state)
{
	static struct scene s;
	struct spool other = {0};
	const struct spool_account account = {.events = 1};
	static const uint8_t other_id[STREAM_ID_SIZE] = {1};
	uint64_t number = 0;

	(void)state;
	scene_open(&s);
	while (put(&s) == 0)
		;
	assert_int_equal(spool_init(&other, &s.arena, 12000, 12000), 0);
	other.disk = (struct spool_disk){.folder = &s.folder, .id = other_id, .define = define};
	s.folder.wanted = false;
	while (spool_put(&other, s.frame, 3000, &account) == 0)
		number++;
	assert_true(number >= 2);
	assert_true(spool_wants(&other));
	assert_int_equal(spool_droppable(&s.spool), 0); /* nobody has it */
	spool_ack(&s.spool, s.put, 0);
	assert_int_equal(spool_droppable(&other), 0);
	assert_true(spool_droppable(&s.spool) > 0);
	spool_drop_oldest(&s.spool);
	assert_int_equal(spool_put(&other, s.frame, 3000, &account), 0);
	check_all(&s);
	spool_clear(&other);
	spool_clear(&s.spool);
	scene_close(&s);
}

/* What this one leaves stays, and counts for the next one; two at a time there can't be. */
static void test_heir(void **state)
{
	static struct scene s, heir;
	struct spool_left *left;
	uint64_t first;
	unsigned files;
	int count;

	(void)state;
	scene_open(&s);
	for (unsigned i = 0; i < 400; i++)
		assert_int_equal(put(&s), 0);
	spool_ack(&s.spool, 200, 200);
	first = spool_oldest(&s.spool);
	assert_true(first > 1 && first <= 201);
	assert_int_equal(spool_folder_open(&heir.folder, temporary_folder, LIMIT), -EBUSY);
	spool_leave(&s.spool);
	assert_int_equal(spool_account_at(&s.spool, s.put).events, s.put * 10);
	scene_close(&s);
	scene_open(&heir);
	assert_int_equal(in_folder(&files), heir.folder.used);
	count = spool_files_left(heir.folder.fd, &left);
	assert_true(count > 1);
	assert_int_equal(files, 2 * count);
	for (int i = 0; i < count; i++) {
		assert_memory_equal(left[i].stream, id, STREAM_ID_SIZE);
		assert_int_equal(left[i].incarnation, 1);
		assert_true(i ? left[i].first > left[i - 1].first : left[i].first == first);
	}
	free(left);
	scene_close(&heir);
}

/* A folder that can't be made, and a file in the place of one. */
static void test_refused(void **state)
{
	struct spool_folder folder = {0};
	char path[100];
	int fd;

	(void)state;
	assert_int_equal(spool_folder_open(&folder, "/proc/nowhere", LIMIT), -ENOENT);
	assert_int_equal(folder.fd, -1);
	snprintf(path, sizeof(path), "%s/file", temporary_folder);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(spool_folder_open(&folder, path, LIMIT), -ENOTDIR);
	assert_int_equal(folder.fd, -1);
}

/* The folder gets descriptor 0, which is as good as any other, and is closed. */
static void test_first_descriptor(void **state)
{
	struct spool_folder folder = {0};
	unsigned before = descriptors_open();

	(void)state;
	first_descriptor_free();
	assert_int_equal(spool_folder_open(&folder, temporary_folder, LIMIT), 0);
	assert_int_equal(folder.fd, 0);
	assert_true(folder.lock > 0);
	assert_int_equal(descriptors_open(), before + 1);
	spool_folder_close(&folder);
	assert_int_equal(folder.fd, -1);
	assert_int_equal(folder.lock, -1);
	spool_folder_close(&folder);
	assert_int_equal(descriptors_open(), before - 1);
	first_descriptor_take();
	assert_int_equal(descriptors_open(), before);
}

static void put_file(const char *name, size_t size)
{
	char path[200], text[1000];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", temporary_folder, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	memset(text, 'x', sizeof(text));
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

/* Files of the spool and recordings beside it count; they have a name before their ending. */
static void test_used(void **state)
{
	static const char *const counted[] = {"a.frames", "b.definitions", "c.heapcast"};
	static const char *const others[] = {
		".frames", ".definitions", ".heapcast", "frames",	"heapcast",
		"x",	   "a.frames2",	   "c.heap",	"c.heapcast-x", "cheapcast"};
	struct spool_folder folder = {0};
	uint64_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		put_file(others[i], 1 + i);
	assert_int_equal(spool_folder_open(&folder, temporary_folder, LIMIT), 0);
	assert_int_equal(folder.used, 0);
	spool_folder_close(&folder);
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		put_file(counted[i], 100 << i);
		bytes += 100u << i;
		assert_int_equal(spool_folder_open(&folder, temporary_folder, LIMIT), 0);
		assert_int_equal(folder.used, bytes);
		spool_folder_close(&folder);
	}
}

/* What a file is being written of stays, whoever has it, and goes as the file comes along: in
 * memory, and on the disk. */
static void run_held(bool disk)
{
	struct scene s;
	uint64_t held = 3, last;

	scene_open(&s);
	if (!disk)
		s.spool.disk.folder = NULL;
	s.spool.held = held;
	while (s.put < 10000 && put(&s) == 0)
		assert_int_equal(spool_ack(&s.spool, s.put, s.put), 0);
	last = s.put;
	assert_in_range(last, held, 9999);
	assert_int_equal(spool_oldest(&s.spool) <= held, true);
	for (uint64_t number = held; number <= last; number++)
		check(&s, number);
	for (; held <= last; held++) {
		s.spool.held = held + 1;
		assert_int_equal(spool_ack(&s.spool, last, last), 0);
		if (put(&s) == 0)
			break;
	}
	assert_int_equal(s.put, last + 1);
	for (uint64_t number = held + 1; number <= s.put; number++)
		check(&s, number);
	scene_close(&s);
}

static void test_held(void **state)
{
	(void)state;
	run_held(false);
	run_held(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_random),	TEST_IN_FOLDER(test_laggard),
		TEST_IN_FOLDER(test_neighbour), TEST_IN_FOLDER(test_heir),
		TEST_IN_FOLDER(test_refused),	TEST_IN_FOLDER(test_held),
		TEST_IN_FOLDER(test_used),	TEST_IN_FOLDER(test_first_descriptor)};

	log_open("off", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
