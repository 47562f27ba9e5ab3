/* Runs the program `dot` as a child. It reads the graph from an unnamed file, and writes to our
 * file. See dot.h. */
#include "collector/cli/files/dot.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#include "base/ban.h"

extern char **environ;

static int dot_hand_over(const struct buf *text, int *ret_fd)
{
	cleanup(cleanup_close) int fd = memfd_create("callgraph", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < text->length;) {
		ssize_t n = write(fd, text->data + done, text->length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	*ret_fd = take_fd(fd);
	return 0;
}

static int dot_start(int in, int out, const char *kind, pid_t *ret_pid)
{
	char program[] = "dot", form[16];
	char *const arguments[] = {program, form, NULL};
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	snprintf(form, sizeof(form), "-T%s", kind);
	r = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!r)
		r = posix_spawnp(ret_pid, program, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int dot_draw(const struct buf *text, const char *kind, FILE *file, struct err_text *err)
{
	cleanup(cleanup_close) int in = -1;
	int status, r = fflush(file) ? -errno : dot_hand_over(text, &in);
	pid_t pid;

	if (!r)
		r = dot_start(in, fileno(file), kind, &pid);
	if (r == -ENOENT)
		return err_set(
			err, -ENOPKG,
			"drawing takes the program dot, which is not there: install graphviz, or "
			"take --format callgraph, which writes what dot reads");
	if (r < 0)
		return err_set(err, r, "starting dot: %s", strerror(-r));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(err, -EIO, "dot could not draw the call graph as %s", kind);
	return 0;
}
