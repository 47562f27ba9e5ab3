/* Figures of processes: of this one, and of one that ends. */
#include "agent/watch/figures.h"

#include <errno.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
