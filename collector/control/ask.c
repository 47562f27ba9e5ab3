/* Asking the collector that writes a folder. See control.h. */
#include "collector/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/control/place.h"
#include "base/ban.h"

static int reach(const char *folder, struct err_text *err)
{
	struct sockaddr_un address;
	cleanup(cleanup_close) int place = control_place(folder, &address);
	cleanup(cleanup_close) int fd = -1;

	if (place < 0)
		return err_set(err, place, "%.300s: %s", folder, strerror(-place));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, -errno, "making a socket: %s", strerror(errno));
	if (!connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return take_fd(fd);
	if (errno == EACCES || errno == EPERM)
		return err_set(err, -EACCES, "the collector of %.300s is another user's", folder);
	return err_set(
		err, -ENOENT,
		"no collector is at work in %.300s: 'collector gather --data %.100s' has the "
		"links to agents",
		folder, folder);
}

static int send_line(int fd, const char *text, struct err_text *err)
{
	char line[CONTROL_LINE];
	int n = snprintf(line, sizeof(line), "%s\n", text);

	if (n < 0 || (size_t)n >= sizeof(line))
		return err_set(err, -EMSGSIZE, "too long a question: %.60s...", text);
	if (send(fd, line, (size_t)n, MSG_NOSIGNAL) != n)
		return err_set(err, -errno, "asking the collector: %s", strerror(errno));
	return 0;
}

static bool is_word(const char *line, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(line, word, length) && (line[length] == ' ' || !line[length]);
}

int control_ask(const char *folder, const char *question,
		void (*line)(void *context, const char *line), void *context, struct err_text *err)
{
	cleanup(cleanup_close) int fd = reach(folder, err);
	cleanup(cleanup_fclose) FILE *answer = NULL;
	char text[CONTROL_LINE];
	int r = fd < 0 ? fd : send_line(fd, question, err);

	if (r < 0)
		return r;
	answer = fdopen(fd, "r");
	if (!answer)
		return -errno;
	take_fd(fd);
	while (fgets(text, sizeof(text), answer) && strchr(text, '\n')) {
		text[strcspn(text, "\n")] = '\0';
		line(context, text);
		if (is_word(text, "ok"))
			return 0;
		if (is_word(text, "no"))
			return 1;
	}
	return err_set(err, -EPROTO, "the collector ended before it had answered");
}
