/* Parses a command's options by its tables, and holds what all commands share. See command.h. */
#include "collector/cli/command.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/cli/here.h"
#include "collector/cli/last.h"
#include "collector/cli/pager.h"
#include "collector/cli/progress.h"
#include "collector/cli/terminal.h"
#include "collector/formats/foreign.h"
#include "collector/formats/formats.h"
#include "collector/formats/read/reader.h"
#include "collector/recording/recording.h"
#include "base/ban.h"

#define USAGE_INDENT 4
#define WORD_MAX     32
#define HEAD_BYTES   4096

#define OPTION_DATA                                                                                \
	OPTION_TEXT(struct common_options, data, "data", "DIR",                                    \
		    "folder of the recordings (" DEFAULT_DATA ")")
#define OPTIONS_FOLDER                                                                             \
	OPTION_DATA, OPTION_FLAG(struct common_options, json, "json", "print JSON instead of text")
#define OPTIONS_COMMON                                                                             \
	OPTIONS_FOLDER, OPTION_TEXT(struct common_options, select, "select", "'NAME=PATTERN...'",  \
				    "only streams that match all of these; STREAM is the newest "  \
				    "of them, or one of them. NAME: id, name, executable, host, "  \
				    "architecture, board, cgroup, service, build, pid, state, "    \
				    "version, tag:KEY; != for what must not match; * and ? in "    \
				    "PATTERN; a,b for either")
#define OPTIONS_ANSWER                                                                             \
	OPTIONS_COMMON,                                                                            \
		OPTION_TEXT(struct common_options, pager, "pager", "CMD",                          \
			    "what shows a long answer on a terminal ($PAGER, else less)"),         \
		OPTION_FLAG(struct common_options, no_pager, "no-pager",                           \
			    "print it on the terminal as it comes")

const struct option data_table[] = {OPTION_DATA, {0}};
const struct option folder_table[] = {OPTIONS_FOLDER, {0}};
const struct option common_table[] = {OPTIONS_COMMON, {0}};
const struct option answer_table[] = {OPTIONS_ANSWER, {0}};
const struct option asking_table[] = {
	OPTIONS_ANSWER,
	OPTION_FLAG(struct common_options, full_names, "full-names",
		    "functions with template arguments and parameters"),
	OPTION_FLAG(struct common_options, wide, "wide",
		    "do not cut lines to the width of the terminal"),
	{0},
};

/* ---- messages ---- */

int command_usage_error(const struct command *command, const char *format, ...)
{
	va_list args;

	program_printf(stderr, "collector %s: ", command->name);
	va_start(args, format);
	program_vprintf(stderr, format, args);
	va_end(args);
	program_printf(stderr, "\nTry 'collector %s --help'.\n", command->name);
	return EXIT_USAGE;
}

void command_note(const struct command *command, const char *format, ...)
{
	va_list args;

	program_printf(stderr, "collector %s: ", command->name);
	va_start(args, format);
	program_vprintf(stderr, format, args);
	va_end(args);
	program_printf(stderr, "\n");
}

void command_note_opening(const struct command *command, const struct recording *recording)
{
	struct err_text news;

	if (recording_opening_news(recording, &news))
		command_note(command, "%s", news.text);
}

int command_fault(const struct command *command, int error, const struct err_text *err)
{
	program_printf(stderr, "collector %s: %s\n", command->name, err_get(err, error));
	return EXIT_FAULT;
}

int command_input_fault(const struct command *command, int error, const struct err_text *err)
{
	int status = command_fault(command, error, err);

	switch (error) {
	case -ENOENT:
	case -EEXIST:
	case -EINVAL:
	case -EBADMSG:
	case -EISDIR:
	case -ENOTDIR:
		return EXIT_USAGE;
	default:
		return status;
	}
}

/* Refuses files of other tools, and names the command that imports them. */
static int refuse_foreign(const char *path, char **found, struct err_text *err)
{
	static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
	cleanup(cleanup_fclose) FILE *file = fopen(path, "re");
	uint8_t head[HEAD_BYTES];
	size_t length = file ? fread(head, 1, sizeof(head), file) : 0;
	const char *format = NULL, *foreign = format_foreign(head, length);

	if (foreign) {
		free(*found);
		*found = NULL;
		return err_set(err, -EBADMSG,
			       "%.200s is no recording of heapcast: it looks like %s", path,
			       foreign);
	}
	/* Any line that ends in a number can be collapsed stacks, so other formats take
	 * precedence. */
	for (const struct format *f = formats; f->name; f++)
		if (f->reader && f->reader->is(head, length) &&
		    (!format || f->reader != &collapsed_reader))
			format = f->name;
	if (length > sizeof(zstd) &&
	    (!memcmp(head, gzip, sizeof(gzip)) || !memcmp(head, zstd, sizeof(zstd))))
		format = "packed";
	if (!format)
		return 0;
	free(*found);
	*found = NULL;
	return err_set(
		err, -EBADMSG,
		"%.200s is no recording of heapcast (%s): 'collector import %.200s' makes one "
		"of it",
		path, format, path);
}

/* Tells whether the name is neither an id nor another name of a stream. */
static bool is_no_stream(const char *name)
{
	return *name && strcmp(name, "last") != 0 && strncmp(name, "snapshot:", 9) != 0 &&
	       strspn(name, "0123456789abcdef") != strlen(name);
}

static bool command_is_folder(const char *path, const char *holds)
{
	char name[PATH_MAX];
	struct stat st;

	return snprintf(name, sizeof(name), "%s/%s", path, holds) < (int)sizeof(name) &&
	       !stat(name, &st) && S_ISDIR(st.st_mode);
}

/* Tells whether this is the folder of one stream. */
static bool command_is_stream(const char *path)
{
	char name[PATH_MAX];

	return snprintf(name, sizeof(name), "%s/recording.heapcast", path) < (int)sizeof(name) &&
	       !access(name, F_OK);
}

/* Finds a recording in a folder that is not a stream: one with recordings as files, or a data
 * folder. */
static int find_in_folder(const char *folder, char **ret_path, struct err_text *err)
{
	struct here_list files = {0};
	char names[400];
	int r = here_find(folder, &files);

	here_names(&files, names, sizeof(names));
	if (!r && files.count > 1)
		r = err_set(err, -EEXIST, "%.80s is a folder with %zu recordings; name one: %s",
			    folder, files.count, names);
	else if (!r && files.count)
		r = (*ret_path = take_ptr(files.list[0].path)) ? 0 : -ENOMEM;
	else if (!r && command_is_folder(folder, "streams"))
		r = err_set(err, -EISDIR,
			    "%.200s is a data folder: --data %.200s last takes its newest stream",
			    folder, folder);
	else if (!r)
		r = store_find(NULL, folder, ret_path, err);
	here_done(&files);
	return r;
}

/* Finds a file in the working folder by the process id in its name. */
static bool find_of_pid(const char *stream, char **ret_path)
{
	struct here_list files = {0};
	const char *path = NULL;

	if (*stream && strspn(stream, "0123456789") == strlen(stream) && !here_find(".", &files))
		path = here_of_pid(&files, stream);
	*ret_path = path ? strdup(path) : NULL;
	here_done(&files);
	return *ret_path;
}

static int find_in_store(const char *data, const char *stream, char **ret_path,
			 struct err_text *err)
{
	struct store *store = NULL;
	int r = store_open(data, STORE_READ, &store, err);

	if (r < 0)
		return r;
	r = store_find(store, stream, ret_path, err);
	store_close(store);
	return r;
}

static int find_selected(const struct common_options *options, const char *stream, char **ret_path,
			 struct err_text *err)
{
	struct store *store = NULL;
	int r = store_open(options->data, STORE_READ, &store, err);

	if (!r)
		r = store_find_selected(store, options->select, stream, ret_path, err);
	store_close(store);
	return r;
}

static int no_such_stream(const char *stream, struct err_text *err)
{
	return err_set(err, -ENOENT,
		       "there is no file %.200s here, and no stream is called so ('collector list' "
		       "shows all)",
		       stream);
}

int command_find_stream(const struct common_options *options, const char *stream, char **ret_path,
			struct err_text *err)
{
	bool elsewhere = store_name_is_path(stream) || !strncmp(stream, "snapshot:", 9);
	int r;

	if (options->select_typed && elsewhere)
		return err_set(err, -EINVAL,
			       "--select chooses among the streams in %.200s, and %.200s names one "
			       "by itself: leave out one of them",
			       options->data, stream);
	if (options->select && !elsewhere)
		return find_selected(options, stream, ret_path, err);
	if (store_name_is_path(stream)) {
		if (command_is_folder(stream, ".") && !command_is_stream(stream))
			return find_in_folder(stream, ret_path, err);
		r = store_find(NULL, stream, ret_path, err);
		return r < 0 ? r : refuse_foreign(stream, ret_path, err);
	}
	if (is_no_stream(stream))
		return no_such_stream(stream, err);
	if (!strcmp(stream, "last"))
		return last_find(options->data, options->data_only, ret_path, err);
	r = find_in_store(options->data, stream, ret_path, err);
	if (r == -ENOENT && !options->data_only) {
		if (find_of_pid(stream, ret_path))
			return 0;
		if (!command_is_folder(options->data, "streams"))
			return no_such_stream(stream, err);
	}
	return r;
}

/* ---- options ---- */

static const struct option_renamed renamed[] = {
	{"young", "recent"},
	{"freed-at-once", "temporary"},
	{0},
};

/* Replaces the {words} of a help text by the command's own text. Returns NULL if the command has
 * none. */
static char *command_filled(const void *context, const char *text)
{
	cleanup(buf_done) struct buf out = {0};
	const struct command *command = context;
	char word[WORD_MAX];
	const char *brace;
	size_t length;

	if (!command->fill)
		return NULL;
	for (; (brace = strchr(text, '{')); text = brace + strlen(word) + 2) {
		buf_append(&out, text, (size_t)(brace - text));
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(brace + 1, "}"), brace + 1);
		command->fill(word, &out);
	}
	buf_string(&out, text);
	return buf_text(&out) ? (char *)buf_take(&out, &length) : NULL;
}

static struct option_set command_options(const struct command *command)
{
	return (struct option_set){.groups = command->groups,
				   .renamed = renamed,
				   .filled = command_filled,
				   .context = command};
}

void command_help(const struct command *command)
{
	cleanup(cleanup_free) char *about = command_filled(command, command->about);
	const struct option_set set = command_options(command);

	options_print_wrapped(command->usage,
			      program_printf(stdout, "Usage: collector %s", command->name),
			      USAGE_INDENT);
	fputc('\n', stdout);
	program_print(stdout, about ? about : command->about);
	options_print_help(&set);
	if (command->examples) {
		printf("\nExamples:\n");
		program_print(stdout, command->examples);
	}
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

static int check_count(const struct command *command, int count)
{
	if (count < command->arguments_min)
		return command_usage_error(command, "something is missing: collector %s %s",
					   command->name, command->usage);
	if (command->arguments_max >= 0 && count > command->arguments_max)
		return command_usage_error(command, "too many arguments: collector %s %s",
					   command->name, command->usage);
	return 0;
}

/* Returns a new options struct, with zeros or the command's defaults, or NULL without memory. */
static char *command_new_options(const struct command *command)
{
	char *options = calloc(1, command->options_size + 1);

	if (options && command->defaults)
		memcpy(options, command->defaults, command->options_size);
	return options;
}

/* Parses the command line first: a variable that it overrides need not be valid. */
static int command_parse(const struct option_target *target, int argc, char **argv,
			 struct err_text *err)
{
	int first = options_parse(target, argc, argv, err);
	int r = first < 0 ? first : options_variables(target, &options_own_environment, err);

	return r < 0 ? r : first;
}

static const char *option_text(const struct option_target *target, int index)
{
	const char *const *at = (const void *)((const char *)target->options +
					       options_at(target->set, (size_t)index)->offset);

	return *at;
}

static int command_run(const struct command *command, const struct option_target *target, int argc,
		       char **argv)
{
	struct err_text err = {{0}};
	int first = command_parse(target, argc, argv, &err), status, index;

	if (first < 0)
		return command_input_fault(command, first, &err);
	status = check_count(command, argc - first);
	if (status)
		return status;
	if (command->options_size >= sizeof(struct common_options)) {
		struct common_options *common = target->options;

		if (!common->data)
			common->data = DEFAULT_DATA;
		terminal_show(common->full_names, common->wide);
		index = options_find(target->set, "json", strlen("json"));
		if (common->json && command->is_file &&
		    target->sources->of[index] == OPTION_ARGUMENT)
			return command_usage_error(
				command, "it answers with a file, not with JSON%s",
				strcmp(command->name, "export") ? "" : ": --format json");
		/* Hidden commands run inside another program, which has its own display. */
		if (command->hidden)
			progress_never();
		if (command->work)
			progress_work(command->work);
		pager_begin(!common->no_pager && !command->hidden &&
				    options_find(target->set, "pager", strlen("pager")) >= 0,
			    common->pager);
		index = options_find(target->set, "data", strlen("data"));
		common->data_only = index >= 0 && target->sources->of[index] == OPTION_ARGUMENT;
		index = options_find(target->set, "select", strlen("select"));
		common->select_typed = index >= 0 && target->sources->of[index] == OPTION_ARGUMENT;
		if (common->select && !common->select_typed && !*common->select)
			common->select = NULL; /* HEAPCAST_SELECT= means "not set" */
		index = options_find(target->set, "store", strlen("store"));
		common->store_typed = index >= 0 && target->sources->of[index] == OPTION_ARGUMENT;
		if (common->store_typed && !*option_text(target, index))
			return command_usage_error(
				command, "--store is empty: it takes clickhouse://HOST/DATABASE");
	}
	return command->run(
		&(struct command_call){command, target->options, argv + first, argc - first});
}

const char *command_store(const struct common_options *options, const char *store)
{
	return store && *store && (options->store_typed || !options->data_only) ? store : NULL;
}

int command_store_check(const struct command *command, const struct common_options *options)
{
	return options->store_typed && options->data_only
		       ? command_usage_error(command,
					     "--store and --data: ask either the data base that "
					     "collectors share, or a folder")
		       : EXIT_DONE;
}

int command_main(const struct command *command, int argc, char **argv)
{
	const struct option_set set = command_options(command);
	cleanup(cleanup_free) char *options = command_new_options(command);
	struct option_sources sources = {0};
	const struct option_target target = {&set, options, &sources};
	int status;

	if (wants_help(argc, argv)) {
		command_help(command);
		return EXIT_DONE;
	}
	if (!options)
		return command_fault(command, -ENOMEM, NULL);
	status = command_run(command, &target, argc, argv);
	progress_never();
	options_done(&set, options);
	return status;
}
