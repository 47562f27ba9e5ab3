/* Writes results to files. See output.h. */
#include "collector/cli/output.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/command.h"

#include "base/ban.h"

int output_weight(const struct command *command, const char *text, enum export_weight *ret_weight)
{
	*ret_weight = EXPORT_BYTES;
	if (!text || !strcmp(text, "bytes"))
		return EXIT_DONE;
	*ret_weight = EXPORT_BLOCKS;
	if (!strcmp(text, "blocks"))
		return EXIT_DONE;
	return command_usage_error(command, "--weight takes bytes or blocks, not '%s'", text);
}

void output_failed(int error)
{
	if (error != EPIPE)
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

int output_apart(const char *output, const char *source, struct err_text *err)
{
	struct stat a, b;

	if (!output || stat(output, &a) < 0 || stat(source, &b) < 0 || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino || !S_ISREG(a.st_mode))
		return 0;
	return err_set(err, -EINVAL, "%s is what is read: name another file for what is written",
		       output);
}

static int output_write_all(FILE *file, const struct buf *out)
{
	if (out->length && fwrite(out->data, 1, out->length, file) != out->length)
		return -errno;
	return fflush(file) != 0 ? -errno : 0;
}

int output_write(const struct command *command, const char *path, struct buf *out)
{
	cleanup(cleanup_fclose) FILE *file = NULL;
	bool standard = !strcmp(path, "-");
	struct err_text err = {0};
	char absolute[PATH_MAX];
	int r = buf_error(out);

	if (!standard) {
		file = r ? NULL : fopen(path, "we");
		if (!r && !file)
			r = -errno;
	}
	if (!r)
		r = output_write_all(standard ? stdout : file, out);
	if (r < 0) {
		output_failed(-r);
		err_set(&err, r, "writing %s: %s", standard ? "to standard output" : path,
			strerror(-r));
		return command_fault(command, r, &err);
	}
	if (!standard)
		printf("%s\n", realpath(path, absolute) ? absolute : path);
	return EXIT_DONE;
}
