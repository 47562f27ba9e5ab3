/* Expands file names of recordings. See naming.h. */
#include "agent/core/naming.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "base/ban.h"

static int naming_append(char *out, size_t size, size_t *length, const char *text)
{
	size_t n = strlen(text);

	if (n >= size - *length)
		return -ENAMETOOLONG;
	memcpy(out + *length, text, n + 1);
	*length += n;
	return 0;
}

static void clean(char *name)
{
	uint32_t code = 0;

	for (size_t n; *name; name += n) {
		n = utf8_next(name, strnlen(name, 4), &code);
		if (n && utf8_shows(code) && code != '/')
			continue;
		n = n ? n : 1;
		memset(name, '_', n);
	}
}

int naming_expand(char *out, size_t size, const char *pattern, const char *program, uint64_t wall_s,
		  int64_t pid, uint32_t counter)
{
	size_t length = 0;
	char piece[256];

	out[0] = '\0';
	for (const char *p = pattern; *p; p++) {
		if (*p != '%') {
			snprintf(piece, sizeof(piece), "%c", *p);
		} else {
			switch (*++p) {
			case 'e':
				snprintf(piece, sizeof(piece), "%s", program);
				clean(piece);
				break;
			case 't':
				snprintf(piece, sizeof(piece), "%llu", (unsigned long long)wall_s);
				break;
			case 'p':
				snprintf(piece, sizeof(piece), "%lld", (long long)pid);
				break;
			case 'n':
				snprintf(piece, sizeof(piece), "%u", counter);
				break;
			case '%':
				snprintf(piece, sizeof(piece), "%%");
				break;
			default:
				return -EINVAL;
			}
		}
		if (naming_append(out, size, &length, piece) < 0)
			return -ENAMETOOLONG;
	}
	return length ? 0 : -EINVAL;
}

bool naming_is_plain(const char *pattern)
{
	for (; (pattern = strchr(pattern, '%')); pattern += 2)
		if (pattern[1] != '%')
			return false;
	return true;
}

int naming_number(char *path, size_t size, char mark, uint32_t number)
{
	char *name = strrchr(path, '/'), *ending = strrchr(name ? name : path, '.'), text[16];
	size_t length = strlen(path), more;

	if (!ending || ending == path || ending[-1] == '/')
		ending = path + length;
	more = (size_t)snprintf(text, sizeof(text), "%c%u", mark, number);
	if (length + more >= size)
		return -ENAMETOOLONG;
	memmove(ending + more, ending, strlen(ending) + 1);
	memcpy(ending, text, more);
	return 0;
}
