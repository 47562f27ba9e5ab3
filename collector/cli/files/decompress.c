/* collector decompress: restores a recording that `gather --compress-after` compressed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/compress.h"
#include "collector/cli/commands.h"
#include "collector/cli/new_file.h"
#include "collector/recording/compressed.h"
#include "collector/recording/file.h"
#include "base/ban.h"

struct decompress_options {
	struct common_options common;
	const char *output;
	bool force;
};

/* Opens the compressed recording. Returns a descriptor or a negative errno. */
static int decompress_open(const char *path, struct err_text *err)
{
	cleanup(cleanup_close) int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t begin[RECORDING_FILE_HEAD];
	struct compressed head;
	ssize_t n;
	int r;

	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	r = compressed_look(path, fd, &head, err);
	n = r ? 0 : pread(fd, begin, sizeof(begin), 0);
	if (!r && (n < 0 || !recording_file_is(begin, (size_t)n)))
		return err_set(err, -EBADMSG, "%s is no recording", path);
	if (!r)
		r = err_set(err, -EBADMSG,
			    "%s is not compressed: it is as its agent sent it ('collector extract' "
			    "takes out what 'collector pack' put into a recording)",
			    path);
	return r < 0 ? r : take_fd(fd);
}

static int decompress_to(const struct decompress_options *o, const char *path, int from,
			 struct err_text *err)
{
	cleanup(new_file_done) struct new_file file = NEW_FILE_NONE;
	int r = new_file_open(&file, o->output, o->force, err);

	if (!r)
		r = compressed_restore(path, from, file.fd, err);
	return r ? r : new_file_keep(&file, err);
}

static int decompress(const struct decompress_options *o, const char *path, struct err_text *err)
{
	cleanup(cleanup_close) int fd = decompress_open(path, err);

	if (fd < 0)
		return fd;
	return o->output ? decompress_to(o, path, fd, err)
			 : recording_decompress(path, fd, NULL, err);
}

static int decompress_run(struct command_call *call)
{
	const struct decompress_options *o = call->options;
	cleanup(cleanup_free) char *path = NULL, *real = NULL;
	struct err_text err = {0};
	int r;

	if (o->output && !strcmp(o->output, "-") && isatty(STDOUT_FILENO))
		return command_usage_error(call->command, "a recording is nothing for a terminal");
	r = command_find_stream(&o->common, call->arguments[0], &path, &err);
	if (!r) {
		/* A link stays one. */
		real = realpath(path, NULL);
		r = decompress(o, real ? real : path, &err);
	}
	return r < 0 ? command_input_fault(call->command, r, &err) : EXIT_DONE;
}

static const struct option decompress_table[] = {
	OPTION_TEXT(struct decompress_options, output, "output", "FILE",
		    "write the recording here, and leave the compressed one as it is (-: standard "
		    "output)"),
	OPTION_FLAG(struct decompress_options, force, "force", "replace FILE if it is there"),
	{0},
};

static const struct option_group groups[] = {{NULL, decompress_table}, {"Where", data_table}, {0}};

static const struct decompress_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_decompress = {
	.name = "decompress",
	.work = "restoring the recording",
	.summary = "undo 'gather --compress-after': the recording as its agent sent it",
	.usage = "[OPTION...] STREAM",
	.about = "Restores a recording that 'collector gather --compress-after' compressed with\n"
		 "zstd: every byte of it is again what the agent sent. Other commands need no\n"
		 "such thing: they read compressed recordings as they are. Without --output the\n"
		 "recording is restored in its place, and a collector that still has\n"
		 "--compress-after compresses it again.\n",
	.examples = "  collector decompress 5f2c81e09b7d\n"
		    "  collector decompress -o whole.heapcast last\n",
	.groups = groups,
	.options_size = sizeof(struct decompress_options),
	.defaults = &defaults,
	.arguments_min = 1,
	.arguments_max = 1,
	.run = decompress_run,
};
