/* The process that imports a file that came over HTTP. collector/http/server/import.c starts it; it
 * is not for people. The file is its standard input. It writes the result to standard output: the
 * answer, or "STATUS sentence". It is a separate process so that a hostile file cannot harm the
 * server. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/commands.h"
#include "collector/cli/files/import_said.h"
#include "collector/answers/json.h"
#include "collector/formats/formats.h"
#include "collector/formats/import.h"
#include "collector/http/server/import.h"
#include "collector/catalogue/continue.h"
#include "collector/catalogue/store.h"
#include "collector/recording/file.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

DEFINE_CLEANUP(symbols_free, struct symbols *)
DEFINE_CLEANUP(store_close, struct store *)

#define INPUT "/proc/self/fd/0"

enum argument { DATA, DISK, MEMORY, NAME, FORMAT, UNIT, ARGUMENTS };

static int import_worker_status_of(int error)
{
	switch (error) {
	case -EBADMSG:
	case -EINVAL:
		return 400;
	case -EBUSY:
	case -EEXIST:
		return 409;
	case -EFBIG:
	case -ENOMEM:
		return 422;
	case -ENOSPC:
	case -EDQUOT:
		return 507;
	default:
		return 500;
	}
}

static int limit(int which, const char *text)
{
	uint64_t most;

	if (parse_u64(text, &most) < 0)
		return -EINVAL;
	if (!most)
		return 0;
	return setrlimit(which, &(struct rlimit){most, most}) < 0 ? -errno : 0;
}

/* Limits what a hostile file can cost. If the result grows too large, the write fails, and that
 * error is reported. */
static int hold_to_limits(struct command_call *call, struct err_text *err)
{
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGXFSZ, SIG_IGN);
	(void)!nice(10);
	r = limit(RLIMIT_FSIZE, call->arguments[DISK]);
	if (!r)
		r = limit(RLIMIT_DATA, call->arguments[MEMORY]);
	return r < 0 ? err_set(err, r, "the limits of an import can't be set: %s", strerror(-r))
		     : 0;
}

/* Recognizes a recording by its beginning. No other file that can be imported begins like it. */
static bool import_worker_is_recording(void)
{
	unsigned char head[RECORDING_FILE_HEAD];
	ssize_t n = pread(STDIN_FILENO, head, sizeof(head), 0);

	return n > 0 && recording_file_is(head, (size_t)n);
}

/* Puts the file's own name into the message. The sender does not know it as our standard input. */
static void name_it(struct err_text *err, const char *name)
{
	struct err_text said = *err;
	char *at = strstr(said.text, INPUT);

	if (!at)
		return;
	*at = '\0';
	err_set(err, 0, "%s%s%s", said.text, name, at + strlen(INPUT));
}

static int take_recording(struct store *store, const char *name, struct import_result *ret,
			  struct err_text *err)
{
	static const char *const paths[] = {INPUT};
	struct stream_continued continued;
	int r = store_continue(store, paths, 1, NULL, NULL, &continued, err);

	if (r < 0) {
		name_it(err, name);
		return r;
	}
	if (continued.damaged)
		continued.damaged = name;
	import_say_continued(&continued, ret);
	return 0;
}

static int take_profile(struct store *store, struct command_call *call, struct import_result *ret,
			struct err_text *err)
{
	cleanup(cleanup_symbols_free) struct symbols *symbols = NULL;
	const char *format = call->arguments[FORMAT], *unit = call->arguments[UNIT];
	struct import_options options = {.format = strcmp(format, "-") != 0 ? format : NULL,
					 .unit = strcmp(unit, "-") != 0 ? unit : NULL};
	char names[FORMAT_NAMES_MAX];
	int r;

	if (options.format && !format_to_read(options.format))
		return err_set(err, -EINVAL, "format takes %s, not \"%.40s\"",
			       format_names_read(names, " or "), format);
	r = symbols_new(&(struct symbols_options){0}, &symbols, err);
	options.symbols = symbols;
	return r < 0 ? r
		     : import_fd_to_store(dup(STDIN_FILENO), call->arguments[NAME], store, &options,
					  ret, err);
}

static void say_done(const char *name, const struct import_result *result)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	json_init(&json, &out);
	json_object(&json, NULL);
	import_say_members(&json, name, result);
	json_end(&json, '}');
	fwrite(out.data, 1, out.length, stdout);
	fflush(stdout);
}

static int import_worker_run(struct command_call *call)
{
	cleanup(cleanup_store_close) struct store *store = NULL;
	struct import_result result = {0};
	struct err_text err = {0};
	int r = hold_to_limits(call, &err);

	if (!r)
		r = store_open(call->arguments[DATA], STORE_ADD, &store, &err);
	if (!r && import_worker_is_recording())
		r = take_recording(store, call->arguments[NAME], &result, &err);
	else if (!r)
		r = take_profile(store, call, &result, &err);
	if (r < 0) {
		printf("%d %s\n", import_worker_status_of(r), err_get(&err, r));
		return EXIT_FAULT;
	}
	say_done(call->arguments[NAME], &result);
	return EXIT_DONE;
}

const struct command command_import_worker = {
	.name = IMPORT_WORKER,
	.summary = "imports a file for another collector",
	.usage = "",
	.about = "Imports what is on standard input; started by other commands.\n",
	.hidden = true,
	.arguments_min = ARGUMENTS,
	.arguments_max = ARGUMENTS,
	.run = import_worker_run,
};
