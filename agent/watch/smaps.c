/* Parses the kernel's text into regions. See smaps.h. */
#include "agent/watch/smaps.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "heapcast.pb-c.h"
#include "base/ban.h"

static const struct {
	const char *key;
	uint8_t length;
} keys[SMAPS_FIGURES] = {
#define KEY(text)                                                                                  \
	{                                                                                          \
		text ":", sizeof(text)                                                             \
	}
	[SMAPS_RSS] = KEY("Rss"),
	[SMAPS_PSS] = KEY("Pss"),
	[SMAPS_SHARED_CLEAN] = KEY("Shared_Clean"),
	[SMAPS_SHARED_DIRTY] = KEY("Shared_Dirty"),
	[SMAPS_PRIVATE_CLEAN] = KEY("Private_Clean"),
	[SMAPS_PRIVATE_DIRTY] = KEY("Private_Dirty"),
	[SMAPS_ANONYMOUS] = KEY("Anonymous"),
	[SMAPS_SWAP] = KEY("Swap"),
#undef KEY
};

void smaps_begin(struct smaps *s, int fd)
{
	s->fd = fd;
	s->ended = s->skipping = s->pending = false;
	s->error = 0;
	s->damaged = 0;
	s->at = s->length = 0;
}

/* Reads more bytes behind those in the buffer. Returns false at the end of the file, or if the
 * buffer is full. */
static bool fill(struct smaps *s)
{
	ssize_t n;

	memmove(s->buffer, s->buffer + s->at, s->length - s->at);
	s->length -= s->at;
	s->at = 0;
	if (s->ended || s->length == sizeof(s->buffer))
		return false;
	do
		n = read(s->fd, s->buffer + s->length, sizeof(s->buffer) - s->length);
	while (n < 0 && errno == EINTR);
	s->error = n < 0 ? -errno : 0;
	s->ended = n <= 0;
	s->length += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* Returns the line at `at`, and the step to the next line. A line longer than the buffer is
 * truncated, and its rest is skipped. Returns NULL at the end. */
static const char *peek_line(struct smaps *s, size_t *ret_length, size_t *ret_step)
{
	for (;;) {
		const char *line = s->buffer + s->at;
		const char *end = memchr(line, '\n', s->length - s->at);
		size_t length = end ? (size_t)(end - line) : s->length - s->at;

		if (!end && fill(s))
			continue;
		if (!length && !end)
			return NULL;
		line = s->buffer + s->at; /* fill moves the text */
		*ret_length = length;
		*ret_step = length + (end != NULL);
		if (!s->skipping) {
			s->skipping = !end;
			return line;
		}
		s->at += *ret_step;
		s->skipping = !end;
	}
}

static unsigned digit_of(unsigned char c)
{
	unsigned letter = (c | 32u) - 'a';

	if (c >= '0' && c <= '9')
		return c - (unsigned)'0';
	return letter < 6 ? letter + 10 : 16;
}

/* Parses digits of `base` at *at, which `after` must follow. */
static bool number(const char **at, const char *end, unsigned base, char after, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = *at;

	for (; p < end; p++) {
		unsigned digit = digit_of((unsigned char)*p);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (p == *at || p == end || *p != after)
		return false;
	*at = p + 1;
	*ret = value;
	return true;
}

static bool permissions(const char **at, const char *end, uint32_t *ret_flags)
{
	const char *p = *at;

	if (end - p < 5 || p[4] != ' ')
		return false;
	*ret_flags = (p[0] == 'r' ? HEAPCAST__MAP_FLAG__MAP_READABLE : 0u) |
		     (p[1] == 'w' ? HEAPCAST__MAP_FLAG__MAP_WRITABLE : 0u) |
		     (p[2] == 'x' ? HEAPCAST__MAP_FLAG__MAP_EXECUTABLE : 0u) |
		     (p[3] == 's' ? HEAPCAST__MAP_FLAG__MAP_SHARED : 0u);
	*at = p + 5;
	return true;
}

/* Takes the name and restores its newlines. The kernel never writes a NUL; if there is one, the
 * name ends there. */
static void take_name(struct smaps *s, const char *p, const char *end, struct smaps_region *r)
{
	static const char deleted[] = " (deleted)";
	size_t tail = sizeof(deleted) - 1;
	uint32_t n = 0;

	while (p < end && *p == ' ')
		p++;
	if ((size_t)(end - p) > tail && *p == '/' && !memcmp(end - tail, deleted, tail))
		r->flags |= HEAPCAST__MAP_FLAG__MAP_DELETED;
	while (p < end && *p && n < SMAPS_NAME_MAX) {
		bool newline = end - p >= 4 && !memcmp(p, "\\012", 4);

		s->name[n++] = newline ? '\n' : *p;
		p += newline ? 4 : 1;
	}
	s->name[n] = '\0';
	r->name = s->name;
	r->name_length = n;
}

/* Parses "START-END PERM OFFSET MAJOR:MINOR INODE NAME". The kernel writes a blank after the inode,
 * and more blanks before a name. */
static bool parse_head(struct smaps *s, const char *line, size_t length, struct smaps_region *ret)
{
	const char *at = line, *end = line + length;
	uint64_t major, minor;
	struct smaps_region r = {0};

	if (!number(&at, end, 16, '-', &r.start) || !number(&at, end, 16, ' ', &r.end) ||
	    !permissions(&at, end, &r.flags) || !number(&at, end, 16, ' ', &r.offset) ||
	    !number(&at, end, 16, ':', &major) || !number(&at, end, 16, ' ', &minor) ||
	    !number(&at, end, 10, ' ', &r.inode) || r.start >= r.end || major > UINT32_MAX ||
	    minor > UINT32_MAX)
		return false;
	r.major = (uint32_t)major;
	r.minor = (uint32_t)minor;
	take_name(s, at, end, &r);
	*ret = r;
	return true;
}

/* First lines begin with a lowercase hexadecimal digit, keys with a capital. */
static bool is_head(const char *line, size_t length)
{
	return length && !(line[0] >= 'A' && line[0] <= 'Z');
}

static void parse_key(struct smaps *s, const char *line, size_t length)
{
	for (unsigned i = 0; i < SMAPS_FIGURES; i++) {
		const char *at = line + keys[i].length, *end = line + length;

		if (length <= keys[i].length || memcmp(line, keys[i].key, keys[i].length))
			continue;
		while (at < end && *at == ' ')
			at++;
		if (!number(&at, end, 10, ' ', &s->region.figure[i])) {
			s->region.figure[i] = 0;
			s->damaged++;
		}
		return;
	}
}

int smaps_next(struct smaps *s, struct smaps_region *ret)
{
	size_t length, step;
	const char *line;

	while ((line = peek_line(s, &length, &step))) {
		bool head = is_head(line, length);

		if (head && s->pending) { /* the next call parses it */
			s->skipping = false;
			break;
		}
		if (!head && s->pending)
			parse_key(s, line, length);
		else if (head && !(s->pending = parse_head(s, line, length, &s->region)))
			s->damaged++;
		s->at += step;
	}
	if (s->error)
		return s->error;
	if (!s->pending)
		return 0;
	s->pending = false;
	*ret = s->region;
	return 1;
}

uint64_t smaps_key(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		uint64_t value = 0;

		line += *line == '\n';
		if (strncmp(line, key, length) || line[length] != ':')
			continue;
		for (line += length + 1; *line == ' ' || *line == '\t'; line++)
			;
		for (; *line >= '0' && *line <= '9'; line++)
			value = value * 10 + (uint64_t)(*line - '0');
		return value;
	}
	return 0;
}
