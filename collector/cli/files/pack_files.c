/* Finds the binaries that are packed into a recording. See pack_files.h. */
#include "collector/cli/files/pack_files.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/ask/question.h"
#include "proto/stack_columns.h"
#include "collector/recording/brought_file.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/rewrite/bring_names.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

void pack_files_done(struct pack_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free((char *)(uintptr_t)f->list[i].path);
	free(f->list);
	intern_done(&f->found);
	intern_done(&f->missing);
	*f = (struct pack_files){0};
}

/* Returns by module number - 1 whether a backtrace passes through the module. Returns NULL without
 * memory. */
static bool *modules_in_use(const struct recording *recording)
{
	uint32_t count = recording_modules(recording);
	bool *used = calloc((size_t)count + 1, sizeof(*used));

	for (uint32_t i = 1; used && i <= recording_nodes(recording); i++) {
		const struct stack_node *node = recording_node(recording, i);

		if (node && node->module && node->module <= count)
			used[node->module - 1] = true;
	}
	return used;
}

/* Reports a missing file, once for a file that was loaded twice. */
static void say_missing(struct pack_files *f, const struct question *q, const struct module_info *m,
			const char *why)
{
	uint32_t before = f->missing.count;

	if (!m->build_id_length ||
	    intern_bytes(&f->missing, m->build_id, m->build_id_length) > before)
		command_note(q->command, "%s is left out: %s", m->path, why);
}

static int pack_files_add(struct pack_files *f, const struct question *q,
			  const struct module_info *m, struct err_text *err)
{
	const struct symbol_module module = {module_file(m), m->build_id, m->build_id_length};
	struct bring_file file = {.file.build_id_length = m->build_id_length};
	struct err_text remark = {0};
	char *path = NULL;
	int r = -ENOENT;

	if (symbols_is_pseudo(&module) || intern_find(&f->found, m->build_id, m->build_id_length))
		return 0;
	if (!m->build_id_length)
		err_set(&remark, r, "it has no build id");
	else
		r = symbols_find(q->symbols, &module, BROUGHT_FILE_MAX, &path, &file.file.size,
				 &remark);
	if (r < 0 && r != -ENOMEM) {
		say_missing(f, q, m, err_get(&remark, r));
		return 0;
	}
	if (r < 0 || !intern_bytes(&f->found, m->build_id, m->build_id_length)) {
		free(path);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (remark.text[0])
		command_note(q->command, "%s: %s, and is left out", m->path, remark.text);
	memcpy(file.file.build_id, m->build_id, m->build_id_length);
	file.path = path;
	f->list[f->count++] = file;
	return 0;
}

int pack_files_find(struct pack_files *f, const struct question *q, struct err_text *err)
{
	uint32_t count = recording_modules(q->recording);
	cleanup(cleanup_free) bool *used = modules_in_use(q->recording);
	int r = 0;

	f->list = calloc((size_t)count + 1, sizeof(*f->list));
	if (!used || !f->list)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 1; !r && i <= count; i++) {
		const struct module_info *m = recording_module(q->recording, i);

		if (used[i - 1] && m)
			r = pack_files_add(f, q, m, err);
	}
	return r;
}
