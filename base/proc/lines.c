/* Reads lines of /proc. lines.h describes the interface. */
#include "base/proc/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/file.h"
#include "base/ban.h"

void proc_lines_begin(struct proc_lines *l, int fd, char *memory, size_t size)
{
	*l = (struct proc_lines){.fd = fd, .memory = memory, .size = size};
}

/* Moves the unread bytes to the front of the memory and reads more behind them. Returns false at
 * the end of the file, or if the memory is full. */
static bool lines_fill(struct proc_lines *l)
{
	ssize_t n;

	memmove(l->memory, l->memory + l->at, l->length - l->at);
	l->length -= l->at;
	l->at = 0;
	if (l->ended || l->length == l->size - 1)
		return false;
	do
		n = read(l->fd, l->memory + l->length, l->size - 1 - l->length);
	while (n < 0 && errno == EINTR);
	l->error = n < 0 ? -errno : 0;
	l->ended = n <= 0;
	l->length += n > 0 ? (size_t)n : 0;
	return n > 0;
}

char *proc_lines_next(struct proc_lines *l, size_t *ret_length)
{
	for (;;) {
		char *line = l->memory + l->at;
		const char *end = memchr(line, '\n', l->length - l->at);
		size_t length = end ? (size_t)(end - line) : l->length - l->at;
		bool skipped = l->skipping;

		if (!end && lines_fill(l))
			continue;
		if (!end && (!length || l->error))
			return NULL;
		line = l->memory + l->at; /* lines_fill may have moved the text */
		line[length] = '\0';
		l->at += length + (end != NULL);
		l->skipping = !end;
		if (skipped)
			continue;
		if (ret_length)
			*ret_length = length;
		return line;
	}
}

static const char *lines_skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

bool proc_number(const char **at, uint64_t *ret)
{
	*at = lines_skip_blanks(*at);
	return proc_digits(at, 10, ret);
}

const char *proc_value(const char *line, const char *name)
{
	for (; *name; name++, line++)
		if (*line != *name)
			return NULL;
	if (*line != ':' && *line != ' ')
		return NULL;
	return lines_skip_blanks(line + 1);
}

static bool lines_take(struct proc_field *field, const char *line)
{
	const char *at = proc_value(line, field->name);
	uint64_t value;

	if (!at || !proc_digits(&at, field->base ? field->base : 10, &value))
		return false;
	field->value = value;
	return true;
}

int proc_fields(int fd, struct proc_field *fields, unsigned count)
{
	char memory[PROC_LINE_MAX];
	struct proc_lines lines;
	uint64_t missing = count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
	const char *line;
	unsigned found = 0;

	proc_lines_begin(&lines, fd, memory, sizeof(memory));
	while (missing && (line = proc_lines_next(&lines, NULL)))
		for (unsigned i = 0; i < count && i < 64; i++)
			if (missing >> i & 1 && lines_take(&fields[i], line)) {
				missing &= ~(UINT64_C(1) << i);
				found++;
				break;
			}
	return lines.error ? lines.error : (int)found;
}

int proc_file_fields(int folder, const char *name, struct proc_field *fields, unsigned count)
{
	cleanup(cleanup_close) int fd = proc_open_file(folder, name);

	return fd < 0 ? fd : proc_fields(fd, fields, count);
}
