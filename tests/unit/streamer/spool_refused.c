/* The spool's part on disk where the disk, the limit or the definitions give no room: what was put
 * stays, nothing is left of what was not, the account is right, and it is told once. */
#include "tests/unit/streamer/harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "agent/core/clock.h"
#include "agent/spool/spool_files.h"
#include "base/log.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define LIMIT	UINT64_C(1000000)
#define SECOND	UINT64_C(1000000000)
#define SEGMENT (LIMIT / 16)
/* What is charged for a frame beside its bytes: its entry of the index. */
#define ENTRY (2 * sizeof(uint64_t) + sizeof(struct spool_account))

static const uint8_t id[STREAM_ID_SIZE] = {0xab, 0xcd};
static uint8_t data[SEGMENT];
static struct spool_folder folder;
static struct spool_disk disk;
static char log_file[128];
static unsigned descriptors;
static long defined; /* what define returns, and writes */

static long define(void *context, int fd, uint64_t next, const struct spool_account *before)
{
	assert_ptr_equal(context, &disk);
	assert_int_equal(before->events, (next - 1) * 10);
	if (defined > 0)
		assert_int_equal(spool_file_write(fd, data, (size_t)defined, 0), 0);
	return defined;
}

static int setup(void **state)
{
	if (temporary_setup(state))
		return -1;
	snprintf(log_file, sizeof(log_file), "%s/.log", temporary_folder);
	assert_int_equal(log_open("info", log_file), 0);
	descriptors = descriptors_open();
	assert_int_equal(spool_folder_open(&folder, temporary_folder, LIMIT), 0);
	folder.retry_ns = 0;
	folder.full_told = folder.error_told = folder.wanted = false;
	disk = (struct spool_disk){
		.folder = &folder, .id = id, .incarnation = 1, .define = define, .context = &disk};
	defined = 50;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	return 0;
}

static int teardown(void **state)
{
	spool_disk_clear(&disk);
	assert_int_equal(folder.used, 0);
	spool_folder_close(&folder);
	assert_int_equal(descriptors_open(), descriptors);
	log_open("error", NULL);
	return temporary_teardown(state);
}

static unsigned logged(const char *text)
{
	static char all[32768];
	int fd = open(log_file, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, all, sizeof(all) - 1);
	unsigned number = 0;

	close(fd);
	all[n > 0 ? n : 0] = '\0';
	for (const char *at = all; (at = strstr(at, text)); at++)
		number++;
	return number;
}

static struct spool_account account_of(uint64_t number)
{
	return (struct spool_account){.events = number * 10, .nodes = (uint32_t)number};
}

static int put(uint64_t number, size_t length)
{
	const struct spool_account before = account_of(number - 1), account = account_of(number);

	return spool_disk_put(&disk, number, data, length, &before, &account);
}

static void check(uint64_t number, size_t length)
{
	static uint8_t got[SEGMENT];
	struct spool_account account;
	off_t offset;
	size_t size;
	int fd;

	assert_int_equal(spool_disk_find(&disk, number, &fd, &offset, &size, &account), 0);
	assert_int_equal(size, length);
	assert_int_equal(account.events, number * 10);
	assert_int_equal(account.nodes, number);
	assert_int_equal(pread(fd, got, size, offset), size);
	assert_memory_equal(got, data, size);
}

/* Files of the stream, and their bytes. */
static unsigned files(uint64_t *ret_bytes)
{
	DIR *all = opendir(temporary_folder);
	struct dirent *e;
	unsigned number = 0;
	struct stat st;

	*ret_bytes = 0;
	while ((e = readdir(all)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lock")) {
			assert_int_equal(fstatat(dirfd(all), e->d_name, &st, 0), 0);
			*ret_bytes += (uint64_t)st.st_size;
			number++;
		}
	closedir(all);
	return number;
}

/* ---- the limit ---- */

static void limit_is_kept(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_int_equal(put(1, 1000), 0);
	assert_int_equal(folder.used, 1000 + ENTRY);
	assert_int_equal(put(2, 2000), 0);
	assert_int_equal(disk.count, 1);
	folder.used = LIMIT - 3000 - ENTRY + 1; /* others have this */
	assert_int_equal(put(3, 3000), -ENOSPC);
	assert_int_equal(folder.used, LIMIT - 3000 - ENTRY + 1);
	assert_int_equal(logged("is full"), 1);
	assert_int_equal(put(3, 3000), -ENOSPC);
	assert_int_equal(logged("is full"), 1); /* once */
	assert_int_equal(folder.retry_ns, 0);	/* it is no error of the disk */
	folder.used--;
	assert_int_equal(put(3, 3000), 0);
	assert_int_equal(folder.used, LIMIT);
	assert_int_equal(files(&bytes), 1);
	assert_int_equal(bytes, 6000);
	check(1, 1000);
	check(2, 2000);
	check(3, 3000);
	assert_int_equal(disk.segment[0].charged, 6000 + 3 * ENTRY);
	folder.used = disk.segment[0].charged;
}

/* It is told again after half of the limit was free. */
static void limit_is_told_again(void **state)
{
	struct spool_account gone;

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		uint64_t number = 10 * round + 1, others;

		assert_int_equal(put(number, SEGMENT), 0);
		assert_int_equal(put(number + 1, SEGMENT), 0);
		others = LIMIT - folder.used;
		folder.used = LIMIT;
		assert_int_equal(put(number + 2, 1), -ENOSPC);
		assert_int_equal(logged("is full"), round < 2 ? 1 : 2);
		assert_true(folder.full_told);
		spool_disk_drop(&disk, &gone);
		spool_disk_drop(&disk, &gone);
		assert_int_equal(gone.events, 10 * (number + 1));
		assert_int_equal(folder.used, others);
		assert_true(folder.full_told);
		/* in the first round half is used, in the others one byte less */
		assert_int_equal(put(number + 3, 1), 0);
		folder.used -= others;
		folder.used += LIMIT / 2 - (round > 0);
		spool_disk_drop(&disk, &gone);
		assert_int_equal(folder.used, LIMIT / 2 - (round > 0));
		assert_int_equal(folder.full_told, round == 0);
		folder.used = 0;
		disk.begin = 0;
	}
}

/* A segment is a sixteenth of the limit, and one that got no frame is not there. */
static void segments_begin(void **state)
{
	struct spool_account gone;
	uint64_t bytes, begun, before = now();

	(void)state;
	assert_int_equal(spool_disk_first(&disk), 0);
	assert_int_equal(spool_disk_oldest(&disk, &begun), 0);
	assert_int_equal(begun, 0);
	assert_int_equal(put(5, SEGMENT - 1), 0);
	assert_int_equal(put(6, 1), 0);
	assert_int_equal(disk.count, 1);
	assert_int_equal(put(7, 1), 0);
	assert_int_equal(disk.count, 2);
	assert_int_equal(files(&bytes), 4);
	assert_int_equal(bytes, SEGMENT + 1 + 2 * 50);
	assert_int_equal(folder.used, bytes + 3 * ENTRY);
	check(5, SEGMENT - 1);
	check(6, 1);
	check(7, 1);
	assert_int_equal(spool_disk_first(&disk), 5);
	assert_int_equal(spool_disk_oldest(&disk, &begun), 6);
	assert_in_range(begun, before, now());

	/* Without room for a frame, or its definitions. */
	assert_int_equal(put(8, SEGMENT), 0);
	bytes = folder.used;
	folder.used = LIMIT - 50;
	assert_int_equal(put(9, 1), -ENOSPC);
	assert_int_equal(folder.used, LIMIT - 50);
	folder.used = LIMIT - 49;
	assert_int_equal(put(9, 1), -ENOSPC);
	assert_int_equal(folder.used, LIMIT - 49);
	folder.used = bytes;
	assert_int_equal(disk.count, 2);
	assert_int_equal(files(&bytes), 4);
	assert_int_equal(folder.retry_ns, 0);

	assert_false(spool_disk_ack(&disk, 5, &gone));
	assert_true(spool_disk_ack(&disk, 6, &gone));
	assert_int_equal(gone.events, 60);
	assert_int_equal(disk.count, 1);
	assert_int_equal(files(&bytes), 2);
	assert_int_equal(spool_disk_first(&disk), 7);
	check(8, SEGMENT);
	assert_true(spool_disk_ack(&disk, 8, &gone));
	assert_int_equal(gone.events, 80);
	assert_int_equal(files(&bytes), 0);
	assert_int_equal(folder.used, 0);
}

/* A stream has 24 segments, whatever the limit is by then. */
static void segments_are_bounded(void **state)
{
	(void)state;
	defined = 0;
	for (uint64_t number = 1; number <= SPOOL_SEGMENTS; number++) {
		assert_int_equal(put(number, SEGMENT), 0);
		folder.used = 0;
	}
	assert_int_equal(put(SPOOL_SEGMENTS + 1, 1), -ENOSPC);
	assert_int_equal(folder.retry_ns, 0);
	assert_int_equal(disk.count, SPOOL_SEGMENTS);
	for (uint64_t number = 1; number <= SPOOL_SEGMENTS; number++)
		check(number, SEGMENT);
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++)
		folder.used += disk.segment[i].charged;
}

/* ---- errors of the disk ---- */

static void refused(uint64_t number, uint64_t used, unsigned told)
{
	uint64_t before = now();

	assert_int_equal(put(number, 1000), -ENOSPC);
	assert_int_equal(folder.used, used);
	assert_in_range(folder.retry_ns, before + 5 * SECOND, now() + 5 * SECOND);
	assert_int_equal(logged("trying again every 5 s"), told);
	folder.wanted = false;
	spool_disk_want(&disk); /* others can't help */
	assert_false(folder.wanted);
}

/* A disk that takes only the beginning of a frame. It is tried again after a while. */
static void disk_is_full(void **state)
{
	struct rlimit whole, little;
	uint64_t used, bytes;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
	little = (struct rlimit){.rlim_cur = 2500, .rlim_max = whole.rlim_max};
	assert_int_equal(put(1, 1000), 0);
	assert_int_equal(put(2, 1000), 0);
	used = folder.used;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	refused(3, used, 1);
	assert_int_equal(files(&bytes), 1);
	assert_int_equal(bytes, 2000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
	assert_int_equal(put(3, 1000), -ENOSPC); /* not yet */
	folder.retry_ns = now() + SECOND;
	assert_int_equal(put(3, 1000), -ENOSPC);
	folder.retry_ns = now();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	refused(3, used, 1); /* told once */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
	folder.retry_ns = now();
	spool_disk_want(&disk);
	assert_true(folder.wanted);
	assert_int_equal(put(3, 1000), 0);
	check(1, 1000);
	check(2, 1000);
	check(3, 1000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	folder.retry_ns = 0;
	refused(4, used + 1000 + ENTRY, 2); /* another time */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
}

/* The index can't be written: of the frame nothing stays, either. */
static void index_is_full(void **state)
{
	int own, bad = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uint64_t used, bytes;
	struct spool_account account;
	off_t offset;
	size_t size;
	int fd;

	(void)state;
	assert_int_equal(put(1, 1000), 0);
	used = folder.used;
	own = disk.segment[0].index;
	disk.segment[0].index = bad;
	refused(2, used, 1);
	assert_int_equal(files(&bytes), 1);
	assert_int_equal(bytes, 1000);
	assert_int_equal(disk.segment[0].charged, used);
	assert_int_equal(spool_disk_find(&disk, 1, &fd, &offset, &size, &account), -EIO);
	disk.segment[0].index = own;
	close(bad);
	folder.retry_ns = 0;
	assert_int_equal(put(2, 500), 0);
	check(1, 1000);
	check(2, 500);
	assert_int_equal(spool_disk_find(&disk, 3, &fd, &offset, &size, &account), -ENOENT);
	assert_int_equal(spool_disk_find(&disk, 0, &fd, &offset, &size, &account), -ENOENT);
}

/* Without definitions a segment is of no use. */
static void definitions_fail(void **state)
{
	uint64_t bytes;

	(void)state;
	defined = -EIO;
	refused(5, 0, 1);
	assert_int_equal(logged("Input/output error"), 1);
	assert_int_equal(files(&bytes), 0);
	assert_int_equal(disk.count, 0);
	folder.retry_ns = 0;
	assert_int_equal(put(1, 1000), 0); /* the first batch has its own */
	assert_int_equal(files(&bytes), 1);
	assert_int_equal(bytes, 1000);
}

/* The folder has gone. */
static void folder_is_gone(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_int_equal(unlinkat(folder.fd, "lock", 0), 0);
	assert_int_equal(unlink(log_file), 0);
	assert_int_equal(rmdir(temporary_folder), 0);
	assert_int_equal(put(1, 1000), -ENOSPC);
	assert_true(folder.retry_ns > now());
	assert_int_equal(folder.used, 0);
	assert_int_equal(disk.count, 0);
	assert_int_equal(mkdir(temporary_folder, 0700), 0);
	assert_int_equal(files(&bytes), 0);
}

/* Without a folder nothing is put, and nobody asked. */
static void no_folder(void **state)
{
	(void)state;
	disk.folder = NULL;
	assert_int_equal(put(1, 1000), -ENOSPC);
	spool_disk_want(&disk);
	disk.folder = &folder;
	assert_false(folder.wanted);
	spool_folder_close(&folder);
	assert_int_equal(put(1, 1000), -ENOSPC);
	assert_int_equal(folder.retry_ns, 0);
}

/* What is left stays, and takes no descriptors. */
static void left(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_int_equal(put(1, SEGMENT), 0);
	assert_int_equal(put(2, 1), 0);
	assert_int_equal(descriptors_open(), descriptors + 2 + 4);
	spool_disk_leave(&disk);
	assert_int_equal(descriptors_open(), descriptors + 2); /* those of the folder */
	assert_int_equal(disk.count, 0);
	assert_int_equal(files(&bytes), 3);
	assert_int_equal(bytes, SEGMENT + 1 + 50);
	folder.used = 0; /* as of the next agent, in another folder */
}

/* The folder is its owner's alone; one that another agent has is not kept open. */
static void folders(void **state)
{
	struct spool_folder own = {0}, second = {0};
	unsigned before = descriptors_open();
	char path[128];
	struct stat st;
	mode_t mask = umask(0);

	(void)state;
	snprintf(path, sizeof(path), "%s/new", temporary_folder);
	assert_int_equal(spool_folder_open(&own, path, LIMIT), 0);
	umask(mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_string_equal(own.path, path);
	assert_int_equal(own.limit, LIMIT);
	assert_int_equal(descriptors_open(), before + 2);
	assert_int_equal(spool_folder_open(&second, path, LIMIT), -EBUSY);
	assert_int_equal(descriptors_open(), before + 2);
	assert_int_equal(second.fd, -1);
	assert_int_equal(second.lock, -1);
	assert_int_equal(logged("another agent spools there"), 1);
	spool_folder_close(&own);
	assert_int_equal(descriptors_open(), before);
	assert_int_equal(logged("can't spool to"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(limit_is_kept),
		TEST(limit_is_told_again),
		TEST(segments_begin),
		TEST(segments_are_bounded),
		TEST(disk_is_full),
		TEST(index_is_full),
		TEST(definitions_fail),
		TEST(folder_is_gone),
		TEST(no_folder),
		TEST(folders),
		TEST(left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
