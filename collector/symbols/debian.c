/*
 * Finds Debian packages by file. dpkg keeps a list of files for each package, with one path per
 * line. The lists are read whole. All of them have some 15 MB together, and only commands that show
 * the name to a person search them.
 */
#include "collector/symbols/debian.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collector/symbols/elfid.h"

#include "base/ban.h"

#define LISTS	   "/var/lib/dpkg/info"
#define NAME_BYTES 256

static bool is_the_file(const char *path, const uint8_t *build_id, uint32_t length)
{
	struct elf_id id;

	return length && elf_id_read(path, &id) == 0 && id.file.build_id_length == length &&
	       !memcmp(id.file.build_id, build_id, length);
}

/* Returns true if the text has this line. The first line of a list is "/.", so no path is at the
 * beginning of the text. */
static bool has_line(const char *text, size_t length, const char *path)
{
	size_t wanted = strlen(path);
	const char *end = text + length;

	for (const char *at = text; at + wanted < end; at++) {
		at = memmem(at, (size_t)(end - at), path, wanted);
		if (!at)
			return false;
		if (at > text && at[-1] == '\n' && at + wanted < end && at[wanted] == '\n')
			return true;
	}
	return false;
}

/* Returns true if the list has the path. /lib and /usr/lib are one folder (merged /usr), and a list
 * has either path. */
static bool list_has(int folder, const char *name, const char *path)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	bool has = false;
	void *text;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (text != MAP_FAILED) {
			const char *other = !strncmp(path, "/usr/", 5) ? path + 4 : NULL;

			has = has_line(text, (size_t)st.st_size, path) ||
			      (other && has_line(text, (size_t)st.st_size, other));
			munmap(text, (size_t)st.st_size);
		}
	}
	close(fd);
	return has;
}

/* Returns the package's name: "libsqlite3-0:amd64.list" is the list of libsqlite3-0. */
static char *name_of(const char *list)
{
	char package[NAME_BYTES], *out;

	if (strlen(list) >= sizeof(package))
		return NULL;
	snprintf(package, sizeof(package), "%s", list);
	package[strlen(package) - strlen(".list")] = 0;
	package[strcspn(package, ":")] = 0;
	if (asprintf(&out, "%s%s", package, !strcmp(package, "libc6") ? "-dbg" : "-dbgsym") < 0)
		return NULL;
	return out;
}

static char *search(const char *lists, const char *path)
{
	DIR *folder = opendir(lists);
	const struct dirent *entry;
	char *found = NULL;

	while (folder && !found && (entry = readdir(folder))) {
		size_t length = strlen(entry->d_name);

		if (length > 5 && !strcmp(entry->d_name + length - 5, ".list") &&
		    list_has(dirfd(folder), entry->d_name, path))
			found = name_of(entry->d_name);
	}
	if (folder)
		closedir(folder);
	return found;
}

char *debian_package(const char *path, const uint8_t *build_id, uint32_t build_id_length,
		     const char *lists)
{
	cleanup(cleanup_free) char *real = NULL;

	lists = lists ? lists : LISTS;
	if (access(lists, R_OK) != 0 || !is_the_file(path, build_id, build_id_length))
		return NULL;
	real = realpath(path, NULL);
	return real ? search(lists, real) : NULL;
}
