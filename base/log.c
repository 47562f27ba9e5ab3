/* The log. See log.h. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/ban.h"

static const char *const names[] = {"error", "warn", "info", "debug", "trace"};
static int threshold = LOG_WARN;
static int descriptor = STDERR_FILENO;

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
	}
	threshold = wanted;
	return 0;
}

bool log_wants(enum log_level level)
{
	return (int)level <= threshold;
}

void log_write(enum log_level level, const char *format, ...)
{
	char line[1024];
	struct timespec now;
	struct tm utc;
	size_t n;
	va_list args;
	int more;

	if (!log_wants(level))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	n = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &utc);
	n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03ldZ %-5s ", now.tv_nsec / 1000000,
			      names[level]);
	va_start(args, format);
	more = vsnprintf(line + n, sizeof(line) - n - 1, format, args);
	va_end(args);
	if (more > 0)
		n = n + (size_t)more < sizeof(line) - 1 ? n + (size_t)more : sizeof(line) - 2;
	line[n++] = '\n';
	while (write(descriptor, line, n) < 0 && errno == EINTR)
		;
}
