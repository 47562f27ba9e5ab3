/*
 * Maps, grows and unmaps what is known, and writes down what the kernel then says of it: FOLDER/NAME.smaps, a copy of its
 * own /proc/self/smaps, and FOLDER/NAME.time, CLOCK_MONOTONIC in ns just before. Each stage is followed by a rest, so that
 * an observer has seen it when the copy is taken; the copy changes nothing, for all that it needs has been used before.
 *
 *   maps stages FOLDER REST_MS           mapped, grown, unmapped, then (exec) next, with a forked child beside it
 *   maps many COUNT REST_MS              COUNT regions that can't be joined, and a rest
 *   maps hidden REST_MS                  may not be looked at by others than root
 *   maps quiet|busy REST_MS              does nothing, or touches a page each 10 ms
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul

static char copy[1 << 20];
static char path[4096];
static const char *folder;
static unsigned rest_ms;

static void rest(unsigned ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	while (nanosleep(&t, &t))
		;
}

static void put(const char *name, const char *suffix, const char *data, size_t length)
{
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%s", folder, name, suffix);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, data, length) != (ssize_t)length)
		_exit(3);
	close(fd);
}

/* What the kernel says now. */
static void write_down(const char *name)
{
	static char text[32];
	struct timespec now;
	size_t length = 0;
	ssize_t n;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &now);
	fd = open("/proc/self/smaps", O_RDONLY);
	while ((n = read(fd, copy + length, sizeof(copy) - length)) > 0)
		length += (size_t)n;
	close(fd);
	put(name, "smaps", copy, length);
	n = snprintf(text, sizeof(text), "%lld", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	put(name, "time", text, (size_t)n);
}

/* Twice: what the first has to fetch into memory is there for the second. */
static void stage(const char *name)
{
	write_down(name);
	rest(rest_ms);
	write_down(name);
}

static char *map(char *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	char *p = mmap(at, size, protection, flags, fd, offset);

	if (p == MAP_FAILED)
		_exit(4);
	return p;
}

static void touch(char *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i += PAGE)
		((volatile char *)p)[i] = 1;
}

static void write_byte(int fd, const char *byte)
{
	if (write(fd, byte, 1) != 1)
		_exit(9);
}

/* Waits for a byte, or for the other end to be closed. */
static void read_byte(int fd, char *byte)
{
	if (read(fd, byte, 1) < 0)
		_exit(10);
}

/* A file of 64 pages with a name that is meant to confuse. */
static int odd_file(void)
{
	static char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s/an odd\nname (deleted)", folder);
	fd = open(name, O_RDWR | O_CREAT, 0644);
	for (unsigned i = 0; i < 64; i++)
		if (write(fd, copy, PAGE) != (ssize_t)PAGE)
			_exit(5);
	return fd;
}

static void stages(char **argv)
{
	int fd, shared = memfd_create("shared memory", 0);
	char *anonymous, *file, *memory, byte = 0;
	int begun[2], done[2];
	pid_t child;

	memset(copy, 1, sizeof(copy));
	fd = odd_file();
	if (ftruncate(shared, 32 * PAGE))
		_exit(6);
	stage("warm");

	anonymous = map(NULL, 1024 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	touch(anonymous, 0, 256 * PAGE);
	file = map(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 2 * PAGE);
	touch(file, 0, 3 * PAGE);
	memory = map(NULL, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	touch(memory, 0, 32 * PAGE);
	stage("mapped");

	anonymous = mremap(anonymous, 1024 * PAGE, 2048 * PAGE, MREMAP_MAYMOVE);
	touch(anonymous, 0, 2048 * PAGE);
	mprotect(anonymous + 512 * PAGE, 256 * PAGE, PROT_READ);
	touch(file, 3 * PAGE, 16 * PAGE);
	stage("grown");

	munmap(anonymous, 2048 * PAGE);
	munmap(memory, 32 * PAGE);
	snprintf(path, sizeof(path), "%s/an odd\nname (deleted)", folder);
	unlink(path);
	stage("unmapped");

	/* A page is the parent's alone once the child has written to it, or is gone: neither while the parent is looked at. */
	if (pipe(begun) || pipe(done))
		_exit(8);
	child = fork();
	if (!child) {
		close(done[1]);
		free(malloc(100)); /* asks to be recorded */
		memory = map(NULL, 77 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		touch(memory, 0, 11 * PAGE);
		write_down("child");
		write_byte(begun[1], &byte);
		read_byte(done[0], &byte);
		write_down("child");
		_exit(0);
	}
	close(begun[1]);
	read_byte(begun[0], &byte);
	stage("parent");
	close(done[1]);
	waitpid(child, NULL, 0);
	argv[1] = (char *)(uintptr_t)"next";
	execv("/proc/self/exe", argv);
	_exit(7);
}

static void next_image(void)
{
	char *p = map(NULL, 99 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	free(malloc(100));
	memset(copy, 1, sizeof(copy));
	touch(p, 0, 33 * PAGE);
	stage("next");
}

/* Every other page has another protection. Who counts them all finds them touched. */
static void many(unsigned count)
{
	char *p = map(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned i = 1; i < count; i += 2)
		p[i * PAGE] = 1;
	for (unsigned i = 0; i < count; i += 2)
		mprotect(p + i * PAGE, PAGE, PROT_READ);
	rest(rest_ms);
}

static void busy(void)
{
	char *p = map(NULL, 4096 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned i = 0; i < rest_ms / 10; i++) {
		p[i % 4096 * PAGE] = 1;
		rest(10);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	rest_ms = (unsigned)strtoul(argv[argc - 1], NULL, 10);
	folder = argc > 3 ? argv[2] : ".";
	free(malloc(1));
	if (!strcmp(mode, "stages"))
		stages(argv);
	else if (!strcmp(mode, "next"))
		next_image();
	else if (!strcmp(mode, "many"))
		many((unsigned)strtoul(argv[2], NULL, 10));
	else if (!strcmp(mode, "hidden") && !prctl(PR_SET_DUMPABLE, 0))
		rest(rest_ms);
	else if (!strcmp(mode, "quiet"))
		rest(rest_ms);
	else if (!strcmp(mode, "busy"))
		busy();
	else
		return 2;
	return 0;
}
