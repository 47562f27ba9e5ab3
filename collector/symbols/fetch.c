/*
 * Runs the process that asks debuginfod servers. fetch.h describes the interface; fetch_main.c is
 * the process itself.
 */
#include "collector/symbols/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/spawn.h"
#include "collector/symbols/elfid.h"

#include "base/ban.h"

/* A steady transfer may take at most this many times `seconds`. */
#define WHOLE_FACTOR 30
#define ANSWER_MAX   4096

/* ---- the environment ---- */

static void put_variable(char **list, size_t *count, struct buf *text)
{
	buf_byte(text, 0);
	if (!buf_error(text))
		list[(*count)++] = strdup((const char *)text->data);
	buf_clear(text);
}

/*
 * Creates our own cache, in which negative results expire at once. The file may exist tomorrow, and
 * debuginfod's client would not ask again for ten minutes.
 */
static bool make_cache(const char *folder)
{
	cleanup(cleanup_free) char *parent = folder ? strdup(folder) : NULL;
	cleanup(cleanup_free) char *path = NULL;
	cleanup(cleanup_fclose) FILE *file = NULL;
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (slash) {
		*slash = 0;
		mkdir(parent, 0700);
	}
	if (!folder || (mkdir(folder, 0700) && errno != EEXIST) || access(folder, W_OK) ||
	    asprintf(&path, "%s/cache_miss_s", folder) < 0)
		return false;
	file = fopen(path, "we");
	return file && fputs("0\n", file) >= 0;
}

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

/* Returns the worker's environment plus the variables of the debuginfod client. */
static char **environment_of(const struct fetcher *f)
{
	cleanup(cleanup_free) char **own = spawn_environment();
	struct buf text = {0};
	size_t count = 0;
	char **list;

	while (own && own[count])
		count++;
	list = own ? calloc(count + 5, sizeof(*list)) : NULL;
	if (!list)
		return NULL;
	for (size_t i = 0; i < count; i++)
		list[i] = strdup(own[i]);
	buf_string(&text, "DEBUGINFOD_URLS=");
	for (size_t i = 0; f->urls[i]; i++) {
		buf_string(&text, i ? " " : "");
		buf_string(&text, f->urls[i]);
	}
	put_variable(list, &count, &text);
	buf_printf(&text, "DEBUGINFOD_TIMEOUT=%llu", (unsigned long long)f->seconds);
	put_variable(list, &count, &text);
	buf_printf(&text, "DEBUGINFOD_MAXTIME=%llu", (unsigned long long)f->seconds * WHOLE_FACTOR);
	put_variable(list, &count, &text);
	if (make_cache(f->cache)) {
		buf_printf(&text, "DEBUGINFOD_CACHE_PATH=%s", f->cache);
		put_variable(list, &count, &text);
	}
	buf_done(&text);
	return list;
}

/* ---- the process ---- */

static int fetch_start(const struct fetcher *f, char *build_id, int output, pid_t *ret_pid)
{
	char name[] = "heapcast-symbols", command[] = FETCH_COMMAND;
	char *arguments[] = {name, command, build_id, NULL};
	char **environment = environment_of(f);
	int r = !environment ? -ENOMEM
			     : spawn(&(struct spawn){.program = f->program,
						     .arguments = arguments,
						     .environment = environment,
						     .input = SPAWN_NOTHING,
						     .output = output,
						     .error = SPAWN_SAME},
				     ret_pid);

	free_list(environment);
	return r;
}

static uint64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

/* Reads the process's output until it exits, as a string. Returns 0 or -ETIME. */
static int fetch_read_answer(int fd, uint64_t deadline_s, char answer[ANSWER_MAX])
{
	size_t length = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (now_s() > deadline_s)
			return -ETIME;
		if (poll(&p, 1, 1000) <= 0)
			continue;
		n = read(fd, answer + length, ANSWER_MAX - 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	answer[length] = 0;
	answer[strcspn(answer, "\n")] = 0;
	return 0;
}

static int await(pid_t pid, int fd, uint64_t deadline_s, char answer[ANSWER_MAX])
{
	int status = 0, error = fetch_read_answer(fd, deadline_s, answer);

	if (error)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (error)
		return error;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && answer[0] == '/')
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 1 ? -ENOENT : -EIO;
}

static int fetch_fail(struct fetcher *f, int error, const char *why, struct err_text *err)
{
	f->down = true;
	return err_set(err, error, "asking debuginfod (%.200s): %.200s", f->urls[0], why);
}

int fetch_debug_file(struct fetcher *f, const uint8_t *build_id, uint32_t length, char **ret_path,
		     struct err_text *err)
{
	char id[2 * ELF_BUILD_ID_MAX + 1], answer[ANSWER_MAX] = "";
	int pipes[2], error;
	pid_t pid;

	if (f->down || !f->urls || !f->urls[0] || !length || length > ELF_BUILD_ID_MAX)
		return -ENOENT;
	for (uint32_t i = 0; i < length; i++)
		snprintf(id + 2 * i, 3, "%02x", build_id[i]);
	if (pipe2(pipes, O_CLOEXEC))
		return fetch_fail(f, -errno, strerror(errno), err);
	error = fetch_start(f, id, pipes[1], &pid);
	close(pipes[1]);
	if (!error)
		error = await(pid, pipes[0], now_s() + f->seconds * (WHOLE_FACTOR + 1), answer);
	close(pipes[0]);
	if (!error) {
		*ret_path = strdup(answer);
		return *ret_path ? 0 : -ENOMEM;
	}
	if (error == -ENOENT)
		return error;
	return fetch_fail(f, error, answer[0] ? answer : strerror(-error), err);
}
