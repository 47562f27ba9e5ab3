/* What an agent that is gone has left: each collector gets what it lacks, in order, and nothing
 * goes before somebody has it all. */
#include "tests/unit/streamer/orphans_left.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/spool/orphans.h"
#include "agent/spool/spool_files.h"
#include "base/log.h"
#include "tests/unit/descriptors.h"

#define FRAME_MOST (256u << 10)
#define LINKS	   2

/* The agent that comes. */
#define LINGER_NS UINT64_C(60000000000)

struct heir {
	struct spool_folder folder;
	struct orphans orphans;
	struct frame_decoder *decoder;
};

static void heir_open(struct heir *h)
{
	memset(h, 0, sizeof(*h));
	h->decoder = frame_decoder_new();
	assert_int_equal(spool_folder_open(&h->folder, temporary_folder, LIMIT), 0);
	orphans_open(&h->orphans, &h->folder, LINKS, FRAME_MOST);
}

static void heir_close(struct heir *h)
{
	orphans_close(&h->orphans);
	spool_folder_close(&h->folder);
	frame_decoder_free(h->decoder);
}

static unsigned files(void)
{
	DIR *all = opendir(temporary_folder);
	unsigned count = 0;
	struct dirent *e;

	while ((e = readdir(all)))
		count += e->d_name[0] != '.' && strcmp(e->d_name, "lock");
	closedir(all);
	return count;
}

/* The next frame of orphan `index` for `link`: its number; 0: a definition before `*ret_next`; -1:
 * there is none. */
static int64_t take(struct heir *h, uint32_t link, uint32_t index, uint32_t incarnation,
		    uint64_t *ret_next)
{
	struct spool_place place;
	static uint8_t frame[FRAME_MOST];
	const uint8_t *message;
	Heapcast__Batch *batch;
	size_t length;
	int64_t number;

	if (orphans_find(&h->orphans, link, index, &place) == -ENOENT)
		return -1;
	assert_int_equal(pread(place.fd, frame, place.length, place.offset), place.length);
	close(place.fd);
	assert_int_equal(frame_decode(h->decoder, frame, place.length, &message, &length, NULL), 0);
	batch = heapcast__batch__unpack(NULL, length, message);
	assert_non_null(batch);
	assert_int_equal(batch->incarnation, incarnation);
	number = (int64_t)batch->number;
	*ret_next = batch->next;
	heapcast__batch__free_unpacked(batch, NULL);
	orphans_reader(&h->orphans, link, index)->at++;
	return number;
}

/* All that the link gets of it is batches `from` to `to`. */
static void takes(struct heir *h, uint32_t link, uint32_t index, uint32_t incarnation,
		  uint64_t from, uint64_t to)
{
	uint64_t next;

	for (uint64_t n = from; n <= to; n++)
		assert_int_equal(take(h, link, index, incarnation, &next), n);
	assert_int_equal(take(h, link, index, incarnation, &next), -1);
}

static void test_delivery(void **state)
{
	static struct heir h;
	uint8_t id[STREAM_ID_SIZE] = {7}, other[STREAM_ID_SIZE] = {8};
	struct orphan *o;
	uint64_t first, next;

	(void)state;
	leave_orphan(7, 1, 300, 90);
	heir_open(&h);
	assert_int_equal(h.orphans.count, 1);
	o = &h.orphans.orphan[0];
	first = o->first[0];
	assert_true(first > 1 && first <= 91 && o->segments > 1);
	assert_int_equal(o->next, 301);
	assert_int_equal(o->pid, 4711);
	assert_int_equal(strncmp(o->executable, "/bin/left ", 10), 0);
	assert_true(orphans_is_last(&h.orphans, 0));

	assert_false(orphans_subscribe(&h.orphans, 0, other, 0, 0));
	assert_int_equal(take(&h, 0, 0, 1, &next), -1);
	assert_true(orphans_subscribe(&h.orphans, 0, id, 1, 150)); /* has all before */
	assert_true(orphans_subscribe(&h.orphans, 1, id, 0, 0));   /* has nothing */
	assert_true(orphans_pending(&h.orphans, 0, id, UINT32_MAX));
	orphans_acknowledged(&h.orphans, 0, id, 1, 300); /* of what it was not sent */
	assert_false(orphans_tick(&h.orphans, LINGER_NS, false));
	takes(&h, 0, 0, 1, 150, 300);
	assert_false(orphans_pending(&h.orphans, 0, id, UINT32_MAX));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(take(&h, 1, 0, 1, &next), 0);
		assert_int_equal(next, first);
	}
	assert_int_equal(take(&h, 1, 0, 1, &next), first);
	assert_true(orphans_subscribe(&h.orphans, 1, id, 1, 3)); /* lacks batches that are gone */
	assert_int_equal(take(&h, 1, 0, 1, &next), 0);

	orphans_acknowledged(&h.orphans, 0, id, 1, 299);
	assert_int_equal(o->acked_ns, 0);
	orphans_acknowledged(&h.orphans, 0, id, 1, 300);
	assert_false(
		orphans_tick(&h.orphans, LINGER_NS, false)); /* the other one may take the rest */
	assert_true(files() > 0);
	assert_true(orphans_tick(&h.orphans, LINGER_NS, true)); /* a stream needs the room */
	assert_int_equal(files(), 0);
	assert_true(h.folder.used < 300 * 32);
	assert_false(orphans_is_last(&h.orphans, 0));
	assert_false(orphans_subscribe(&h.orphans, 0, id, 0, 0));
	heir_close(&h);
}

/* Its files are taken away, or put out of reach. */
static void test_files_gone(void **state)
{
	static struct heir h;
	uint8_t id[STREAM_ID_SIZE] = {7};
	struct spool_place place = {.fd = -7};
	struct dirent *e;
	char path[sizeof(temporary_folder) + sizeof(e->d_name)];
	uint64_t next;
	DIR *all;

	(void)state;
	leave_orphan(7, 1, 300, 90);
	heir_open(&h);
	assert_true(orphans_subscribe(&h.orphans, 0, id, 0, 0));
	assert_int_equal(take(&h, 0, 0, 1, &next), 0);
	assert_int_equal(orphans_find(&h.orphans, 1, 0, &place), -ENOENT); /* nobody asked */
	all = opendir(temporary_folder);
	while ((e = readdir(all))) {
		snprintf(path, sizeof(path), "%s/%s", temporary_folder, e->d_name);
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lock"))
			assert_int_equal(unlink(path), 0);
	}
	closedir(all);
	assert_int_equal(orphans_find(&h.orphans, 0, 0, &place), -EIO);
	assert_int_equal(place.fd, -7);
	heir_close(&h);
}

/* One incarnation after the other, 10 behind 9; who has a later one needs none before it. */
static void test_incarnations(void **state)
{
	static struct heir h;
	uint8_t id[STREAM_ID_SIZE] = {7};
	uint64_t next;

	(void)state;
	leave_orphan(7, 10, 20, 0);
	leave_orphan(7, 9, 30, 0);
	leave_orphan(9, 1, 5, 0);
	heir_open(&h);
	assert_int_equal(h.orphans.count, 3);
	assert_false(orphans_is_last(&h.orphans, 0));
	assert_true(orphans_is_last(&h.orphans, 1));
	assert_true(orphans_subscribe(&h.orphans, 0, id, 9, 11));
	assert_int_equal(take(&h, 0, 1, 10, &next), -1); /* not yet */
	takes(&h, 0, 0, 9, 11, 30);
	takes(&h, 0, 1, 10, 1, 20);
	orphans_acknowledged(&h.orphans, 0, id, 10, 12);
	assert_false(orphans_tick(&h.orphans, LINGER_NS, false));
	assert_true(orphans_tick(&h.orphans, 0, false));
	assert_int_equal(h.orphans.orphan[0].segments, 0);
	assert_true(h.orphans.orphan[1].segments);
	assert_false(orphans_subscribe(&h.orphans, 1, id, 11, 1));
	orphans_acknowledged(&h.orphans, 1, id, 11, 1);
	assert_true(orphans_tick(&h.orphans, 0, false));
	assert_int_equal(files(), 1);
	heir_close(&h);
}

/* Breaks a byte of the n-th file of frames. */
static void damage(unsigned n, off_t at)
{
	struct spool_left *left;
	char name[SPOOL_NAME_MAX];
	int folder = open(temporary_folder, O_RDONLY | O_DIRECTORY), fd;
	uint8_t byte = 0;

	assert_true(spool_files_left(folder, &left) > (int)n);
	fd = openat(folder,
		    spool_file_name(name, left[n].stream, left[n].incarnation, left[n].first,
				    SPOOL_FRAMES),
		    O_RDWR);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
	close(folder);
	free(left);
}

/* A hole: what lies behind it begins with definitions. Another program's files, and what is no file
 * at all, are passed over. */
static void test_damage(void **state)
{
	static struct heir h;
	uint8_t id[STREAM_ID_SIZE] = {7};
	char path[200];
	uint64_t next;

	(void)state;
	leave_orphan(7, 1, 100, 0);
	leave_orphan(8, 1, 10, 0);
	damage(1, 1000);
	snprintf(path, sizeof(path), "%s/07000000000000000000000000000000-zz.frames",
		 temporary_folder);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	snprintf(path, sizeof(path), "%s/%032x.2-%016x.frames", temporary_folder, 0, 1);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	snprintf(path, sizeof(path), "%s/0b%030x-%016x.frames", temporary_folder, 0, 1);
	assert_int_equal(mkdir(path, 0700), 0);
	heir_open(&h);
	assert_int_equal(h.orphans.count, 3);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/%032x.2-%016x.frames", temporary_folder, 0, 1);
	assert_int_equal(access(path, F_OK), -1); /* nothing was in it */
	assert_true(orphans_subscribe(&h.orphans, 0, id, 0, 0));
	takes(&h, 0, 0, 1, 1, h.orphans.orphan[0].next - 1);
	assert_true(h.orphans.orphan[1].first[0] > h.orphans.orphan[0].next);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(take(&h, 0, 1, 1, &next), 0);
		assert_int_equal(next, h.orphans.orphan[1].first[0]);
	}
	takes(&h, 0, 1, 1, next, 100);
	heir_close(&h);
}

static void test_many(void **state)
{
	static struct heir h;

	(void)state;
	for (unsigned i = 0; i < ORPHANS_MAX + 2; i++)
		leave_orphan((uint8_t)(i + 1), 1, 2, 0);
	heir_open(&h);
	assert_int_equal(h.orphans.count, ORPHANS_MAX);
	for (uint32_t i = 0; i < ORPHANS_MAX; i++) {
		assert_true(orphans_subscribe(&h.orphans, 0, h.orphans.orphan[i].id, 0, 0));
		takes(&h, 0, i, 1, 1, 2);
		orphans_acknowledged(&h.orphans, 0, h.orphans.orphan[i].id, 1, 2);
	}
	assert_true(orphans_tick(&h.orphans, LINGER_NS, true));
	heir_close(&h);
	assert_int_equal(files(), 2);
	heir_open(&h);
	assert_int_equal(h.orphans.count, 2);
	heir_close(&h);
}

/* The address space of the process, in bytes. */
static uint64_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu", &pages), 1);
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The search keeps nothing of what it takes, however much that is. If the system has no such
 * memory, the files stay, for another start. */
static void test_memory(void **state)
{
	static struct heir h;
	const size_t much = 64u << 20;
	unsigned descriptors, before;
	uint64_t space;

	(void)state;
	leave_orphan(7, 1, 10, 0);
	before = files();
	heir_open(&h);
	descriptors = descriptors_open();
	for (unsigned i = 0; i < 2; i++) {
		space = address_space();
		orphans_close(&h.orphans);
		orphans_open(&h.orphans, &h.folder, LINKS, much);
		assert_int_equal(h.orphans.count, 1);
		assert_int_equal(descriptors_open(), descriptors);
	}
	assert_true(address_space() < space + much / 2);
	orphans_close(&h.orphans);
	orphans_close(&h.orphans);
	assert_int_equal(descriptors_open(), descriptors - 1);
	orphans_open(&h.orphans, &h.folder, LINKS, SIZE_MAX / 4 * 3);
	assert_int_equal(h.orphans.count, 0);
	assert_int_equal(h.orphans.index, -1);
	assert_int_equal(orphans_memory(&h.orphans), 0);
	assert_int_equal(descriptors_open(), descriptors - 1);
	assert_int_equal(files(), before);
	heir_close(&h);
	heir_open(&h);
	assert_int_equal(h.orphans.count, 1);
	assert_int_equal(orphans_memory(&h.orphans),
			 sizeof(*h.orphans.orphan) + LINKS * sizeof(*h.orphans.reader));
	heir_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_delivery),	   TEST_IN_FOLDER(test_files_gone),
		TEST_IN_FOLDER(test_incarnations), TEST_IN_FOLDER(test_damage),
		TEST_IN_FOLDER(test_many),	   TEST_IN_FOLDER(test_memory)};

	log_open("off", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
