/* collector analyze without a FILE: lists the files that it could read. */
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/analyze/analyze.h"
#include "collector/cli/output.h"
#include "collector/cli/terminal.h"
#include "collector/answers/answer.h"

#include "base/ban.h"

#define DEPTH_MAX      3 /* ./a/b/FILE */
#define CANDIDATES_MAX 1000

struct candidates {
	struct candidate {
		char *path;
		uint64_t bytes;
		int64_t modified;
	} * list;
	uint32_t count, capacity, newest;
	bool more;
};

static void candidates_done(struct candidates *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		free(c->list[i].path);
	free(c->list);
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), wanted = strlen(end);

	return length > wanted && !strcmp(name + length - wanted, end);
}

bool analyze_is_collapsed_name(const char *name)
{
	return ends_with(name, ".collapsed") || ends_with(name, ".folded");
}

static int analyze_find_add(struct candidates *c, const FTSENT *entry)
{
	struct candidate one = {.bytes = (uint64_t)entry->fts_statp->st_size,
				.modified = entry->fts_statp->st_mtime};

	if (c->count >= CANDIDATES_MAX) {
		c->more = true;
		return 0;
	}
	one.path = strdup(entry->fts_path);
	if (!one.path ||
	    array_reserve(&c->list, &c->capacity, (uint64_t)c->count + 1, sizeof(*c->list)) < 0) {
		free(one.path);
		return -ENOMEM;
	}
	c->list[c->count++] = one;
	if (one.modified > c->list[c->newest].modified)
		c->newest = c->count - 1;
	return 0;
}

static int analyze_find_by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Lists the files that can be read. Unreadable folders are left out without a message, because
 * nobody named them. */
static int analyze_find_find(struct candidates *c, struct err_text *err)
{
	char here[] = ".", *roots[] = {here, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, analyze_find_by_name);
	FTSENT *entry;
	int r = 0;

	if (!fts)
		return err_set(err, -errno, "looking for files here: %s", strerror(errno));
	while (!r && (entry = fts_read(fts))) {
		if (entry->fts_info == FTS_D && entry->fts_level >= DEPTH_MAX)
			fts_set(fts, entry, FTS_SKIP);
		else if (entry->fts_info == FTS_F && entry->fts_level <= DEPTH_MAX &&
			 analyze_is_collapsed_name(entry->fts_name))
			r = analyze_find_add(c, entry);
	}
	fts_close(fts);
	return r;
}

static const struct answer_field candidate_fields[] = {
#define ANSWER_OF struct candidate
	ROW("path", path, NULL, "path, relative to the current folder"),
	ROW("bytes", bytes, "bytes", ""),
	{0},
#undef ANSWER_OF
};
static const struct answer candidate_answer = {"candidate", candidate_fields};

static const struct answer_field candidates_fields[] = {
#define ANSWER_OF struct candidates
	ROW_LIST("files", list, count, candidate_answer, "files that could be analyzed"),
	{0},
#undef ANSWER_OF
};
const struct answer candidates_answer = {"candidates", candidates_fields};

static void print_list(const struct candidates *c)
{
	char size[32], newest[PATH_MAX];

	printf("Which profile? These are here and up to two folders below:\n\n");
	for (uint32_t i = 0; i < c->count; i++) {
		printf("%12s  ", format_size(size, (double)c->list[i].bytes));
		terminal_line(STYLE_PLAIN, c->list[i].path, 0);
	}
	if (c->more)
		printf("%12s  and more: only the first %d are listed\n", "", CANDIDATES_MAX);
	program_printf(stdout, "\nType, for the newest of them:\n\n  collector analyze ");
	report_quote(newest, sizeof(newest), c->list[c->newest].path);
	terminal_text(STYLE_BOLD, newest, 0);
	program_printf(stdout,
		       "\n\nor, for the recording that came last:\n\n  collector analyze last\n");
}

int analyze_find(struct command_call *call)
{
	const struct analyze_options *o = call->options;
	cleanup(candidates_done) struct candidates candidates = {0};
	struct err_text err = {0};
	int r = analyze_find_find(&candidates, &err);

	if (r < 0)
		return command_fault(call->command, r, &err);
	if (o->question.common.json)
		r = output_answer(call->command, stdout, &candidates_answer, &candidates);
	if (o->question.common.json)
		return r ? r : candidates.count ? EXIT_DONE : EXIT_NO;
	if (candidates.count) {
		print_list(&candidates);
		return EXIT_DONE;
	}
	program_printf(
		stdout,
		"There is no *.collapsed or *.folded file here or up to two folders below.\n\n"
		"Type one of:\n\n"
		"  collector analyze PATH-OF-A-FILE     collapsed stacks, of any profiler\n"
		"  collector analyze last               the recording that came last\n"
		"  collector list                       which recordings there are\n");
	return EXIT_NO;
}
