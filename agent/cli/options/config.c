/* Reads the daemon's configuration file. See config.h. */
#include "agent/cli/options/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/ban.h"

#define FILE_MAX_BYTES (256u << 10)
#define BLANKS	       " \t\r"

static char *trimmed(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length && strchr(BLANKS, text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

/* A '#' at the beginning or after a blank starts a comment. */
static void cut_comment(char *text)
{
	for (char *at = text; (at = strchr(at, '#')); at++) {
		if (at != text && !strchr(BLANKS, at[-1]))
			continue;
		*at = '\0';
		return;
	}
}

/* Takes a quoted value as it is; otherwise cuts the comment and trims blanks. */
static int unquote(char **value, struct err_text *err)
{
	char *text = *value + strspn(*value, BLANKS), *end;

	if (*text != '"') {
		cut_comment(text);
		*value = trimmed(text);
		return 0;
	}
	end = strchr(text + 1, '"');
	if (!end)
		return err_set(err, -EINVAL, "a quote is opened and not closed");
	cut_comment(end + 1);
	if (*trimmed(end + 1))
		return err_set(err, -EINVAL, "something stands behind the closing quote");
	*end = '\0';
	*value = text + 1;
	return 0;
}

static int parse_line(struct options *o, enum option_command command, char *line,
		      struct err_text *err)
{
	char *name = line + strspn(line, BLANKS), *value;
	int r;

	if (!*name || *name == '#')
		return 0;
	value = strchr(name, '=');
	if (!value)
		return err_set(err, -EINVAL, "expected is NAME = VALUE, or # and a comment");
	*value++ = '\0';
	r = unquote(&value, err);
	return r < 0 ? r : options_file_line(o, command, trimmed(name), value, err);
}

int config_parse(struct options *o, enum option_command command, const char *path, char *text,
		 struct err_text *err)
{
	int r = 0;

	o->from.now = OPTION_FILE;
	o->from.line_now = 0;
	while (!r && text) {
		char *line = text;

		text = strchr(line, '\n');
		if (text)
			*text++ = '\0';
		o->from.line_now++;
		r = parse_line(o, command, line, err);
	}
	if (r < 0)
		err_prefix(err, r, "%s:%u", path, o->from.line_now);
	o->from.line_now = 0;
	return r;
}

/* Reads the whole file, NUL-terminated. Returns 0 or a negative errno. */
static int config_read_all(const char *path, char **ret_text, struct err_text *err)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	cleanup(cleanup_free) char *text = malloc(FILE_MAX_BYTES + 1);
	size_t length = 0;
	ssize_t n = 1;

	if (!text)
		return -ENOMEM;
	while (fd >= 0 && n > 0 && length <= FILE_MAX_BYTES) {
		n = read(fd, text + length, FILE_MAX_BYTES + 1 - length);
		length += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || n < 0)
		return err_set(err, -errno, "can't read the file %s: %s", path, strerror(errno));
	if (length > FILE_MAX_BYTES)
		return err_set(err, -EFBIG, "%s has more than %u bytes: that is no file of options",
			       path, FILE_MAX_BYTES);
	if (memchr(text, '\0', length))
		return err_set(err, -EINVAL, "%s is no text", path);
	text[length] = '\0';
	*ret_text = take_ptr(text);
	return 0;
}

int config_read(struct options *o, enum option_command command, const char *path, char **ret_text,
		struct err_text *err)
{
	cleanup(cleanup_free) char *text = NULL;
	int r = config_read_all(path, &text, err);

	if (!r)
		r = config_parse(o, command, path, text, err);
	if (!r)
		*ret_text = take_ptr(text);
	return r;
}
