/*
 * Tells its own truth, whatever becomes of it: threads allocate and free at full speed, and each counts its calls that have
 * returned in a file that is shared memory, where the count outlives the process.
 *
 *	witness FILE THREADS END [MS]    after MS milliseconds (100) it ends so:
 *	    wait          not at all: somebody else sees to that
 *	    kill abort segv exit _exit quick_exit
 *	    exec          goes on as `witness FILE.exec THREADS _exit MS`
 *	    oom           from the start it keeps one block of 16, and writes to it
 *	witness FILE      prints a file: "TID CALLS" for each thread
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 512
#define DEPTHS	    7
#define KEPT_BYTES  16384

struct line {
	uint64_t tid;
	uint64_t calls;
	uint64_t rest[6];
};

static struct line *lines;
static bool keeps;

static struct line *open_lines(const char *path, bool make)
{
	int fd = open(path, make ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY, 0644);
	void *memory;

	if (fd < 0 || (make && ftruncate(fd, THREADS_MAX * sizeof(struct line)) < 0)) {
		perror(path);
		exit(1);
	}
	memory = mmap(NULL, THREADS_MAX * sizeof(struct line),
		      make ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	close(fd);
	return memory;
}

static void count(struct line *line)
{
	__atomic_store_n(&line->calls, line->calls + 1, __ATOMIC_RELAXED);
}

/* Stacks of many depths, so that records have many lengths. */
__attribute__((noinline)) static void *deep(struct line *line, unsigned depth, size_t size)
{
	char *block;

	if (depth) {
		void *volatile inner = deep(line, depth - 1, size);

		return inner;
	}
	block = malloc(size);
	count(line);
	return block;
}

static void *work(void *argument)
{
	struct line *line = argument;
	uint64_t random = (uintptr_t)line;

	line->tid = (uint64_t)syscall(SYS_gettid);
	for (;;) {
		char *volatile block;
		bool keep;

		random = random * 6364136223846793005u + 1442695040888963407u;
		keep = keeps && !(random >> 60);
		block = deep(line, (unsigned)(random >> 33) % DEPTHS,
			     keep ? KEPT_BYTES : 16 + (random >> 40) % 500);
		if (keep) {
			memset(block, 1, KEPT_BYTES);
			continue;
		}
		free(block);
		count(line);
	}
	return NULL;
}

static int print(const char *path)
{
	lines = open_lines(path, false);
	for (unsigned i = 0; i < THREADS_MAX; i++)
		if (lines[i].tid)
			printf("%llu %llu\n", (unsigned long long)lines[i].tid,
			       (unsigned long long)lines[i].calls);
	return 0;
}

static void go_on(char **argv, const char *ms)
{
	char path[4096], own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[n > 0 ? n : 0] = '\0';
	snprintf(path, sizeof(path), "%s.exec", argv[1]);
	execl(own, own, path, argv[2], "_exit", ms, (char *)NULL);
	perror("execl");
}

static void end(const char *how, char **argv, const char *ms)
{
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "_exit"))
		_exit(8);
	if (!strcmp(how, "quick_exit"))
		quick_exit(9);
	if (!strcmp(how, "exec"))
		go_on(argv, ms);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	const char *ms = argc > 4 ? argv[4] : "100";
	struct timespec wait = {.tv_sec = atol(ms) / 1000, .tv_nsec = atol(ms) % 1000 * 1000000};
	pthread_t thread;

	if (argc == 2)
		return print(argv[1]);
	if (argc < 4 || threads > THREADS_MAX)
		return 2;
	keeps = !strcmp(argv[3], "oom");
	lines = open_lines(argv[1], true);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, work, &lines[i]))
			return 1;
	nanosleep(&wait, NULL);
	end(argv[3], argv, ms);
}
