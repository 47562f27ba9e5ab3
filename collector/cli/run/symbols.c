/* collector symbols: handles the files that name the code of recordings: add, fetch from
 * agents, list, and say which are missing. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/cli/build_id.h"
#include "collector/cli/commands.h"
#include "collector/cli/output.h"
#include "collector/cli/ask/symbol_sources.h"
#include "collector/cli/run/symbols_agents.h"
#include "collector/cli/run/symbols_brought.h"
#include "collector/cli/terminal.h"
#include "collector/answers/json.h"
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

struct symbols_command_options {
	struct common_options common;
	struct symbol_choice symbols;
	const char *build_id;
};

static int symbols_write_json(const struct command *command, struct buf *out)
{
	int r;

	buf_byte(out, '\n');
	r = buf_error(out);
	if (!r && (fwrite(out->data, 1, out->length, stdout) != out->length || fflush(stdout))) {
		r = -errno;
		output_failed(errno);
	}
	return r < 0 ? command_fault(command, r, NULL) : EXIT_DONE;
}

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
		fprintf(stderr, "collector symbols: %s\n", err_get(&err, r));
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

/* Adds the ELF files of a folder. Files that are not ELF or have no build id are skipped. The store
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
			fprintf(stderr, "collector symbols: %s: %s\n", entry->fts_path,
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

struct listing {
	struct json *json; /* NULL: text */
	size_t count;
};

static int list_file(void *context, const struct symbol_file *f)
{
	struct listing *l = context;
	char id[BUILD_ID_TEXT], size[32];

	build_id_format(id, f->build_id, f->build_id_length);
	if (l->json) {
		json_object(l->json, NULL);
		json_string(l->json, "build_id", id);
		json_string(l->json, "path", f->path);
		json_bool(l->json, "symbols", f->symbols || f->exports);
		json_bool(l->json, "lines", f->lines);
		json_bool(l->json, "inlines", f->inlines);
		json_u64(l->json, "bytes", f->size);
		json_end(l->json, '}');
		return 0;
	}
	if (!l->count++)
		printf("%-40s %-8s %-6s %-8s %9s %s\n", "BUILD ID", "SYMBOLS", "LINES", "INLINES",
		       "SIZE", "PATH");
	printf("%-40s %-8s %-6s %-8s %9s ", id,
	       f->symbols   ? "yes"
	       : f->exports ? "exported"
			    : "-",
	       f->lines ? "yes" : "-", f->inlines ? "yes" : "-",
	       format_size(size, (double)f->size));
	terminal_text(STYLE_PLAIN, f->path, 0);
	putchar('\n');
	return 0;
}

static int symbols_list(struct command_call *call, const char *folder)
{
	const struct symbols_command_options *o = call->options;
	struct listing l = {0};
	struct buf out = {0};
	struct json json;
	int r;

	if (call->argument_count > 1)
		return command_usage_error(call->command, "list takes no argument, not '%.60s'",
					   call->arguments[1]);
	json_init(&json, &out);
	if (o->common.json) {
		l.json = &json;
		json_array(&json, NULL);
	}
	r = symbols_store_each(folder, list_file, &l);
	if (r < 0) {
		r = command_fault(call->command, r, NULL);
	} else if (o->common.json) {
		json_end(&json, ']');
		r = symbols_write_json(call->command, &out);
	} else if (!l.count) {
		printf("No symbol files in %s: 'collector symbols add FILE...' copies them "
		       "there.\n",
		       folder);
	}
	buf_done(&out);
	return r;
}

/* ---- missing ---- */

/* One module of one or more recordings. */
struct missing {
	char *path, *why;
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint64_t streams, places, unnamed, allocations, bytes;
};

struct missing_list {
	struct missing *list;
	size_t count;
};

static void missing_done(struct missing_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->list[i].path);
		free(l->list[i].why);
	}
	free(l->list);
}

static bool symbols_is_same(const struct missing *m, const struct module_info *info)
{
	if (m->build_id_length != info->build_id_length)
		return false;
	return m->build_id_length ? !memcmp(m->build_id, info->build_id, m->build_id_length)
				  : !strcmp(m->path, info->path);
}

static struct missing *missing_of(struct missing_list *l, const struct module_info *info)
{
	struct missing *list, *m;

	for (size_t i = 0; i < l->count; i++)
		if (symbols_is_same(&l->list[i], info))
			return &l->list[i];
	list = reallocarray(l->list, l->count + 1, sizeof(*list));
	if (!list)
		return NULL;
	l->list = list;
	m = &list[l->count];
	*m = (struct missing){.path = strdup(info->path ? info->path : ""),
			      .build_id_length = info->build_id_length};
	if (!m->path)
		return NULL;
	memcpy(m->build_id, info->build_id, info->build_id_length);
	l->count++;
	return m;
}

/* Returns the first reason that was given for the module. */
static char *reason(const struct symbols *symbols, const char *path)
{
	const struct symbols_note *notes;
	size_t count = symbols_notes(symbols, &notes);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(notes[i].module, path))
			return strdup(notes[i].text);
	return NULL;
}

static int add_missing(struct missing_list *l, struct view *view, const struct symbols *symbols,
		       struct err_text *err)
{
	cleanup(cleanup_free) struct unnamed_module *modules = NULL;
	size_t count = 0;
	int r = query_unnamed(view, &modules, &count, err);

	for (size_t i = 0; i < count && !r; i++) {
		const struct module_info *info =
			recording_module(view_recording(view), modules[i].module);
		struct missing *m = missing_of(l, info);

		if (!m)
			return err_set(err, -ENOMEM, "out of memory");
		m->streams++;
		m->places += modules[i].places;
		m->unnamed += modules[i].unnamed;
		m->allocations += modules[i].allocations;
		m->bytes += modules[i].bytes;
		if (!m->why)
			m->why = reason(symbols, m->path);
	}
	return r;
}

static int look_into(struct missing_list *l, const char *path, struct symbols *symbols,
		     struct err_text *err)
{
	static char reading[] = "reading the recording";
	struct recording *recording = NULL;
	struct view *view = NULL;
	int r = recording_open(path, command_progress, reading, &recording, err);

	if (!r)
		r = view_new(recording, symbols, &view, err);
	if (!r)
		r = add_missing(l, view, symbols, err);
	view_free(view);
	recording_close(recording);
	return r;
}

static int look_into_named(struct missing_list *l, struct command_call *call,
			   struct symbols *symbols, struct err_text *err)
{
	const struct symbols_command_options *o = call->options;
	int r = 0;

	for (int i = 1; i < call->argument_count && !r; i++) {
		cleanup(cleanup_free) char *path = NULL;

		r = command_find_stream(o->common.data, call->arguments[i], &path, err);
		if (!r)
			r = look_into(l, path, symbols, err);
	}
	return r;
}

static int look_into_all(struct missing_list *l, struct store *store, struct symbols *symbols,
			 struct err_text *err)
{
	struct stream_summary *streams = NULL;
	size_t count = 0;
	int r = store_list(store, &streams, &count, err);

	for (size_t i = 0; i < count && !r; i++) {
		cleanup(cleanup_free) char *path = NULL;
		char id[STREAM_ID_TEXT];

		r = store_find(store, stream_id_format(id, &streams[i].id), &path, err);
		if (!r)
			r = look_into(l, path, symbols, err);
	}
	store_list_free(streams, count);
	return r;
}

static int by_bytes(const void *a, const void *b)
{
	const struct missing *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void print_missing(const struct missing_list *l)
{
	char id[BUILD_ID_TEXT], bytes[32], count[32];

	if (!l->count) {
		printf("Nothing is missing: every place in the backtraces has a function.\n");
		return;
	}
	printf("%-40s %13s %11s %9s %s\n", "BUILD ID", "PLACES", "ALLOCATIONS", "BYTES", "MODULE");
	for (size_t i = 0; i < l->count; i++) {
		const struct missing *m = &l->list[i];
		char places[64];

		snprintf(places, sizeof(places), "%" PRIu64 "/%" PRIu64, m->unnamed, m->places);
		printf("%-40s %13s %11s %9s ", build_id_format(id, m->build_id, m->build_id_length),
		       places, format_count(count, m->allocations),
		       format_size(bytes, (double)m->bytes));
		terminal_text(STYLE_PLAIN, *m->path ? m->path : "(no path)", 0);
		putchar('\n');
		if (!m->why)
			continue;
		terminal_blanks(4);
		terminal_paragraph(STYLE_DIM, m->why, 4);
	}
}

static void missing_json(struct json *json, const struct missing_list *l)
{
	char id[BUILD_ID_TEXT];

	json_array(json, NULL);
	for (size_t i = 0; i < l->count; i++) {
		const struct missing *m = &l->list[i];

		json_object(json, NULL);
		json_string(json, "build_id",
			    m->build_id_length
				    ? build_id_format(id, m->build_id, m->build_id_length)
				    : NULL);
		json_string(json, "module", m->path);
		json_u64(json, "streams", m->streams);
		json_u64(json, "places", m->places);
		json_u64(json, "unnamed", m->unnamed);
		json_u64(json, "allocations", m->allocations);
		json_u64(json, "bytes", m->bytes);
		json_string(json, "reason", m->why);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static int show_missing(struct command_call *call, const struct missing_list *l)
{
	const struct symbols_command_options *o = call->options;
	struct buf out = {0};
	struct json json;
	int r = EXIT_DONE;

	if (o->common.json) {
		json_init(&json, &out);
		missing_json(&json, l);
		r = symbols_write_json(call->command, &out);
	} else {
		print_missing(l);
	}
	buf_done(&out);
	return r == EXIT_DONE && l->count ? EXIT_NO : r;
}

/* Lists the modules of the given streams, or of all; those that hide most come first. */
static int find_missing(struct command_call *call, struct missing_list *l, struct err_text *err)
{
	const struct symbols_command_options *o = call->options;
	struct symbol_sources sources = {0};
	struct symbols *symbols = NULL;
	int r = symbol_sources_open(&sources, o->common.data, &o->symbols, &symbols, err);

	if (!r && call->argument_count > 1)
		r = look_into_named(l, call, symbols, err);
	else if (!r && sources.store)
		r = look_into_all(l, sources.store, symbols, err);
	else if (!r)
		r = err_set(err, -ENOENT,
			    "there is no data folder %.200s: --data DIR names the one that "
			    "collector gather fills",
			    o->common.data);
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), by_bytes);
	symbols_free(symbols);
	symbol_sources_close(&sources);
	return r;
}

static int symbols_missing(struct command_call *call, const char *folder)
{
	struct missing_list l = {0};
	struct err_text err = {0};
	int r = find_missing(call, &l, &err);

	(void)folder;
	r = r < 0 ? command_input_fault(call->command, r, &err) : show_missing(call, &l);
	missing_done(&l);
	return r;
}

/* ---- fetch ---- */

/* Fetches one file after the other. If the collector can't be reached, that is a fault. */
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

static int fetch_all(struct command_call *call, const struct missing_list *l, struct err_text *err)
{
	cleanup(cleanup_free) struct wanted_file *files = calloc(l->count + 1, sizeof(*files));
	size_t count = 0;

	if (!files)
		return command_fault(call->command, -ENOMEM, NULL);
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].build_id_length)
			files[count++] = (struct wanted_file){
				l->list[i].build_id, l->list[i].build_id_length, l->list[i].path};
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
	struct missing_list l = {0};
	struct err_text err = {0};
	int r = o->build_id ? 0 : find_missing(call, &l, &err);

	(void)folder;
	if (r < 0)
		r = command_input_fault(call->command, r, &err);
	else
		r = o->build_id ? fetch_one(call, &err) : fetch_all(call, &l, &err);
	missing_done(&l);
	return r;
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
		if (actions[i].run == symbols_add && stat(o->common.data, &st))
			return command_usage_error(
				call->command,
				"there is no data folder %s: --data DIR names the one that "
				"collector gather fills",
				o->common.data);
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
					     {"Common options", common_table},
					     {0}};

static const struct symbols_command_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_symbols = {
	.name = "symbols",
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
