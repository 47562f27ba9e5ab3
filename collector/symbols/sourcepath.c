/* Joins and normalizes source paths. sourcepath.h describes the interface. */
#include "collector/symbols/sourcepath.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/ban.h"

/* Returns the start of the last component of to[0..length), behind its slash. */
static size_t sourcepath_last_part(const char *to, size_t length)
{
	while (length && to[length - 1] != '/')
		length--;
	return length;
}

/* Appends a component to a normalized path of `length` bytes. Returns the new length. */
static size_t add_part(char *to, size_t length, const char *part, size_t size)
{
	size_t at = sourcepath_last_part(to, length);
	bool up = size == 2 && !memcmp(part, "..", 2);

	if (!size || (size == 1 && part[0] == '.'))
		return length;
	if (up && length == 1 && to[0] == '/')
		return 1;
	if (up && length && !(length - at == 2 && !memcmp(to + at, "..", 2)))
		return at > 1 ? at - 1 : at;
	if (length && to[length - 1] != '/')
		to[length++] = '/';
	memcpy(to + length, part, size);
	return length + size;
}

static size_t sourcepath_add_parts(char *to, size_t length, const char *path)
{
	while (*path) {
		size_t size = strcspn(path, "/");

		if (length + size + 2 > SOURCE_PATH_MAX)
			break;
		length = add_part(to, length, path, size);
		path += size + (path[size] == '/');
	}
	return length;
}

size_t source_path(char to[SOURCE_PATH_MAX], const char *folder, const char *file)
{
	const char *first = file[0] != '/' && folder && *folder ? folder : file;
	size_t excess =
		strlen(file) >= SOURCE_PATH_MAX / 2 ? strlen(file) - SOURCE_PATH_MAX / 2 : 0;
	size_t length = 0;

	if (excess) { /* the end of a path is more informative than the beginning */
		first = file += excess;
		to[length++] = '.';
		to[length++] = '.';
		to[length++] = '.';
	} else if (first[0] == '/') {
		to[length++] = '/';
	}
	if (first != file && strlen(first) < SOURCE_PATH_MAX / 2)
		length = sourcepath_add_parts(to, length, first);
	length = sourcepath_add_parts(to, length, file);
	to[length] = 0;
	return length;
}
