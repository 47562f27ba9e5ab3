/*
 * Modules that recorded programs announce. If a module's file is not on this machine, agents are
 * asked for it (files.c). A worker checks which files are wanted. Each build id is checked once per
 * run.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collector/ingest/state.h"
#include "proto/columns.h"
#include "base/ban.h"

#define MODULES_MAX 16384 /* remembered build ids */

static void candidates_free(struct candidate *c)
{
	while (c) {
		struct candidate *next = c->next;

		free(c);
		c = next;
	}
}

static void files_modules_look(uv_work_t *work)
{
	struct ingest *ingest = work->data;

	for (struct candidate *c = ingest->files.looking; c; c = c->next)
		c->wanted = ingest->files.wanted(ingest->context, &c->file, c->path);
}

static void looked(uv_work_t *work, int status)
{
	struct ingest *ingest = work->data;
	struct candidate *found = ingest->files.looking;

	ingest->files.looking = NULL;
	for (struct candidate *c = found; c && status == 0; c = c->next)
		if (c->wanted && ingest_fetch(ingest, &c->file) == -EBUSY)
			ingest_warn(ingest,
				    "too many symbol files are wanted at a time: %s is left out",
				    c->path);
	candidates_free(found);
	files_modules_tick(ingest);
	if (!files_modules_deciding(ingest))
		intake_acknowledge_ends(ingest);
	ingest_released(ingest);
}

bool files_modules_deciding(const struct ingest *ingest)
{
	return !ingest->stopping && (ingest->files.candidates || ingest->files.looking);
}

void files_modules_tick(struct ingest *ingest)
{
	struct files *f = &ingest->files;

	if (f->looking || !f->candidates || ingest->stopping)
		return;
	f->looking = f->candidates;
	f->candidates = NULL;
	if (uv_queue_work(ingest->loop, &f->look, files_modules_look, looked) < 0) {
		f->candidates = f->looking;
		f->looking = NULL;
		return;
	}
	ingest->pending++;
}

/* Returns true if this build id is new. Two build ids with the same hash count as one. */
static bool is_news(struct ingest *ingest, const ProtobufCBinaryData *id)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
	bool new = false;

	for (size_t i = 0; i < id->len; i++)
		hash = (hash ^ id->data[i]) * 0x100000001b3;
	if (hash == MAP_NO_KEY || ingest->files.seen.count >= MODULES_MAX)
		return false;
	return map_put(&ingest->files.seen, hash, &new) && new;
}

static void add_candidate(struct ingest *ingest, const Heapcast__Module *m)
{
	struct candidate *c;

	if (!m->build_id.len || m->build_id.len > INGEST_BUILD_ID_MAX || !m->path.len ||
	    m->path.len >= PATH_MAX || m->path.data[0] != '/' ||
	    memchr(m->path.data, 0, m->path.len) || !is_news(ingest, &m->build_id))
		return;
	c = calloc(1, sizeof(*c) + m->path.len + 1);
	if (!c)
		return;
	memcpy(c->path, m->path.data, m->path.len);
	memcpy(c->file.build_id, m->build_id.data, m->build_id.len);
	c->file.build_id_length = (uint32_t)m->build_id.len;
	c->next = ingest->files.candidates;
	ingest->files.candidates = c;
}

void files_modules(struct ingest *ingest, const Heapcast__Batch *batch)
{
	if (!ingest->files.of_modules || ingest->stopping)
		return;
	for (size_t i = 0; i < batch->n_module; i++)
		add_candidate(ingest, batch->module[i]);
	files_modules_tick(ingest);
}

void files_modules_done(struct ingest *ingest)
{
	candidates_free(ingest->files.candidates);
	map_done(&ingest->files.seen);
}
