/* Reads suppressions, and compares them with texts. See query/suppress.h. */
#include "collector/query/match/suppress.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#include "base/ban.h"

struct suppressions *suppressions_new(bool known)
{
	struct suppressions *s = calloc(1, sizeof(*s));

	if (s)
		s->known = known;
	return s;
}

void suppressions_free(struct suppressions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		free(s->patterns[i]);
	free(s->patterns);
	free(s);
}

size_t suppressions_ignored(const struct suppressions *s, const char **ret_first)
{
	*ret_first = s->first_ignored;
	return s->ignored;
}

size_t suppressions_count(const struct suppressions *s)
{
	return s->count;
}

/* ---- matching ---- */

/* Goes from piece to piece between the stars. Each piece is taken at its first place, so that most
 * of the text is left for the others. The last piece may have to be at the end. */
bool suppression_fits(const char *pattern, const char *text)
{
	const char *at = text, *end = text + strlen(text);
	bool start = *pattern == '^', stop;
	size_t length = strlen(pattern += start);

	stop = length && pattern[length - 1] == '$';
	length -= stop;
	if (at == end)
		return false;
	for (;;) {
		const char *star = memchr(pattern, '*', length), *found;
		size_t piece = star ? (size_t)(star - pattern) : length;

		if ((size_t)(end - at) < piece)
			return false;
		if (!star && stop)
			return !memcmp(end - piece, pattern, piece) &&
			       (!start || end - piece == at);
		if (start)
			found = memcmp(at, pattern, piece) ? NULL : at;
		else
			found = memmem(at, (size_t)(end - at), pattern, piece);
		if (!found || !star)
			return found;
		at = found + piece;
		start = false;
		pattern += piece + 1;
		length -= piece + 1;
	}
}

/* ---- reading ---- */

struct suppress_line {
	const char *path, *text;
	size_t length, number;
};

static int suppress_malformed(const struct suppress_line *line, struct err_text *err)
{
	return err_set(err, -EINVAL,
		       "%s, line %zu: \"%.*s\" is no suppression: it takes leak:PATTERN, or # and "
		       "a comment",
		       line->path, line->number, line->length < 60 ? (int)line->length : 60,
		       line->text);
}

/* Returns the length of "race" in "race:x": letters, digits, '-' and '_' before a colon; 0:
 * none. */
static size_t kind_length(const struct suppress_line *line)
{
	size_t n = 0;

	while (n < line->length && (isalnum((unsigned char)line->text[n]) || line->text[n] == '_' ||
				    line->text[n] == '-'))
		n++;
	return n < line->length && line->text[n] == ':' ? n : 0;
}

static int add_pattern(struct suppressions *s, const struct suppress_line *line, const char *text,
		       size_t length, struct err_text *err)
{
	char **patterns;

	if (!length)
		return suppress_malformed(line, err);
	if (length > SUPPRESSION_BYTES_MAX)
		return err_set(err, -E2BIG, "%s, line %zu: a pattern has at most %d bytes",
			       line->path, line->number, SUPPRESSION_BYTES_MAX);
	if (s->count == SUPPRESSIONS_MAX)
		return err_set(err, -E2BIG, "%s, line %zu: there are at most %d suppressions",
			       line->path, line->number, SUPPRESSIONS_MAX);
	patterns = reallocarray(s->patterns, s->count + 1, sizeof(*patterns));
	if (!patterns)
		return -ENOMEM;
	s->patterns = patterns;
	patterns[s->count] = strndup(text, length);
	if (!patterns[s->count])
		return -ENOMEM;
	s->count++;
	return 0;
}

static int suppress_add_line(struct suppressions *s, struct suppress_line line,
			     struct err_text *err)
{
	size_t kind;

	while (line.length && isspace((unsigned char)line.text[0]))
		line.text++, line.length--;
	while (line.length && isspace((unsigned char)line.text[line.length - 1]))
		line.length--;
	if (!line.length || line.text[0] == '#')
		return 0;
	if (memchr(line.text, 0, line.length))
		return err_set(err, -EINVAL, "%s, line %zu: a NUL byte: this is no text", line.path,
			       line.number);
	kind = kind_length(&line);
	if (!kind)
		return suppress_malformed(&line, err);
	if (kind == 4 && !memcmp(line.text, "leak", 4))
		return add_pattern(s, &line, line.text + 5, line.length - 5, err);
	if (!s->ignored++)
		snprintf(s->first_ignored, sizeof(s->first_ignored), "%.*s",
			 kind < 30 ? (int)kind : 30, line.text);
	return 0;
}

int suppressions_add(struct suppressions *s, const char *path, const char *text, size_t length,
		     struct err_text *err)
{
	struct suppress_line line = {.path = path, .text = text};
	const char *end = text + length;
	int r = 0;

	for (line.number = 1; !r && line.text < end; line.number++) {
		const char *stop = memchr(line.text, '\n', (size_t)(end - line.text));

		line.length = (size_t)((stop ? stop : end) - line.text);
		r = suppress_add_line(s, line, err);
		line.text += line.length + 1;
	}
	return r;
}

/* Opens the file without waiting, even a FIFO that nobody writes to. */
static int suppress_open(const char *path, struct err_text *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat s;

	if (fd < 0)
		return err_set(err, -errno, "reading the suppressions of %s: %s", path,
			       strerror(errno));
	if (!fstat(fd, &s) && S_ISDIR(s.st_mode)) {
		close(fd);
		return err_set(err, -EISDIR, "reading the suppressions of %s: it is a folder",
			       path);
	}
	return fd;
}

static int suppress_take(int fd, const char *path, char *room, size_t *ret_length,
			 struct err_text *err)
{
	size_t length = 0;

	while (length <= SUPPRESSION_FILE_MAX) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		ssize_t n = read(fd, room + length, SUPPRESSION_FILE_MAX + 1 - length);

		if (!n) {
			*ret_length = length;
			return 0;
		}
		if (n > 0)
			length += (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "reading the suppressions of %s: %s", path,
				       strerror(errno));
		else if (!poll(&ready, 1, SUPPRESSION_FILE_SECONDS * 1000))
			return err_set(err, -ETIME,
				       "reading the suppressions of %s: nothing came for %d "
				       "seconds",
				       path, SUPPRESSION_FILE_SECONDS);
	}
	return err_set(err, -E2BIG, "%s is too large for suppressions: at most %d bytes", path,
		       SUPPRESSION_FILE_MAX);
}

int suppressions_read(struct suppressions *s, const char *path, struct err_text *err)
{
	cleanup(cleanup_free) char *room = malloc(SUPPRESSION_FILE_MAX + 1);
	size_t length = 0;
	int fd, r;

	if (!room)
		return -ENOMEM;
	fd = suppress_open(path, err);
	if (fd < 0)
		return fd;
	r = suppress_take(fd, path, room, &length, err);
	close(fd);
	return r ? r : suppressions_add(s, path, room, length, err);
}

void suppressions_put_key(const struct suppressions *s, bool only, struct buf *key)
{
	if (!s)
		return;
	buf_byte(key, s->known + 2u * only);
	for (size_t i = 0; i < s->count; i++)
		buf_append(key, s->patterns[i], strlen(s->patterns[i]) + 1);
}
