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
#include "base/elf/elf.h"
#include "base/error.h"
#include "base/ban.h"

#define SCRIPTS_MAX	 4 /* nested interpreters that are scripts themselves */
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

static int preload_path_look_up(const char *command, char *out, size_t size)
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

/* Finds out if the program has a PT_INTERP. */
static int has_interpreter(const struct elf *elf, bool *ret)
{
	struct elf_table segments;
	struct elf_segment segment;
	uint64_t i;

	*ret = false;
	elf_open_segments(&segments, elf);
	for (i = 0; elf_segment_at(&segments, i, &segment); i++)
		*ret |= segment.type == PT_INTERP;
	return i == elf->segments.count ? 0 : -ENOEXEC;
}

static uint16_t own_machine(void)
{
	cleanup(cleanup_close) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf own;

	return fd >= 0 && !elf_open_file(&own, fd) ? own.machine : EM_NONE;
}

static int check_elf(int fd, const char *path, struct err_text *err)
{
	const char *sanitizer;
	char proof[64];
	struct elf elf;
	bool dynamic;

	if (elf_open_file(&elf, fd) < 0 || !elf_is_native(&elf) || elf.machine != own_machine())
		return err_set(err, -ENOEXEC,
			       "%s is built for another processor than this libheapcast.so: use "
			       "the agent built for it",
			       path);
	if (has_interpreter(&elf, &dynamic) < 0)
		return err_set(err, -ENOEXEC, "%s is a damaged program file", path);
	if (!dynamic)
		return err_set(
			err, -ENOEXEC,
			"%s is statically linked, so nothing can be preloaded into it: start it, "
			"and record it with 'agent attach -p PID'; or link it dynamically",
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

static int preload_path_check_file(const char *path, int depth, struct err_text *err)
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
			       "preloaded into it: start it, and record it as root with 'agent "
			       "attach -p PID'; or run the agent as the user it becomes",
			       path);
	if (fd < 0)
		return 0; /* executable but not readable: let the kernel decide */
	n = read(fd, head, sizeof(head) - 1);
	if (n >= 64 && !memcmp(head, ELFMAG, SELFMAG))
		return check_elf(fd, path, err);
	if (n < 2 || head[0] != '#' || head[1] != '!' || depth == SCRIPTS_MAX)
		return 0;
	if (script_interpreter(head, (size_t)n, interpreter, sizeof(interpreter)) < 0)
		return 0;
	if (access(interpreter, X_OK) < 0)
		return err_set(err, -errno, "%s needs %s, which can't be run: %s", path,
			       interpreter, strerror(errno));
	return preload_path_check_file(interpreter, depth + 1, err);
}

int preload_check(const char *command, char *ret_path, size_t size, int *ret_exit,
		  struct err_text *err)
{
	struct stat st;

	*ret_exit = STATUS_NOT_FOUND;
	if (preload_path_look_up(command, ret_path, size) < 0)
		return err_set(err, -ENOENT, "there is no program '%s' in PATH", command);
	if (stat(ret_path, &st) < 0)
		return err_set(err, -errno, "there is no program '%s'", ret_path);
	*ret_exit = STATUS_NOT_EXEC;
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EACCES, "%s is no program%s", ret_path,
			       S_ISDIR(st.st_mode) ? ", it is a folder" : "");
	if (access(ret_path, X_OK) < 0)
		return err_set(err, -EACCES, "%s is not executable (chmod +x)", ret_path);
	return preload_path_check_file(ret_path, 0, err);
}
