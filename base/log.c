/* The log. log.h describes the interface. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/words.h"
#include "base/ban.h"

#define LINE_BYTES 1024

static const char *const names[] = {"error", "warn", "info", "debug", "trace"};
static const char *(*rewrite)(char *out, size_t size, const char *text);
static int threshold = LOG_WARN;
static int descriptor = STDERR_FILENO;

static struct {
	char path[PATH_MAX]; /* absolute, because the working directory may change */
	uint64_t size, limit;
	bool turning;
} file;

int log_open(const char *level, const char *path)
{
	int wanted = -2;

	if (!level || !strcmp(level, "off"))
		wanted = -1;
	for (int i = 0; level && i < (int)(sizeof(names) / sizeof(names[0])); i++)
		if (!strcmp(level, names[i]))
			wanted = i;
	if (wanted == -2)
		return -EINVAL;
	if (path) {
		int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

		if (fd < 0)
			return -errno;
		descriptor = fd;
		file.size = (uint64_t)lseek(fd, 0, SEEK_END);
		if (!realpath(path, file.path))
			file.path[0] = '\0';
	}
	threshold = wanted;
	return 0;
}

int log_reopen(void)
{
	int fd;

	if (!*file.path)
		return 0;
	fd = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	__atomic_store_n(&file.size, (uint64_t)lseek(fd, 0, SEEK_END), __ATOMIC_RELAXED);
	dup3(fd, descriptor, O_CLOEXEC); /* atomic: no thread writes to a closed descriptor */
	close(fd);
	return 0;
}

void log_limit(uint64_t bytes)
{
	file.limit = bytes;
}

/* Rotates the log file. Lines that other threads write meanwhile go to the previous file. */
static void log_turn(void)
{
	char kept[PATH_MAX + 16];
	int fd;

	snprintf(kept, sizeof(kept), "%s.initial", file.path);
	if (access(kept, F_OK) == 0)
		snprintf(kept, sizeof(kept), "%s.old", file.path);
	if (rename(file.path, kept) < 0)
		return;
	fd = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	dup3(fd, descriptor, O_CLOEXEC); /* atomic: no thread writes to a closed descriptor */
	close(fd);
	file.size = 0;
}

static void log_count(size_t written)
{
	uint64_t size = __atomic_add_fetch(&file.size, written, __ATOMIC_RELAXED);

	if (!file.limit || size <= file.limit || !*file.path ||
	    __atomic_exchange_n(&file.turning, true, __ATOMIC_ACQUIRE))
		return;
	log_turn();
	__atomic_store_n(&file.turning, false, __ATOMIC_RELEASE);
}

void log_words(const char *(*words)(char *out, size_t size, const char *text))
{
	rewrite = words;
}

bool log_wants(enum log_level level)
{
	return (int)level <= threshold;
}

void log_write(enum log_level level, const char *format, ...)
{
	char line[LINE_BYTES], text[LINE_BYTES], rewritten[LINE_BYTES];
	const char *said = text;
	struct timespec now;
	struct tm utc;
	size_t n;
	va_list args;

	if (!log_wants(level))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	n = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &utc);
	n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03ldZ %-5s ", now.tv_nsec / 1000000,
			      names[level]);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (rewrite)
		said = rewrite(rewritten, sizeof(rewritten), text);
	n += words_clean(line + n, sizeof(line) - n - 1, said, strlen(said));
	line[n++] = '\n';
	while (write(descriptor, line, n) < 0 && errno == EINTR)
		;
	log_count(n);
}
