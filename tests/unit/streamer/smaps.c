/* Regions out of the kernel's text: as kernels write it, as they never should, and at every length
 * of a read. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/watch/figures.h"
#include "agent/watch/smaps.h"
#include "heapcast.pb-c.h"

/* Linux 6.18, x86_64; keys that nobody asks for are partly left out. */
static const char sample[] =
	"55e2f4a00000-55e2f4a02000 r--p 00000000 fe:01 131122                     /usr/bin/cat\n"
	"Size:                  8 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n"
	"Rss:                   8 kB\nPss:                   4 kB\nPss_Dirty:             1 kB\n"
	"Shared_Clean:          6 kB\nShared_Dirty:          0 kB\nPrivate_Clean:         2 kB\n"
	"Private_Dirty:         0 kB\nReferenced:            8 kB\nAnonymous:             0 kB\n"
	"KSM:                   0 kB\nLazyFree:              0 kB\nAnonHugePages:         0 kB\n"
	"Shared_Hugetlb:        0 kB\nSwap:                  0 kB\nSwapPss:               0 kB\n"
	"Locked:                0 kB\nTHPeligible:           0\nProtectionKey:         0\n"
	"VmFlags: rd mr mw me sd \n"
	"55e315c5c000-55e315c7d000 rw-p 00000000 00:00 0                          [heap]\n"
	"Rss:                  16 kB\nPss:                  16 kB\nPrivate_Dirty:        12 kB\n"
	"Anonymous:            16 kB\nSwap:                  4 kB\nSwapPss:               9 kB\n"
	"VmFlags: rd wr mr mw me ac sd \n"
	"7f0000000000-7f0000010000 rwxs 0000a000 00:1e 4242                       "
	"/memfd:two\\012lines (deleted)\n"
	"Rss:                   0 kB\n"
	"7f1000000000-7f1000001000 ---p 00000000 00:00 0 \n"
	"VmFlags: mr mw me sd \n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
	"Size:                  4 kB\nRss:                   0 kB\nVmFlags: ex \n";

static int text_file(const char *text, size_t length)
{
	int fd = memfd_create("smaps", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), (ssize_t)length);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static struct smaps reader;

static unsigned read_all(int fd, struct smaps_region *out, char names[][SMAPS_NAME_MAX + 1],
			 unsigned most)
{
	unsigned count = 0;
	struct smaps_region r;

	smaps_begin(&reader, fd);
	while (smaps_next(&reader, &r) == 1) {
		assert_true(r.start < r.end && r.name[r.name_length] == '\0');
		if (count < most) {
			out[count] = r;
			snprintf(names[count], SMAPS_NAME_MAX + 1, "%s", r.name);
		}
		count++;
	}
	return count;
}

static void check_sample(int fd)
{
	static char names[5][SMAPS_NAME_MAX + 1];
	struct smaps_region r[5];

	assert_int_equal(read_all(fd, r, names, 5), 5);
	assert_int_equal(reader.damaged, 0);
	assert_int_equal(r[0].start, 0x55e2f4a00000);
	assert_int_equal(r[0].end, 0x55e2f4a02000);
	assert_int_equal(r[0].flags, HEAPCAST__MAP_FLAG__MAP_READABLE);
	assert_int_equal(r[0].major, 0xfe);
	assert_int_equal(r[0].minor, 1);
	assert_int_equal(r[0].inode, 131122);
	assert_string_equal(names[0], "/usr/bin/cat");
	assert_int_equal(r[0].figure[SMAPS_RSS], 8);
	assert_int_equal(r[0].figure[SMAPS_PSS], 4);
	assert_int_equal(r[0].figure[SMAPS_SHARED_CLEAN], 6);
	assert_int_equal(r[0].figure[SMAPS_PRIVATE_CLEAN], 2);
	assert_int_equal(r[0].figure[SMAPS_PRIVATE_DIRTY], 0);
	assert_string_equal(names[1], "[heap]");
	assert_int_equal(r[1].figure[SMAPS_SWAP], 4);
	assert_int_equal(r[1].figure[SMAPS_ANONYMOUS], 16);
	assert_int_equal(r[1].figure[SMAPS_PRIVATE_DIRTY], 12);
	assert_string_equal(names[2], "/memfd:two\nlines (deleted)");
	assert_int_equal(r[2].flags,
			 HEAPCAST__MAP_FLAG__MAP_READABLE | HEAPCAST__MAP_FLAG__MAP_WRITABLE |
				 HEAPCAST__MAP_FLAG__MAP_EXECUTABLE |
				 HEAPCAST__MAP_FLAG__MAP_SHARED | HEAPCAST__MAP_FLAG__MAP_DELETED);
	assert_int_equal(r[2].offset, 0xa000);
	assert_string_equal(names[3], "");
	assert_int_equal(r[3].flags, 0);
	assert_int_equal(r[4].start, 0xffffffffff600000);
	assert_string_equal(names[4], "[vsyscall]");
}

static void test_sample(void **state)
{
	int fd = text_file(sample, sizeof(sample) - 1);

	(void)state;
	check_sample(fd);
	close(fd);
}

/* Each read ends where the writer of a pipe has stopped. */
static void test_pieces(void **state)
{
	size_t length = sizeof(sample) - 1;

	(void)state;
	for (size_t piece = 1; piece < length; piece += piece < 16 ? 5 : 97) {
		int pipes[2];
		pid_t writer;

		assert_int_equal(pipe(pipes), 0);
		writer = fork();
		if (!writer) {
			for (size_t at = 0; at < length; at += piece) {
				size_t n = length - at < piece ? length - at : piece;

				if (write(pipes[1], sample + at, n) != (ssize_t)n)
					_exit(1);
				sched_yield();
			}
			_exit(0);
		}
		close(pipes[1]);
		check_sample(pipes[0]);
		close(pipes[0]);
		assert_int_equal(waitpid(writer, NULL, 0), writer);
	}
}

static void test_damaged(void **state)
{
	static const char *const heads[] = {
		"55e2f4a00000 r--p 00000000 fe:01 1 /x\n",
		"55e2f4a02000-55e2f4a00000 r--p 00000000 fe:01 1 /x\n", /* ends before it starts */
		"1000-1000 r--p 00000000 fe:01 1 /x\n",
		"11111111111111111-22222222222222222 r--p 0 0:0 1 \n", /* 68 bits */
		"1000-2000 r--p 00000000 fe:01\n",
		"1000-2000 r--p\n",
		"1000-2000 r- 0 0:0 0 \n",
		"-2000 r--p 0 0:0 0 \n",
		"\n",
		"zzz\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		static char names[2][SMAPS_NAME_MAX + 1];
		struct smaps_region r[2];
		char text[512];
		int n = snprintf(
			text, sizeof(text),
			"%sRss: 4 kB\n3000-4000 rw-p 0 0:0 0 [ok]\nRss: 4 kB\nPss: x kB\nSwap: 3\n",
			heads[i]);
		int fd = text_file(text, (size_t)n);

		assert_int_equal(read_all(fd, r, names, 2), 1);
		assert_string_equal(names[0], "[ok]");
		assert_int_equal(r[0].figure[SMAPS_RSS], 4);
		assert_int_equal(r[0].figure[SMAPS_SWAP], 0);
		assert_true(reader.damaged >= 2);
		close(fd);
	}
}

/* Longer than the reader's buffer: the name is cut, and what follows is right. */
static void test_long_names(void **state)
{
	static char text[40000], name[30000], names[2][SMAPS_NAME_MAX + 1];

	(void)state;
	for (size_t length = 900; length < 30000; length += 577) {
		struct smaps_region r[2];
		int n, fd;

		memset(name, 'x', length);
		n = snprintf(text, sizeof(text),
			     "1000-2000 r--p 0 0:0 1 /%.*s\nRss: 4 kB\n2000-3000 r--p 0 0:0 1 "
			     "/b\nRss: 8 kB\n",
			     (int)length, name);
		fd = text_file(text, (size_t)n);

		assert_int_equal(read_all(fd, r, names, 2), 2);
		assert_int_equal(r[0].name_length,
				 length + 1 < SMAPS_NAME_MAX ? length + 1 : SMAPS_NAME_MAX);
		assert_int_equal(r[0].figure[SMAPS_RSS], 4);
		assert_string_equal(names[1], "/b");
		assert_int_equal(r[1].figure[SMAPS_RSS], 8);
		close(fd);
	}
}

/* What this process is told of itself must be sound, and the file of sums must be their sum. */
static void test_self(void **state)
{
	int proc = figures_open(getpid()), fd;
	uint64_t rss = 0, anonymous = 0, last = 0, start = 0;
	unsigned count = 0;
	struct figures_image image;
	struct smaps_region r;
	struct figures f;
	/* The kernel counts them later (Linux before 6.2). */
	size_t fresh = 40 * (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, fresh, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(memory != MAP_FAILED);
	memset(memory, 1, fresh);
	assert_true(proc >= 0);
	fd = figures_open_maps(proc);
	assert_true(fd >= 0);
	smaps_begin(&reader, fd);
	for (; smaps_next(&reader, &r) == 1; count++) {
		assert_true(r.start >= last);
		last = r.end;
		rss += r.figure[SMAPS_RSS];
		anonymous += r.figure[SMAPS_ANONYMOUS];
	}
	assert_int_equal(reader.damaged, 0);
	assert_true(count > 10);
	close(fd);
	assert_int_equal(figures_read(proc, &f, &image, &start), 0);
	assert_true(start && image.stack && f.minor_faults && f.address_space > f.rss &&
		    f.rss_peak >= f.rss);
	if (figures_detail(proc, &reader, &f) == 0) {
		assert_true(f.detailed && f.pss <= f.rss && f.dirty + f.clean == f.rss);
		assert_in_range(f.rss / 1024, rss > 256 ? rss - 256 : 0, rss + 256);
		assert_in_range(f.anonymous / 1024, anonymous,
				anonymous + 128); /* the stack may have grown */
	}
	munmap(memory, fresh);
	close(proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),	cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
