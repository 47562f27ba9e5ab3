/* collector symbols: manages the files that name the code of recordings. It adds them, fetches them
 * from agents, lists them, and says which are missing. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/cli/build_id.h"
#include "collector/cli/commands.h"
#include "collector/cli/output.h"
#include "collector/cli/ask/symbol_sources.h"
#include "collector/cli/run/symbols_agents.h"
#include "collector/cli/run/symbols_brought.h"
#include "collector/cli/table.h"
#include "collector/cli/terminal.h"
#include "collector/cli/progress.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/answers/unnamed.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

struct symbols_command_options {
	struct common_options common;
	struct symbol_choice symbols;
	const char *build_id;
};

/* ---- add ---- */

struct adding {
	const char *folder;
	size_t added, known, failed;
};

static void symbols_add_file(struct adding *a, const char *path, bool named)
{
	struct err_text err = {0};
	int r = symbols_store_add(a->folder, path, &err);

	if (r >= 0) {
		a->added += r == 0;
		a->known += r == 1;
	} else if (named || (r != -ENOEXEC && r != -ENODATA)) {
		program_printf(stderr, "collector symbols: %s\n", err_get(&err, r));
		a->failed++;
	}
}

static void add_named(struct adding *a, const char *path)
{
	if (symbols_is_recording(path))
		symbols_add_brought(a->folder, path, &a->added, &a->known, &a->failed);
	else
		symbols_add_file(a, path, true);
}

/* Adds the ELF files of a folder. Skips files that are not ELF or have no build id. The store
 * itself may lie in the folder. */
static int add_folder(struct adding *a, char *path)
{
	char *const paths[] = {path, NULL};
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	struct stat store = {0}, *at;
	FTSENT *entry;

	if (!walk)
		return -errno;
	if (stat(a->folder, &store))
		store = (struct stat){0};
	while ((entry = fts_read(walk))) {
		at = entry->fts_statp;
		if (entry->fts_info == FTS_D && store.st_ino && at->st_ino == store.st_ino &&
		    at->st_dev == store.st_dev)
			fts_set(walk, entry, FTS_SKIP);
		if (entry->fts_info == FTS_F)
			symbols_add_file(a, entry->fts_path, false);
		if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) {
			program_printf(stderr, "collector symbols: %s: %s\n", entry->fts_path,
				       strerror(entry->fts_errno));
			a->failed++;
		}
	}
	fts_close(walk);
	return 0;
}

static int symbols_add(struct command_call *call, const char *folder)
{
	struct adding a = {.folder = folder};

	if (call->argument_count < 2)
		return command_usage_error(call->command, "add takes FILE... or DIR...");
	for (int i = 1; i < call->argument_count; i++) {
		struct stat st;

		if (!stat(call->arguments[i], &st) && S_ISDIR(st.st_mode)) {
			int r = add_folder(&a, call->arguments[i]);

			if (r < 0)
				return command_fault(call->command, r, NULL);
		} else {
			add_named(&a, call->arguments[i]);
		}
	}
	printf("%zu added", a.added);
	if (a.known)
		printf(", %zu there already", a.known);
	if (a.failed)
		printf(", %zu not", a.failed);
	printf(": %s\n", folder);
	return a.failed ? EXIT_FAULT : EXIT_DONE;
}

/* ---- list ---- */

struct told_symbol_file {
	struct symbol_file file;
	bool symbols;
	const char *which;
};

#define ANSWER_OF struct told_symbol_file
static const struct answer_field file_fields[] = {
	ROW_HEX("build_id", file.build_id, file.build_id_length, "", SHOWN(1, "BUILD ID", -40)),
	ROW("path", file.path, NULL, "path of the copy", SHOWN(6, "PATH", 0)),
	ROW("symbols", symbols, NULL, "true: it has a symbol table"),
	ROW("which", which, NULL, "", .when = COLUMN_ONLY, SHOWN(2, "SYMBOLS", -8)),
	ROW("lines", file.lines, NULL, "true: it has source lines",
	    SHOWN(3, "LINES", -6, .form = COLUMN_DASH)),
	ROW("inlines", file.inlines, NULL, "true: it has functions with inlined frames",
	    SHOWN(4, "INLINES", -8, .form = COLUMN_DASH)),
	ROW("bytes", file.size, "bytes", "", SHOWN(5, "SIZE", 9)),
	{0},
};
#undef ANSWER_OF
static const struct answer file_answer = {"symbol_file", file_fields};

static const struct answer_field files_fields[] = {
	BY_HAND("files", ANSWER_OBJECT, NULL, "files that name functions", .of = &file_answer,
		.shape = ANSWER_LIST),
	{0},
};
static const struct answer files_answer = {"symbol_files", files_fields};

struct listing {
	struct json *json; /* NULL: text */
	size_t count;
};

static int list_file(void *context, const struct symbol_file *f)
{
	struct listing *l = context;
	const struct told_symbol_file told = {.file = *f,
					      .symbols = f->symbols || f->exports,
					      .which = f->symbols   ? "yes"
						       : f->exports ? "exported"
								    : "-"};

	if (l->json) {
		json_object_of(l->json, NULL, &file_answer, &told, NULL);
		return 0;
	}
	if (!l->count++)
		table_head(&file_answer, STYLE_PLAIN);
	table_row(&file_answer, &told);
	return 0;
}

static int symbols_list(struct command_call *call, const char *folder)
{
	const struct symbols_command_options *o = call->options;
	cleanup(buf_done) struct buf out = {0};
	struct listing l = {0};
	struct json json;
	int r;

	if (call->argument_count > 1)
		return command_usage_error(call->command, "list takes no argument, not '%.60s'",
					   call->arguments[1]);
	output_json_begin(call->command, &json, &out);
	json_array(&json, "files");
	l.json = o->common.json ? &json : NULL;
	r = symbols_store_each(folder, list_file, &l);
	json_end(&json, ']');
	json_end(&json, '}');
	if (r < 0)
		return command_fault(call->command, r, NULL);
	if (o->common.json)
		return output_json(call->command, stdout, &out);
	if (!l.count)
		program_printf(stdout,
			       "No symbol files in %s: 'collector symbols add FILE...' copies them "
			       "there.\n",
			       folder);
	return EXIT_DONE;
}

/* ---- missing ---- */

struct told_unnamed {
	struct unnamed_code code;
	const char *places, *path;
};

#define ANSWER_OF struct told_unnamed
static const struct answer_field missing_fields[] = {
	ROWS_OF(unnamed_answer, code),
	ROW("of", places, NULL, "", .when = COLUMN_ONLY, SHOWN(1, "PLACES", 13)),
	ROW("path", path, NULL, "", .when = COLUMN_ONLY, SHOWN(4, "MODULE", 0)),
	{0},
};
#undef ANSWER_OF
static const struct answer missing_answer = {"missing", missing_fields};

static const struct answer_field unnamed_fields[] = {
	BY_HAND("modules", ANSWER_OBJECT, NULL,
		"modules with places that have no name, those that hide most bytes first",
		.of = &unnamed_answer, .shape = ANSWER_LIST),
	{0},
};
static const struct answer unnamed_modules_answer = {"unnamed_modules", unnamed_fields};

static void print_missing(const struct unnamed_list *l)
{
	if (!l->count) {
		printf("Nothing is missing: every place in the backtraces has a function.\n");
		return;
	}
	table_head(&missing_answer, STYLE_PLAIN);
	for (size_t i = 0; i < l->count; i++) {
		const struct unnamed_code *m = &l->list[i];
		char places[64], id[BUILD_ID_TEXT];

		snprintf(places, sizeof(places), "%" PRIu64 "/%" PRIu64, m->unnamed, m->places);
		table_row(&missing_answer,
			  &(struct told_unnamed){*m, places, *m->module ? m->module : "(no path)"});
		printf("    build id %s\n", build_id_format(id, m->build_id, m->build_id_length));
		if (!m->why)
			continue;
		terminal_blanks(4);
		terminal_paragraph(STYLE_DIM, m->why, 4);
	}
}

static int show_missing(struct command_call *call, const struct unnamed_list *l)
{
	const struct symbols_command_options *o = call->options;
	cleanup(buf_done) struct buf out = {0};
	struct json json;
	int r = EXIT_DONE;

	if (o->common.json) {
		output_json_begin(call->command, &json, &out);
		json_array(&json, "modules");
		for (size_t i = 0; i < l->count; i++)
			json_object_of(&json, NULL, &unnamed_answer, &l->list[i], NULL);
		json_end(&json, ']');
		json_end(&json, '}');
		r = output_json(call->command, stdout, &out);
	} else {
		print_missing(l);
	}
	return r == EXIT_DONE && l->count ? EXIT_NO : r;
}

static int add_named_streams(struct unnamed_list *l, struct command_call *call,
			     struct symbols *symbols, struct err_text *err)
{
	const struct symbols_command_options *o = call->options;
	int r = 0;

	for (int i = 1; i < call->argument_count && !r; i++) {
		cleanup(cleanup_free) char *path = NULL;

		r = command_find_stream(&o->common, call->arguments[i], &path, err);
		if (!r)
			r = unnamed_add(l, path, symbols, err);
	}
	return r;
}

/* Lists the modules of the given streams, or of all. */
static int find_missing(struct command_call *call, struct unnamed_list *l, struct err_text *err)
{
	static char reading[] = "reading the recording";
	const struct symbols_command_options *o = call->options;
	struct symbol_sources sources = {0};
	struct symbols *symbols = NULL;
	int r = symbol_sources_open(&sources, o->common.data, &o->symbols, &symbols, err);

	l->progress = progress_show;
	l->context = reading;
	if (!r && call->argument_count > 1)
		r = add_named_streams(l, call, symbols, err);
	else if (!r && sources.store)
		r = unnamed_add_all(l, sources.store, symbols, err);
	else if (!r)
		r = err_set(err, -ENOENT,
			    "there is no data folder %.200s: --data DIR names the one that "
			    "collector gather fills, and 'collector symbols missing last' asks "
			    "about the newest recording here",
			    o->common.data);
	unnamed_sort(l);
	symbols_free(symbols);
	symbol_sources_close(&sources);
	return r;
}

static int symbols_missing(struct command_call *call, const char *folder)
{
	cleanup(unnamed_done) struct unnamed_list l = {0};
	struct err_text err = {0};
	int r = find_missing(call, &l, &err);

	(void)folder;
	return r < 0 ? command_input_fault(call->command, r, &err) : show_missing(call, &l);
}

/* ---- fetch ---- */

/* Fetches one file after the other. Fails if the collector cannot be reached. */
static int fetch_files(struct command_call *call, const struct wanted_file *files, size_t count,
		       struct err_text *err)
{
	const struct symbols_command_options *o = call->options;
	size_t failed = 0;
	int r = symbols_fetch_files(o->common.data, files, count, &failed, err);

	if (r < 0)
		return command_fault(call->command, r, err);
	return failed ? EXIT_NO : EXIT_DONE;
}

static int fetch_all(struct command_call *call, const struct unnamed_list *l, struct err_text *err)
{
	cleanup(cleanup_free) struct wanted_file *files = calloc(l->count + 1, sizeof(*files));
	size_t count = 0;

	if (!files)
		return command_fault(call->command, -ENOMEM, NULL);
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].build_id_length)
			files[count++] = (struct wanted_file){
				l->list[i].build_id, l->list[i].build_id_length, l->list[i].module};
	if (!count)
		printf("Nothing is missing that an agent could give.\n");
	return fetch_files(call, files, count, err);
}

static int fetch_one(struct command_call *call, struct err_text *err)
{
	const struct symbols_command_options *o = call->options;
	uint8_t id[32];
	struct wanted_file file = {.build_id = id, .name = ""};

	if (build_id_parse(o->build_id, id, sizeof(id), &file.build_id_length) < 0)
		return command_usage_error(call->command,
					   "--build-id takes hexadecimal digits, not '%.80s'",
					   o->build_id);
	return fetch_files(call, &file, 1, err);
}

static int fetch(struct command_call *call, const char *folder)
{
	const struct symbols_command_options *o = call->options;
	cleanup(unnamed_done) struct unnamed_list l = {0};
	struct err_text err = {0};
	int r = o->build_id ? 0 : find_missing(call, &l, &err);

	(void)folder;
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	return o->build_id ? fetch_one(call, &err) : fetch_all(call, &l, &err);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*run)(struct command_call *call, const char *folder);
} actions[] = {{"add", symbols_add},
	       {"fetch", fetch},
	       {"list", symbols_list},
	       {"missing", symbols_missing}};

static int symbols_run(struct command_call *call)
{
	const struct symbols_command_options *o = call->options;
	cleanup(cleanup_free) char *folder = NULL;
	struct stat st;

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(call->arguments[0], actions[i].name))
			continue;
		/* Creates the data folder. `run` records without one, but its programs need names,
		 * too. */
		if (actions[i].run == symbols_add && stat(o->common.data, &st) &&
		    mkdir(o->common.data, 0700) < 0)
			return command_fault(call->command, -errno, NULL);
		if (asprintf(&folder, "%s/" STORE_SYMBOLS, o->common.data) < 0)
			return command_fault(call->command, -ENOMEM, NULL);
		return actions[i].run(call, folder);
	}
	return command_usage_error(call->command, "takes add, fetch, list or missing, not '%.60s'",
				   call->arguments[0]);
}

static const struct option symbols_table[] = {
	SYMBOL_OPTIONS(struct symbols_command_options, symbols),
	{0},
};

static const struct option fetch_table[] = {
	OPTION_TEXT(struct symbols_command_options, build_id, "build-id", "ID",
		    "the file with this build id, instead of those that are missing"),
	{0},
};

static const struct option_group groups[] = {{"Options of fetch", fetch_table},
					     {"Options of missing and fetch", symbols_table},
					     {"Common options", folder_table},
					     {0}};

static const struct symbols_command_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_symbols = {
	.name = "symbols",
	.answers = {&files_answer, &unnamed_modules_answer},
	.summary = "files that name functions: add, fetch, list, what is missing",
	.usage = "add FILE|DIR... | fetch [STREAM...] | list | missing [STREAM...]",
	.about =
		"add copies ELF files into the data folder, by build id; of a folder, all below\n"
		"it that have one. Names are looked up late: what was recorded before has them\n"
		"from then on, also in a server that runs. Of a FILE that 'collector pack\n"
		"--with-binaries' wrote it takes the binaries; each counts if it is whole and\n"
		"has the build id that it should have.\n"
		"\n"
		"fetch asks the agents that 'collector gather' has links to for the files that\n"
		"missing would name; agents give those of programs that they record or have\n"
		"recorded, as far as --send-symbols lets them. Exit status 1 if one did not come.\n"
		"\n"
		"list shows what was added: whether a file has a symbol table (or exported names\n"
		"only), lines, and debug information with inlined frames.\n"
		"\n"
		"missing lists modules with code that has no names: how many of their places in\n"
		"backtraces lack a function, and how many allocations and bytes have such a place\n"
		"in their backtrace; of all streams, if none is given. Exit status 1 if there are\n"
		"any.\n",
	.examples = "  collector symbols missing last\n"
		    "  collector symbols add build/app build/lib\n"
		    "  collector symbols add packed.heapcast\n"
		    "  collector symbols fetch last\n"
		    "  collector symbols missing --debuginfod https://debuginfod.debian.net\n",
	.groups = groups,
	.options_size = sizeof(struct symbols_command_options),
	.defaults = &defaults,
	.arguments_min = 1,
	.arguments_max = -1,
	.run = symbols_run,
};
