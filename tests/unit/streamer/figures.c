/* Figures of processes: of this one, and of one that ends. */
#include "agent/watch/figures.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/proc/file.h"
#include "base/proc/maps.h"
#include "tests/unit/temporary.h"

/* What this process is told of itself must be sound, and the file of sums must be their sum. */
static void test_self(void **state)
{
	static struct proc_maps reader;
	int proc = proc_open(getpid()), fd;
	uint64_t rss = 0, anonymous = 0, last = 0, start = 0;
	unsigned count = 0;
	struct figures_image image;
	struct proc_mapping r;
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
	proc_maps_begin(&reader, fd);
	for (; proc_maps_next(&reader, &r) == 1; count++) {
		assert_true(r.start >= last);
		last = r.end;
		rss += r.figure[PROC_RSS];
		anonymous += r.figure[PROC_ANONYMOUS];
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

static void wait_until_dead(pid_t child)
{
	siginfo_t info;

	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

/* A zombie has no memory, and nothing at all is left of a process that was waited for. */
static void test_ended(void **state)
{
	static struct proc_maps reader;
	pid_t child = fork();
	int proc = proc_open(child);
	struct figures_image image;
	struct figures f;

	(void)state;
	if (!child) {
		pause();
		_exit(1);
	}
	assert_true(proc >= 0);
	assert_int_equal(figures_read(proc, &f, &image, NULL), 0);
	wait_until_dead(child);
	assert_int_equal(figures_read(proc, &f, &image, NULL), -ESRCH);
	assert_true(figures_detail(proc, &reader, &f) < 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(figures_read(proc, &f, &image, NULL), -ESRCH);
	assert_true(figures_open_maps(proc) < 0);
	close(proc);
}

/* ---- as kernels write it, in a folder in place of /proc/PID ---- */

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", temporary_folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int open_folder(void)
{
	int fd = open(temporary_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* The field with the number n has the value 1000 + n. */
static void put_stat(void)
{
	char text[1000] = "1 (a name) S";

	for (size_t n = 4, at = strlen(text); n <= 52; n++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %zu", 1000 + n);
	put("stat", text);
}

static void test_values(void **state)
{
	static struct proc_maps reader;
	struct figures f = {.rss = 1}, before;
	struct figures_image image;
	uint64_t ticks = 0;
	int proc = open_folder();

	(void)state;
	assert_int_equal(figures_read(proc, &f, &image, &ticks), -ESRCH);
	put_stat();
	assert_int_equal(figures_read(proc, &f, &image, &ticks), -ESRCH);
	put("status", "Name:\tx\nState:\tZ (zombie)\n");
	assert_int_equal(figures_read(proc, &f, &image, &ticks), -ESRCH);
	assert_int_equal(ticks, 0);
	assert_int_equal(f.rss, 1); /* only written on success */
	put("status", "Name:\tx\nVmPeak:\t9 kB\nVmSize:\t5000 kB\nVmHWM:\t70 kB\nVmRSS:\t60 kB\n"
		      "RssAnon:\t50 kB\nRssFile:\t8 kB\nVmSwap:\t40 kB\n");
	assert_int_equal(figures_read(proc, &f, &image, &ticks), 0);
	assert_int_equal(f.address_space, 5000 * 1024);
	assert_int_equal(f.rss_peak, 70 * 1024);
	assert_int_equal(f.rss, 60 * 1024);
	assert_int_equal(f.anonymous, 50 * 1024);
	assert_int_equal(f.swap, 40 * 1024);
	assert_int_equal(f.minor_faults, 1010);
	assert_int_equal(f.major_faults, 1012);
	assert_int_equal(ticks, 1022);
	assert_int_equal(image.stack, 1028);
	assert_int_equal(image.arguments, 1048);
	assert_false(f.detailed);
	before = f;
	assert_true(figures_detail(proc, &reader, &f) < 0);
	put("smaps_rollup", "");
	assert_int_equal(figures_detail(proc, &reader, &f), -ESRCH);
	assert_memory_equal(&f, &before, sizeof(f));
	for (unsigned more = 0; more < 2; more++) {
		put("smaps_rollup",
		    more ? "1000-2000 ---p 00000000 00:00 0   [rollup]\nRss: 71 kB\nPss: 7 kB\n"
			 : "1000-2000 ---p 00000000 00:00 0   [rollup]\nRss: 61 kB\nPss: 7 kB\n"
			   "Shared_Clean: 1 kB\nShared_Dirty: 2 kB\nPrivate_Clean: 10 kB\n"
			   "Private_Dirty: 20 kB\nAnonymous: 51 kB\nSwap: 3 kB\n");
		assert_int_equal(figures_detail(proc, &reader, &f), 0);
		assert_true(f.detailed);
		assert_int_equal(f.rss, (more ? 71 : 61) * 1024);
		assert_int_equal(f.rss_peak, (more ? 71 : 70) * 1024); /* never below */
		assert_int_equal(f.pss, 7 * 1024);
		assert_int_equal(f.anonymous, more ? 0 : 51 * 1024);
		assert_int_equal(f.dirty, more ? 0 : 22 * 1024);
		assert_int_equal(f.clean, more ? 0 : 11 * 1024);
		assert_int_equal(f.swap, 40 * 1024);
	}
	close(proc);
}

/* The file with details, or the one that all kernels have. */
static void test_maps_files(void **state)
{
	int proc = open_folder(), fd;
	char text[8] = "";

	(void)state;
	assert_int_equal(figures_open_maps(proc), -ENOENT);
	for (unsigned i = 0; i < 2; i++) {
		put(i ? "smaps" : "maps", i ? "details" : "regions");
		fd = figures_open_maps(proc);
		assert_int_equal(read(fd, text, 7), 7);
		assert_string_equal(text, i ? "details" : "regions");
		close(fd);
	}
	close(proc);
}

/* Whether it has waited for a child that ran. */
static void test_waited(void **state)
{
	pid_t child = fork();
	int status = -1;

	(void)state;
	if (!child) {
		if (figures_waited(getpid()))
			_exit(1);
		child = fork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		_exit(figures_waited(getpid()) ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(figures_waited(0x7f000000)); /* nobody knows */
}

/* The time alone is no change. Any figure is. */
static void test_same(void **state)
{
	struct figures a = {.time_ns = 1, .rss = 2}, b = {.time_ns = 3, .rss = 2};
	uint64_t *const numbers[] = {&b.rss,	      &b.rss_peak,	&b.pss,	  &b.anonymous,
				     &b.swap,	      &b.address_space, &b.dirty, &b.clean,
				     &b.minor_faults, &b.major_faults};

	(void)state;
	assert_true(figures_same(&a, &b));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		++*numbers[i];
		assert_false(figures_same(&a, &b));
		--*numbers[i];
	}
	b.detailed = true;
	assert_false(figures_same(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),   cmocka_unit_test(test_ended),
		TEST_IN_FOLDER(test_values),   TEST_IN_FOLDER(test_maps_files),
		cmocka_unit_test(test_waited), cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
