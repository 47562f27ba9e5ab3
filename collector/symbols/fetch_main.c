/*
 * The process that asks debuginfod servers (fetch.h). Its environment names the servers and the
 * cache.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collector/symbols/elfid.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

/*
 * The debug files of the largest programs have about 2 GiB. The limit stops a server that sends
 * without end.
 */
#define FILE_BYTES_MAX (16ull << 30)

/* From <elfutils/debuginfod.h>, which is missing on some systems that have the library. */
struct debuginfod_client;
struct client {
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *);
	void (*set_progress)(struct debuginfod_client *,
			     int (*)(struct debuginfod_client *, long, long));
	int (*find)(struct debuginfod_client *, const unsigned char *, int, char **);
};

static bool fetch_main_load(struct client *c)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);

	if (!library)
		return false;
	*(void **)&c->begin = dlsym(library, "debuginfod_begin");
	*(void **)&c->end = dlsym(library, "debuginfod_end");
	*(void **)&c->set_progress = dlsym(library, "debuginfod_set_progressfn");
	*(void **)&c->find = dlsym(library, "debuginfod_find_debuginfo");
	return c->begin && c->end && c->set_progress && c->find;
}

static int fetch_main_show_progress(struct debuginfod_client *client, long done, long of)
{
	(void)client;
	if (of > 0)
		fprintf(stderr, "\rfetching debug information: %ld of %ld KiB ", done >> 10,
			of >> 10);
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int fetch_main_parse(const char *text, uint8_t id[ELF_BUILD_ID_MAX])
{
	size_t length = strlen(text);

	if (!length || length % 2 || length / 2 > ELF_BUILD_ID_MAX)
		return -EINVAL;
	for (size_t i = 0; i < length / 2; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		id[i] = (uint8_t)(high << 4 | low);
	}
	return (int)(length / 2);
}

/* Prints the path of the file, or the reason of failure. Returns an exit status. */
static int fetch_main_fetch(const struct client *c, struct debuginfod_client *client,
			    const uint8_t *id, int length)
{
	cleanup(cleanup_free) char *path = NULL;
	cleanup(cleanup_close) int fd = -1;
	bool show = isatty(STDERR_FILENO);

	if (show)
		c->set_progress(client, fetch_main_show_progress);
	fd = c->find(client, id, length, &path);
	if (show)
		fprintf(stderr, "\r%*s\r", 60, "");
	if (fd == -ENOENT)
		return 1;
	if (printf("%s\n", fd >= 0 ? path : strerror(-fd)) < 0 || fflush(stdout))
		return 3;
	return fd >= 0 ? 0 : 3;
}

int symbols_fetch_main(const char *build_id)
{
	struct rlimit files = {FILE_BYTES_MAX, FILE_BYTES_MAX}, none = {0, 0};
	struct debuginfod_client *client;
	struct client c = {0};
	uint8_t id[ELF_BUILD_ID_MAX];
	int length = fetch_main_parse(build_id, id), status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_FSIZE, &files);
	setrlimit(RLIMIT_CORE, &none);
	if (length < 0)
		return 3;
	client = fetch_main_load(&c) ? c.begin() : NULL;
	if (!client) {
		printf("libdebuginfod.so.1 is not installed\n");
		return 3;
	}
	status = fetch_main_fetch(&c, client, id, length);
	c.end(client);
	return status;
}
