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
#include "base/write.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/cli/command.h"
#include "collector/cli/new_file.h"

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

static int output_put(const struct command *command, const char *name, FILE *to, struct buf *out)
{
	struct err_text err = {0};
	int r = buf_error(out);

	if (!r && ((out->length && fwrite(out->data, 1, out->length, to) != out->length) ||
		   fflush(to) != 0))
		r = -errno;
	if (r < 0) {
		output_failed(-r);
		err_set(&err, r, "writing %s: %s", name, strerror(-r));
	}
	return r < 0 ? command_fault(command, r, &err) : EXIT_DONE;
}

static const struct answer_field head_fields[] = {
	BY_HAND("command", ANSWER_TEXT, NULL, "the command that answers"),
	BY_HAND("schema", ANSWER_U64, NULL, "version of the names and units: 1"),
	{0},
};
const struct answer output_head_answer = {"head", head_fields};

void output_json_begin(const struct command *command, struct json *json, struct buf *out)
{
	json_init(json, out);
	json_object(json, NULL);
	json_string(json, "command", command->name);
	json_u64(json, "schema", OUTPUT_SCHEMA);
}

int output_json(const struct command *command, FILE *to, struct buf *json)
{
	buf_byte(json, '\n');
	return output_put(command, "to standard output", to, json);
}

int output_answer(const struct command *command, FILE *to, const struct answer *answer,
		  const void *object)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	output_json_begin(command, &json, &out);
	json_members(&json, answer, object, NULL);
	json_end(&json, '}');
	return output_json(command, to, &out);
}

/* Writes the file. Returns 0, or a negative errno with an error text. */
static int output_replace(const char *path, bool force, struct buf *out, struct err_text *err)
{
	cleanup(new_file_done) struct new_file file = NEW_FILE_NONE;
	int r = buf_error(out);

	if (r)
		return err_set(err, r, "writing %s: %s", path, strerror(-r));
	r = new_file_open_result(&file, path, force, err);
	if (r < 0)
		return r;
	r = write_all(file.fd, out->data, out->length);
	return r < 0 ? err_set(err, r, "writing %s: %s", path, strerror(-r))
		     : new_file_keep(&file, err);
}

int output_write(const struct command *command, const char *path, bool force, struct buf *out)
{
	struct err_text err = {0};
	char absolute[PATH_MAX];
	int r;

	if (!strcmp(path, "-"))
		return output_put(command, "to standard output", stdout, out);
	r = output_replace(path, force, out, &err);
	if (r < 0)
		return command_input_fault(command, r, &err);
	printf("%s\n", realpath(path, absolute) ? absolute : path);
	return EXIT_DONE;
}
