/* Tests whether a program can be recorded by preloading. See preload_path.h. */
#include "agent/cli/preload_path.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent/cli/sanitizer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/ban.h"

#define SCRIPTS_MAX	 4 /* nested interpreters that are scripts themselves */
#define PROGRAM_HEADERS	 64
#define STATUS_NOT_EXEC	 126
#define STATUS_NOT_FOUND 127

int preload_path(char *out, size_t size, struct err_text *err)
{
	static const char *const places[] = {"", "../lib/", "../lib/heapcast/",
					     "../lib/*/heapcast/"};
	const char *given = getenv("HEAPCAST_PRELOAD");
	char self[PATH_MAX], pattern[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	bool found = false;

	if (given) {
		if (access(given, R_OK) == 0 && realpath(given, self) && strlen(self) < size) {
			snprintf(out, size, "%s", self);
			return 0;
		}
		return err_set(err, -ENOENT, "HEAPCAST_PRELOAD names %s, which can't be read",
			       given);
	}
	self[n > 0 ? n : 0] = '\0';
	*(strrchr(self, '/') ? strrchr(self, '/') + 1 : self) = '\0';
	for (unsigned i = 0; !found && i < sizeof(places) / sizeof(places[0]); i++) {
		glob_t hits;

		snprintf(pattern, sizeof(pattern), "%s%slibheapcast.so", self, places[i]);
		if (glob(pattern, 0, NULL, &hits))
			continue;
		found = realpath(hits.gl_pathv[0], pattern) && strlen(pattern) < size;
		globfree(&hits);
	}
	if (!found)
		return err_set(err, -ENOENT,
			       "libheapcast.so is neither beside the agent (%s) nor in ../lib from "
			       "there: install it, "
			       "or name it in HEAPCAST_PRELOAD",
			       self);
	snprintf(out, size, "%s", pattern);
	return 0;
}

static int look_up(const char *command, char *out, size_t size)
{
	const char *path = getenv("PATH");
	const char *end;

	if (strchr(command, '/'))
		return snprintf(out, size, "%s", command) < (int)size ? 0 : -ENAMETOOLONG;
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;
	     path = *end ? end + 1 : end) {
		struct stat st;

		end = path + strcspn(path, ":");
		snprintf(out, size, "%.*s%s%s", (int)(end - path), path, end == path ? "" : "/",
			 command);
		if (access(out, X_OK) == 0 && stat(out, &st) == 0 && S_ISREG(st.st_mode))
			return 0;
	}
	return -ENOENT;
}

/* The kernel starts such programs in secure mode, in which the loader ignores LD_PRELOAD. */
static bool is_privileged(const char *path, const struct stat *st)
{
	if (st->st_mode & S_ISUID && st->st_uid != getuid())
		return true;
	if (st->st_mode & S_ISGID && st->st_mode & S_IXGRP && st->st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Finds PT_INTERP. The header fields lie at different offsets in 32-bit and 64-bit files. */
static int has_interpreter(int fd, const uint8_t *head, bool *ret)
{
	bool wide = head[EI_CLASS] == ELFCLASS64;
	uint64_t offset = 0;
	uint16_t size, count;
	uint32_t type;

	memcpy(&offset, head + (wide ? 32 : 28), wide ? 8 : 4);
	memcpy(&size, head + (wide ? 54 : 42), 2);
	memcpy(&count, head + (wide ? 56 : 44), 2);
	*ret = false;
	for (unsigned i = 0; i < count && i < PROGRAM_HEADERS; i++) {
		if (pread(fd, &type, sizeof(type), (off_t)(offset + (uint64_t)i * size)) !=
		    sizeof(type))
			return -ENOEXEC;
		*ret |= type == PT_INTERP;
	}
	return 0;
}

static uint16_t own_machine(void)
{
	uint8_t head[20] = {0};
	uint16_t machine = 0;
	cleanup(cleanup_close) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head))
		memcpy(&machine, head + 18, 2);
	return machine;
}

static int check_elf(int fd, const char *path, const uint8_t *head, struct err_text *err)
{
	const char *sanitizer;
	char proof[64];
	uint16_t machine;
	bool dynamic;

	memcpy(&machine, head + 18, 2);
	if (head[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    machine != own_machine())
		return err_set(err, -ENOEXEC,
			       "%s is built for another processor than this libheapcast.so: use "
			       "the agent built for it",
			       path);
	if (has_interpreter(fd, head, &dynamic) < 0)
		return err_set(err, -ENOEXEC, "%s is a damaged program file", path);
	if (!dynamic)
		return err_set(
			err, -ENOEXEC,
			"%s is statically linked, so nothing can be preloaded into it; link it "
			"dynamically "
			"(`agent attach`, which needs no preloading, records it once it runs)",
			path);
	sanitizer = sanitizer_of(fd, proof, sizeof(proof));
	if (sanitizer)
		return err_set(err, -ENOEXEC,
			       "%s is built with %s (%s), whose allocator must come first, so "
			       "nothing can be preloaded "
			       "into it; build it without that option to record it",
			       path, sanitizer, proof);
	return 0;
}

/* Reads the interpreter from a "#!" line. */
static int script_interpreter(const uint8_t *line, size_t length, char *out, size_t size)
{
	size_t at = 2, n = 0;

	while (at < length && (line[at] == ' ' || line[at] == '\t'))
		at++;
	while (at < length && !strchr(" \t\r\n", line[at]) && n < size - 1)
		out[n++] = (char)line[at++];
	out[n] = '\0';
	return n ? 0 : -ENOEXEC;
}

static int check_file(const char *path, int depth, struct err_text *err)
{
	uint8_t head[256] = {0};
	char interpreter[256];
	struct stat st;
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (stat(path, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (is_privileged(path, &st))
		return err_set(err, -EPERM,
			       "%s changes its user when it starts (setuid, setgid or "
			       "capabilities), so nothing can be "
			       "preloaded into it; run the agent as the user it becomes",
			       path);
	if (fd < 0)
		return 0; /* executable but not readable: the kernel decides */
	n = read(fd, head, sizeof(head) - 1);
	if (n >= 64 && !memcmp(head, ELFMAG, SELFMAG))
		return check_elf(fd, path, head, err);
	if (n < 2 || head[0] != '#' || head[1] != '!' || depth == SCRIPTS_MAX)
		return 0;
	if (script_interpreter(head, (size_t)n, interpreter, sizeof(interpreter)) < 0)
		return 0;
	if (access(interpreter, X_OK) < 0)
		return err_set(err, -errno, "%s needs %s, which can't be run: %s", path,
			       interpreter, strerror(errno));
	return check_file(interpreter, depth + 1, err);
}

int preload_check(const char *command, char *ret_path, size_t size, int *ret_exit,
		  struct err_text *err)
{
	struct stat st;

	*ret_exit = STATUS_NOT_FOUND;
	if (look_up(command, ret_path, size) < 0)
		return err_set(err, -ENOENT, "there is no program '%s' in PATH", command);
	if (stat(ret_path, &st) < 0)
		return err_set(err, -errno, "there is no program '%s'", ret_path);
	*ret_exit = STATUS_NOT_EXEC;
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EACCES, "%s is no program%s", ret_path,
			       S_ISDIR(st.st_mode) ? ", it is a folder" : "");
	if (access(ret_path, X_OK) < 0)
		return err_set(err, -EACCES, "%s is not executable (chmod +x)", ret_path);
	return check_file(ret_path, 0, err);
}
