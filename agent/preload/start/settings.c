/* Reads settings in the environment; see settings.h. */
#include "agent/preload/start/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "agent/preload/system/env.h"
#include "agent/preload/system/sys.h"
#include "agent/program_settings.h"
#include "proto/ring.h"
#include "proto/ring_handshake.h"

#include "agent/preload/poison.h"

/* FNV-1a, 64 bits. */
#define HASH_BEGIN 0xcbf29ce484222325u
#define HASH_TIMES 0x100000001b3u

/* Lists of names, each with its terminating zero; an empty name ends a list. */
#define ROW(name) name "\0"
static const char of_program[] = PROGRAM_SETTINGS(ROW);
static const char of_files[] = FILE_SETTINGS(ROW);
static const char of_recording[] = RECORDING_SETTINGS(ROW);

/* Returns the name after the prefix, or NULL if the entry is not a setting. */
static const char *name_in(const char *entry)
{
	static const char *const prefixes[] = {"HEAPCAST_", "MEMORY_PROFILER_"};

	for (unsigned i = 0; i < 2; i++) {
		size_t length = strlen(prefixes[i]);

		if (!strncmp(entry, prefixes[i], length))
			return entry + length;
	}
	return NULL;
}

/* If the list contains this entry's name, returns the entry's value; otherwise NULL. */
static const char *value_in(const char *list, const char *name)
{
	for (; *list; list += strlen(list) + 1) {
		size_t length = strlen(list);

		if (!strncmp(name, list, length) && name[length] == '=')
			return name + length + 1;
	}
	return NULL;
}

const char *settings_wanted(void)
{
	for (const char *list = of_recording; *list; list += strlen(list) + 1)
		for (char *const *entry = env_all(); *entry; entry++) {
			const char *name = name_in(*entry);
			size_t length = strlen(list);

			if (name && !strncmp(name, list, length) && name[length] == '=' &&
			    name[length + 1])
				return list;
		}
	return NULL;
}

int settings_list(struct iovec part[SETTINGS_PARTS])
{
	size_t room = RING_SETTINGS_MAX;
	int count = 0;

	for (char *const *entry = env_all(); *entry; entry++) {
		size_t length = strlen(*entry) + 1;

		if (!name_in(*entry))
			continue;
		if (count == SETTINGS_PARTS || length > room)
			return -E2BIG;
		part[count++] = (struct iovec){.iov_base = *entry, .iov_len = length};
		room -= length;
	}
	return count;
}

bool settings_of_program(const char *entry)
{
	const char *name = name_in(entry);

	return name && value_in(of_program, name);
}

static uint64_t settings_hash(uint64_t so_far, const char *text, size_t length)
{
	while (length--)
		so_far = (so_far ^ (uint8_t)*text++) * HASH_TIMES;
	return so_far;
}

/* Hashes the target of a link in /proc, which names a namespace or a directory. */
static uint64_t hash_link(uint64_t so_far, const char *path)
{
	char text[PATH_MAX];
	long length = sys_call(SYS_readlinkat, AT_FDCWD, path, text, sizeof(text));

	return length > 0 ? settings_hash(so_far, text, (size_t)length) : so_far;
}

static uint64_t hash_entry(const char *entry)
{
	const char *name = name_in(entry), *file;

	if (!name || value_in(of_program, name))
		return 0;
	file = value_in(of_files, name);
	if (file && *file && *file != '/')
		return hash_link(settings_hash(HASH_BEGIN, entry, strlen(entry)), "/proc/self/cwd");
	return settings_hash(HASH_BEGIN, entry, strlen(entry));
}

void settings_digits(char to[SETTINGS_DIGITS + 1])
{
	uint64_t sum = hash_link(hash_link(HASH_BEGIN, "/proc/self/ns/mnt"), "/proc/self/root");

	for (char *const *entry = env_all(); *entry; entry++)
		sum += hash_entry(*entry);
	for (unsigned i = SETTINGS_DIGITS; i-- > 0; sum >>= 4)
		to[i] = "0123456789abcdef"[sum & 15];
	to[SETTINGS_DIGITS] = 0;
}
