/* Writes a recording under other names. See anonymise.h. */
#include "collector/cli/ask/anonymise.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/new_file.h"
#include "collector/cli/output.h"
#include "collector/cli/progress.h"
#include "collector/query/hidden.h"
#include "collector/query/query.h"
#include "base/unnamed_file.h"
#include "collector/recording/info.h"
#include "collector/rewrite/anonymise.h"
#include "base/ban.h"

#define SALT_BYTES 32
#define SALT_MOST  (1u << 20)

struct context {
	const struct option_list *keep;
	struct view *view;
};

static bool keeps(void *context, const char *path)
{
	const struct context *c = context;

	for (size_t i = 0; i < c->keep->count; i++)
		if (!fnmatch(c->keep->texts[i], path, 0) ||
		    !fnmatch(c->keep->texts[i], module_basename(path), 0))
			return true;
	return false;
}

static bool anonymise_frame_of(void *context, uint32_t node, uint32_t index,
			       struct named_frame *ret)
{
	const struct context *c = context;
	struct view_frame frame;

	if (index >= view_frame_count(c->view, node))
		return false;
	frame = view_frame(c->view, node, index);
	*ret = (struct named_frame){frame.function, frame.file, frame.line};
	return true;
}

static char *disguise(void *context, const char *function, const char *word)
{
	(void)context;
	return site_disguise(function, word);
}

/* ---- salt ---- */

static int salt_of_file(const char *path, struct buf *salt, struct err_text *err)
{
	cleanup(cleanup_fclose) FILE *file = fopen(path, "re");
	size_t n;

	if (!file)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!buf_reserve(salt, SALT_MOST))
		return -ENOMEM;
	n = fread(salt->data, 1, SALT_MOST, file);
	if (ferror(file))
		return err_set(err, -EIO, "reading %s: %s", path, strerror(errno));
	if (!n)
		return err_set(err, -EINVAL, "%s is empty: no salt", path);
	salt->length = n;
	return 0;
}

static int salt_of(const struct anonymise_options *choice, struct buf *salt, struct err_text *err)
{
	uint8_t bytes[SALT_BYTES];

	if (choice->salt_file)
		return salt_of_file(choice->salt_file, salt, err);
	if (choice->seed) {
		if (!*choice->seed)
			return err_set(err, -EINVAL, "--seed is empty: no salt");
		buf_string(salt, choice->seed);
		return buf_error(salt);
	}
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_set(err, -EIO, "there is no random salt: %s", strerror(errno));
	buf_append(salt, bytes, sizeof(bytes));
	return buf_error(salt);
}

/* ---- the recording ---- */

/* Opens the recording without filters: the whole recording is renamed, and the filters apply
 * later. */
static int open_whole(struct command_call *call, const struct question_options *o,
		      struct question *ret_question)
{
	struct question_options options = *o;
	struct command_call whole = *call;

	options.filters.count = 0;
	options.at = options.value = NULL;
	whole.options = &options;
	return question_open(&whole, VALUE_ALLOCATED, ret_question);
}

static int anonymise_to(struct command_call *call, const struct anonymise_options *o, int fd)
{
	cleanup(buf_done) struct buf salt = {0};
	static char doing[] = "anonymising";
	struct err_text err = {0};
	struct question q;
	struct context context = {.keep = &o->keep};
	struct anonymise_settings settings = {
		.copy = {.fd = fd, .progress = progress_show, .context = doing},
		.keeps = keeps,
		.frame = anonymise_frame_of,
		.disguise = disguise,
		.context = &context,
	};
	int r, status = open_whole(call, &o->question, &q);

	if (status)
		return status;
	context.view = q.view;
	r = salt_of(o, &salt, &err);
	settings.salt = salt.data;
	settings.salt_length = salt.length;
	if (!r)
		r = recording_anonymise(q.path, &settings, &err);
	status = r < 0 ? command_input_fault(call->command, r, &err) : EXIT_DONE;
	question_close(&q);
	return status;
}

static int write_recording(struct command_call *call, const struct anonymise_options *a)
{
	const struct question_options *o = &a->question;
	cleanup(new_file_done) struct new_file file = NEW_FILE_NONE;
	struct err_text err = {0};
	int r, status;

	if (o->filters.count || o->at || o->value)
		return command_usage_error(
			call->command,
			"a recording is written as a whole: filters go with another --format");
	if (!o->output || (!strcmp(o->output, "-") && isatty(STDOUT_FILENO)))
		return command_usage_error(call->command,
					   "the file to write is missing: --output FILE");
	r = call->argument_count ? output_apart(o->output, call->arguments[0], &err) : 0;
	if (!r)
		r = new_file_open(&file, o->output, o->force, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	status = anonymise_to(call, a, file.fd);
	if (status)
		return status;
	r = new_file_keep(&file, &err);
	return r < 0 ? command_fault(call->command, r, &err) : EXIT_DONE;
}

/* Makes the format from the renamed recording, which is then removed. */
static int write_format(struct command_call *call, const struct anonymise_options *o,
			int (*export)(struct command_call *call))
{
	cleanup(cleanup_close) int fd = unnamed_file();
	char path[64], *arguments[] = {path};
	struct anonymise_options options = *o;
	struct command_call of = *call;
	struct err_text err = {0};
	int status;

	if (fd < 0)
		return command_fault(
			call->command,
			err_set(&err, -errno, "a file in TMPDIR or /var/tmp: %s", strerror(errno)),
			&err);
	status = anonymise_to(call, o, fd);
	if (status)
		return status;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.wanted = false;
	of.options = &options;
	of.arguments = arguments;
	of.argument_count = 1;
	return export(&of);
}

int anonymise_export(struct command_call *call, int (*export)(struct command_call *call))
{
	const struct anonymise_options *o = call->options;
	const char *format = o->question.format;
	bool recording = !format || !strcmp(format, "heapcast");

	return recording ? write_recording(call, o) : write_format(call, o, export);
}

/* ---- options ---- */

const struct option anonymise_table[] = {
	OPTION_FLAG(struct anonymise_options, wanted, "anonymise",
		    "other names for all names, paths, command lines, hosts and users; other "
		    "addresses; without --format a recording (docs/anonymise.md)"),
	OPTION_FLAG(struct anonymise_options, wanted, "anonymize", "the same"),
	OPTION_LIST(
		struct anonymise_options, keep, "keep", "MODULE",
		"this module keeps its name, and its functions theirs: libc.so.6, or a path with "
		"* and ?; may be given more than once"),
	OPTION_TEXT(struct anonymise_options, seed, "seed", "TEXT",
		    "the same text gives the same names, so that two exports can be compared; who "
		    "knows it can guess names (default: a random one)"),
	OPTION_TEXT(struct anonymise_options, salt_file, "salt-file", "FILE",
		    "likewise, the content of a file"),
	{0},
};
