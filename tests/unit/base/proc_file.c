/* Files below /proc/PID: which process a folder means, and what of a file is read. */
#include "base/proc/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/temporary.h"

/* A file in the temporary folder, and a descriptor of that folder. */
static int make(const char *name, const char *text)
{
	int folder = open(temporary_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(folder, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return folder;
}

/* A folder stays that of its process. */
static void folders(void **state)
{
	pid_t child = fork();
	char text[64];
	int folder, fd;

	(void)state;
	if (!child) {
		pause();
		_exit(0);
	}
	folder = proc_open(child);
	assert_true(folder >= 0);
	assert_true(fcntl(folder, F_GETFD) & FD_CLOEXEC);
	fd = proc_open_file(folder, "comm");
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_true(proc_read(folder, "comm", text, sizeof(text)) > 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	text[0] = 'x';
	assert_int_equal(proc_read(folder, "comm", text, sizeof(text)), -ESRCH);
	assert_string_equal(text, "");
	assert_int_equal(proc_open(child), -ESRCH);
	close(folder);
}

static void what_is_read(void **state)
{
	unsigned before = descriptors_open();
	int folder = make("file", "0123456789");
	char text[16];

	(void)state;
	assert_int_equal(proc_read(folder, "file", text, 11), 10);
	assert_string_equal(text, "0123456789");
	assert_int_equal(proc_read(folder, "file", text, 10), 9);
	assert_string_equal(text, "012345678");
	assert_int_equal(proc_read(folder, "file", text, 1), 0);
	assert_string_equal(text, "");
	text[0] = 'x';
	assert_int_equal(proc_read(folder, "none", text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
	text[0] = 'x';
	assert_int_equal(proc_read(folder, ".", text, sizeof(text)), -EISDIR);
	assert_string_equal(text, "");
	assert_int_equal(proc_open_file(folder, "none"), -ENOENT);
	assert_true(proc_read(-1, "/proc/self/comm", text, sizeof(text)) > 0);
	close(folder);
	assert_int_equal(descriptors_open(), before);
}

static void nothing(int signal)
{
	(void)signal;
}

/* Signals that arrive while it is read are no errors. */
static void signals_do_no_harm(void **state)
{
	struct sigaction action = {.sa_handler = nothing}, before;
	char path[128], text[16];
	pid_t reader = getpid(), child;
	int folder, fifo;

	(void)state;
	snprintf(path, sizeof(path), "%s/fifo", temporary_folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	fifo = open(path, O_RDWR | O_CLOEXEC);
	folder = open(temporary_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	child = fork();
	if (!child) {
		for (int i = 0; i < 50; i++) {
			usleep(1000);
			kill(reader, SIGUSR1);
			if (i == 25)
				(void)!write(fifo, "0123", 4);
		}
		(void)!write(fifo, "4", 1);
		_exit(0);
	}
	assert_int_equal(proc_read(folder, "fifo", text, 6), 5);
	assert_string_equal(text, "01234");
	assert_int_equal(waitpid(child, NULL, 0), child);
	sigaction(SIGUSR1, &before, NULL);
	close(fifo);
	close(folder);
}

/* Descriptor 0 is as good as any other. */
static void first_descriptor(void **state)
{
	int folder = make("file", "text");
	char text[16];
	int fd;

	(void)state;
	first_descriptor_free();
	assert_int_equal(proc_read(folder, "file", text, sizeof(text)), 4);
	assert_string_equal(text, "text");
	fd = proc_open_file(folder, "file");
	assert_int_equal(fd, 0);
	close(fd);
	fd = proc_open(getpid());
	assert_int_equal(fd, 0);
	close(fd);
	first_descriptor_take();
	close(folder);
}

/* The name that the kernel gives the file behind a mapping, in a folder that is none of its. */
static void mapped(void **state)
{
	char path[128], text[8] = "";
	int folder, fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/map_files", temporary_folder);
	assert_int_equal(mkdir(path, 0700), 0);
	folder = make("map_files/7f00deadb000-ffffffffff600000", "text");
	fd = proc_open_mapped(folder, 0x7f00deadb000, 0xffffffffff600000, O_RDONLY);
	assert_true(fd > 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	assert_string_equal(text, "text");
	close(fd);
	assert_int_equal(proc_open_mapped(folder, 0x7f00deadb000, 0x7f00deadc000, O_RDONLY),
			 -ENOENT);
	fd = proc_open_mapped(folder, 0x7f00deadb000, 0xffffffffff600000, O_RDWR);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	close(fd);
	first_descriptor_free();
	fd = proc_open_mapped(folder, 0x7f00deadb000, 0xffffffffff600000, O_RDONLY);
	assert_int_equal(fd, 0);
	close(fd);
	first_descriptor_take();
	close(folder);
}

/* All processes, and nothing else of what /proc has. */
static void processes(void **state)
{
	DIR *proc = opendir("/proc");
	unsigned own = 0, first = 0;
	pid_t pid;

	(void)state;
	assert_non_null(proc);
	while ((pid = proc_next(proc))) {
		assert_true(pid > 0);
		own += pid == getpid();
		first += pid == 1;
	}
	assert_int_equal(first, access("/proc/1", F_OK) == 0);
	assert_int_equal(own, 1);
	assert_int_equal(proc_next(proc), 0);
	closedir(proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders),	    TEST_IN_FOLDER(what_is_read),
		TEST_IN_FOLDER(first_descriptor),   TEST_IN_FOLDER(mapped),
		TEST_IN_FOLDER(signals_do_no_harm), cmocka_unit_test(processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
