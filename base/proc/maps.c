/* Parses the kernel's text into mappings. maps.h describes the interface. */
#include "base/proc/maps.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/proc/file.h"
#include "base/ban.h"

static const struct {
	const char *key;
	size_t length;
} keys[PROC_FIGURES] = {
#define KEY(text)                                                                                  \
	{                                                                                          \
		text ":", sizeof(text)                                                             \
	}
	[PROC_RSS] = KEY("Rss"),
	[PROC_PSS] = KEY("Pss"),
	[PROC_SHARED_CLEAN] = KEY("Shared_Clean"),
	[PROC_SHARED_DIRTY] = KEY("Shared_Dirty"),
	[PROC_PRIVATE_CLEAN] = KEY("Private_Clean"),
	[PROC_PRIVATE_DIRTY] = KEY("Private_Dirty"),
	[PROC_ANONYMOUS] = KEY("Anonymous"),
	[PROC_SWAP] = KEY("Swap"),
#undef KEY
};

void proc_maps_begin(struct proc_maps *m, int fd)
{
	proc_lines_begin(&m->lines, fd, m->memory, sizeof(m->memory));
	m->head = NULL;
	m->damaged = 0;
}

/* Reads a number that `after` must follow. */
static bool maps_number(const char **at, unsigned base, char after, uint64_t *ret)
{
	if (!proc_digits(at, base, ret) || **at != after)
		return false;
	++*at;
	return true;
}

static bool permissions(const char **at, uint32_t *ret)
{
	const char *p = *at;

	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	*ret = (p[0] == 'r' ? PROC_READABLE : 0u) | (p[1] == 'w' ? PROC_WRITABLE : 0u) |
	       (p[2] == 'x' ? PROC_EXECUTABLE : 0u) | (p[3] == 's' ? PROC_SHARED : 0u);
	*at = p + 5;
	return true;
}

static bool is_deleted(const char *path, size_t length)
{
	static const char end[] = " (deleted)";
	size_t tail = sizeof(end) - 1;

	return length > tail && *path == '/' && !memcmp(path + length - tail, end, tail);
}

/* Copies the path, because reading the keys overwrites the line. Restores newlines. */
static uint32_t copy_path(char *to, const char *from, size_t length)
{
	char *const start = to, *const end = to + PROC_PATH_MAX;

	if (length <= PROC_PATH_MAX && !memchr(from, '\\', length)) {
		memcpy(to, from, length + 1);
		return (uint32_t)length;
	}
	while (*from && to < end) {
		bool newline = !strncmp(from, "\\012", 4);

		*to++ = newline ? '\n' : *from;
		from += newline ? 4 : 1;
	}
	*to = '\0';
	return (uint32_t)(to - start);
}

/* Parses "START-END PERM OFFSET MAJOR:MINOR INODE PATH". The kernel writes a blank after the inode,
 * and more blanks before a path. */
static bool parse_head(struct proc_maps *m, const char *line, struct proc_mapping *ret)
{
	struct proc_mapping map = {0};
	const char *at = line;
	uint64_t major, minor;
	size_t length;

	if (!maps_number(&at, 16, '-', &map.start) || !maps_number(&at, 16, ' ', &map.end) ||
	    !permissions(&at, &map.permissions) || !maps_number(&at, 16, ' ', &map.offset) ||
	    !maps_number(&at, 16, ':', &major) || !maps_number(&at, 16, ' ', &minor) ||
	    !maps_number(&at, 10, ' ', &map.inode) || map.start >= map.end || major > UINT32_MAX ||
	    minor > UINT32_MAX)
		return false;
	map.major = (uint32_t)major;
	map.minor = (uint32_t)minor;
	while (*at == ' ')
		at++;
	length = strlen(at);
	if (is_deleted(at, length))
		map.permissions |= PROC_DELETED;
	map.path_length = copy_path(m->path, at, length);
	map.path = m->path;
	*ret = map;
	return true;
}

/* The first line of a mapping begins with a lowercase hexadecimal digit, a key with a capital. */
static bool is_head(const char *line)
{
	return *line && !(*line >= 'A' && *line <= 'Z');
}

/* Stores the number of a known key. Returns false only if a known key has no number. */
static bool parse_key(struct proc_mapping *map, const char *line, size_t length)
{
	for (unsigned i = 0; i < PROC_FIGURES; i++) {
		size_t known = keys[i].length;
		const char *at = line + known;

		if (length <= known || line[known - 1] != ':' || memcmp(line, keys[i].key, known))
			continue;
		while (*at == ' ')
			at++;
		if (maps_number(&at, 10, ' ', &map->figure[i]))
			return true;
		map->figure[i] = 0;
		return false;
	}
	return true;
}

int proc_maps_next(struct proc_maps *m, struct proc_mapping *ret)
{
	char *line = m->head ? m->head : proc_lines_next(&m->lines, NULL);
	struct proc_mapping map;
	bool found = false;
	size_t length = 0;

	m->head = NULL;
	for (; line; line = proc_lines_next(&m->lines, &length)) {
		if (found && is_head(line)) {
			m->head = line;
			break;
		}
		if (found)
			m->damaged += !parse_key(&map, line, length);
		else if (is_head(line))
			m->damaged += !(found = parse_head(m, line, &map));
	}
	if (m->lines.error)
		return m->lines.error;
	if (found)
		*ret = map;
	return found;
}

bool proc_maps_find(int folder, uint64_t address, struct proc_mapping *ret)
{
	cleanup(cleanup_close) int fd = proc_open_file(folder, "maps");
	struct proc_mapping mapping;
	struct proc_maps reader;

	proc_maps_begin(&reader, fd);
	while (proc_maps_next(&reader, &mapping) == 1)
		if (mapping.start <= address && address < mapping.end) {
			mapping.path = "";
			mapping.path_length = 0;
			*ret = mapping;
			return true;
		}
	return false;
}
