/* Mappings out of the kernel's text: as kernels write it, as they never should, at every length of
 * a read, and of processes that end meanwhile. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/proc/file.h"
#include "base/proc/maps.h"

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

static struct proc_maps reader;

static unsigned read_all(int fd, struct proc_mapping *out, char names[][PROC_PATH_MAX + 1],
			 unsigned most)
{
	unsigned count = 0;
	struct proc_mapping r;

	proc_maps_begin(&reader, fd);
	while (proc_maps_next(&reader, &r) == 1) {
		assert_true(r.start < r.end && r.path[r.path_length] == '\0');
		if (count < most) {
			out[count] = r;
			snprintf(names[count], PROC_PATH_MAX + 1, "%s", r.path);
		}
		count++;
	}
	return count;
}

static void check_sample(int fd)
{
	static char names[5][PROC_PATH_MAX + 1];
	struct proc_mapping r[5];

	assert_int_equal(read_all(fd, r, names, 5), 5);
	assert_int_equal(reader.damaged, 0);
	assert_int_equal(r[0].start, 0x55e2f4a00000);
	assert_int_equal(r[0].end, 0x55e2f4a02000);
	assert_int_equal(r[0].permissions, PROC_READABLE);
	assert_int_equal(r[0].major, 0xfe);
	assert_int_equal(r[0].minor, 1);
	assert_int_equal(r[0].inode, 131122);
	assert_string_equal(names[0], "/usr/bin/cat");
	assert_int_equal(r[0].figure[PROC_RSS], 8);
	assert_int_equal(r[0].figure[PROC_PSS], 4);
	assert_int_equal(r[0].figure[PROC_SHARED_CLEAN], 6);
	assert_int_equal(r[0].figure[PROC_PRIVATE_CLEAN], 2);
	assert_int_equal(r[0].figure[PROC_PRIVATE_DIRTY], 0);
	assert_string_equal(names[1], "[heap]");
	assert_int_equal(r[1].figure[PROC_SWAP], 4);
	assert_int_equal(r[1].figure[PROC_ANONYMOUS], 16);
	assert_int_equal(r[1].figure[PROC_PRIVATE_DIRTY], 12);
	assert_string_equal(names[2], "/memfd:two\nlines (deleted)");
	assert_int_equal(r[2].permissions, PROC_READABLE | PROC_WRITABLE | PROC_EXECUTABLE |
						   PROC_SHARED | PROC_DELETED);
	assert_int_equal(r[2].offset, 0xa000);
	assert_string_equal(names[3], "");
	assert_int_equal(r[3].permissions, 0);
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
		"1000-2000 r--p_0 0:0 0 \n",
		"1000-2000 r--p 0 g:0 0 \n",
		"1000-2000 r--p 0 0:g 0 \n",
		"1000-2000 r--p 0 0:0 a \n",
		"-2000 r--p 0 0:0 0 \n",
		"\n",
		"zzz\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		static char names[2][PROC_PATH_MAX + 1];
		struct proc_mapping r[2];
		char text[512];
		int n = snprintf(
			text, sizeof(text),
			"%sRss: 4 kB\n3000-4000 rw-p 0 0:0 0 [ok]\nRss: 4 kB\nPss: x kB\nSwap: 3\n",
			heads[i]);
		int fd = text_file(text, (size_t)n);

		assert_int_equal(read_all(fd, r, names, 2), 1);
		assert_string_equal(names[0], "[ok]");
		assert_int_equal(r[0].figure[PROC_RSS], 4);
		assert_int_equal(r[0].figure[PROC_SWAP], 0);
		assert_true(reader.damaged >= 2);
		close(fd);
	}
}

/* Longer than the reader's buffer: the name is cut, and what follows is right. */
static void test_long_names(void **state)
{
	static char text[40000], name[30000], names[2][PROC_PATH_MAX + 1];

	(void)state;
	for (size_t length = 900; length < 30000; length += 457) {
		struct proc_mapping r[2];
		int n, fd;

		memset(name, 'x', length);
		n = snprintf(text, sizeof(text),
			     "1000-2000 r--p 0 0:0 1 /%.*s\nRss: 4 kB\n2000-3000 r--p 0 0:0 1 "
			     "/b\nRss: 8 kB\n",
			     (int)length, name);
		fd = text_file(text, (size_t)n);

		assert_int_equal(read_all(fd, r, names, 2), 2);
		assert_int_equal(r[0].path_length,
				 length + 1 < PROC_PATH_MAX ? length + 1 : PROC_PATH_MAX);
		assert_int_equal(r[0].figure[PROC_RSS], 4);
		assert_string_equal(names[1], "/b");
		assert_int_equal(r[1].figure[PROC_RSS], 8);
		close(fd);
	}
}

/* Blanks, newlines, and an end that only looks like that of a deleted file. */
static void test_paths(void **state)
{
	static const struct {
		const char *written, *path;
		bool deleted;
	} cases[] = {
		{"/with a  blank ", "/with a  blank ", false},
		{"/one\\012two\\012", "/one\ntwo\n", false},
		{"/back\\slash\\01", "/back\\slash\\01", false},
		{"/gone (deleted)", "/gone (deleted)", true},
		{"/gone (deleted) ", "/gone (deleted) ", false},
		{"[heap] (deleted)", "[heap] (deleted)", false},
		{"(deleted)", "(deleted)", false},
		{"/Rss:                 4 kB", "/Rss:                 4 kB", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct proc_mapping r[1];
		static char names[1][PROC_PATH_MAX + 1];
		char text[256];
		int n = snprintf(text, sizeof(text), "1000-2000 r--p 0 0:0 1    %s\n",
				 cases[i].written);
		int fd = text_file(text, (size_t)n);

		assert_int_equal(read_all(fd, r, names, 1), 1);
		assert_string_equal(names[0], cases[i].path);
		assert_int_equal(r[0].path_length, strlen(cases[i].path));
		assert_int_equal(r[0].permissions & PROC_DELETED,
				 cases[i].deleted ? PROC_DELETED : 0);
		close(fd);
	}
}

/* Wherever the file ends, the whole mappings before are right. */
static void test_truncated(void **state)
{
	static char names[5][PROC_PATH_MAX + 1];

	(void)state;
	for (size_t length = 0; length < sizeof(sample); length++) {
		const char *second = strstr(sample, "55e315c5c000");
		struct proc_mapping r[5] = {0};
		int fd = text_file(sample, length);
		unsigned count = read_all(fd, r, names, 5);

		assert_true(count <= 5);
		if (!length)
			assert_int_equal(count, 0);
		if (length < (size_t)(second - sample)) {
			assert_true(count <= 1);
		} else {
			assert_int_equal(r[0].figure[PROC_RSS], 8);
			assert_int_equal(r[0].figure[PROC_PRIVATE_CLEAN], 2);
			assert_string_equal(names[0], "/usr/bin/cat");
		}
		close(fd);
	}
}

static void test_error(void **state)
{
	int folder = proc_open_file(-1, "/proc");
	struct proc_mapping r;

	(void)state;
	assert_true(folder >= 0);
	proc_maps_begin(&reader, folder);
	assert_true(proc_maps_next(&reader, &r) < 0); /* a folder can't be read */
	close(folder);
}

/* What this process is told of itself must be sound. */
static void test_self(void **state)
{
	static const char *const files[] = {"maps", "smaps"};
	int proc = proc_open(getpid());

	(void)state;
	assert_true(proc >= 0);
	for (unsigned i = 0; i < 2; i++) {
		int fd = proc_open_file(proc, files[i]);
		uint64_t last = 0, own = (uintptr_t)&reader;
		unsigned count = 0, found = 0;
		struct proc_mapping r;

		if (fd == -ENOENT)
			continue; /* a kernel without smaps */
		assert_true(fd >= 0);
		proc_maps_begin(&reader, fd);
		for (; proc_maps_next(&reader, &r) == 1; count++) {
			assert_true(r.start >= last);
			last = r.end;
			if (own < r.start || own >= r.end)
				continue;
			found++;
			assert_int_equal(r.permissions & ~PROC_EXECUTABLE,
					 PROC_READABLE | PROC_WRITABLE);
			assert_true(!i || r.figure[PROC_RSS]);
		}
		assert_int_equal(reader.damaged, 0);
		assert_int_equal(found, 1);
		assert_true(count > 10);
		close(fd);
	}
	close(proc);
}

static void test_find(void **state)
{
	uint64_t own = (uintptr_t)&reader, next;
	int proc = proc_open(getpid());
	struct proc_mapping r = {0};

	(void)state;
	assert_true(proc_maps_find(proc, own, &r));
	assert_true(r.start <= own && own < r.end);
	assert_int_equal(r.permissions & ~PROC_EXECUTABLE, PROC_READABLE | PROC_WRITABLE);
	assert_string_equal(r.path, "");
	assert_int_equal(r.path_length, 0);
	own = r.start;
	next = r.end;
	assert_true(proc_maps_find(proc, own, &r)); /* its first byte, and its last */
	assert_int_equal(r.start, own);
	assert_true(proc_maps_find(proc, next - 1, &r));
	assert_int_equal(r.start, own);
	if (proc_maps_find(proc, next, &r))
		assert_int_equal(r.start, next);
	assert_false(proc_maps_find(proc, 1, &r));
	close(proc);
	assert_false(proc_maps_find(-1, own, &r));
}

static pid_t start_child(unsigned mappings)
{
	int pipes[2];
	char ready;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		for (unsigned i = 0; i < mappings; i++)
			if (mmap(NULL, 65536, i % 2 ? PROT_READ : PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
				_exit(1);
		if (write(pipes[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(pipes[0], &ready, 1), 1);
	close(pipes[0]);
	close(pipes[1]);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* It ends after some of its mappings were read: the file ends early, and no other process's files
 * can be opened in its folder. The kernel prepares a page of text at a time. */
static void test_ends_meanwhile(void **state)
{
	const unsigned mappings = 500 * (unsigned)(sysconf(_SC_PAGESIZE) / 4096);

	(void)state;
	for (unsigned most = 0; most < 400; most += 133) {
		pid_t child = start_child(mappings);
		int proc = proc_open(child), fd = proc_open_file(proc, "maps");
		struct proc_mapping r;
		unsigned count = 0;
		int result;

		assert_true(proc >= 0 && fd >= 0);
		proc_maps_begin(&reader, fd);
		while (count < most && proc_maps_next(&reader, &r) == 1)
			count++;
		assert_int_equal(count, most);
		end_child(child);
		while ((result = proc_maps_next(&reader, &r)) == 1)
			count++;
		assert_true(result == 0 || result == -ESRCH);
		assert_true(count < mappings);
		close(fd);
		fd = proc_open_file(proc, "maps");
		assert_true(fd == -ENOENT || fd == -ESRCH);
		assert_int_equal(proc_open(child), -ESRCH);
		close(proc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),	cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_paths),	cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_error),	cmocka_unit_test(test_self),
		cmocka_unit_test(test_find),	cmocka_unit_test(test_ends_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
