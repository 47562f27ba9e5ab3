/*
 * Preloaded behind whatever is measured (tests/bench/record). At its end a process writes the CPU
 * time that it has taken, of all threads, user and system, in nanoseconds. The file is that of its
 * number in the folder BENCH_USAGE. From outside only the parent could know this as exactly, and
 * the parent of a recorded program is the tool.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* BENCH_CPU: the processor that it is to stay on. */
static __attribute__((constructor)) void stay(void)
{
	const char *number = getenv("BENCH_CPU");
	cpu_set_t processors;

	if (!number)
		return;
	CPU_ZERO(&processors);
	CPU_SET((unsigned)strtoul(number, NULL, 10), &processors);
	sched_setaffinity(0, sizeof(processors), &processors);
}

static __attribute__((destructor)) void tell(void)
{
	const char *folder = getenv("BENCH_USAGE");
	struct timespec time;
	char path[4096];
	int fd;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/usage.%d", folder, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	dprintf(fd, "%lld\n", (long long)time.tv_sec * 1000000000 + time.tv_nsec);
	close(fd);
}
