/* Keeps the keys made by pairing in a collector that gathers. See gather_pairs.h. */
#include "collector/cli/run/gather_pairs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/cli/run/key_options.h"
#include "base/cli/program.h"
#include "base/ban.h"

#define LOOK_MS 250

static void remark(struct gather_pairs *g, const struct err_text *text)
{
	if (*text->text && strcmp(text->text, g->remark.text))
		program_printf(stderr, "collector gather: %s\n", text->text);
	g->remark = *text;
}

int gather_pairs_init(struct gather_pairs *g, const struct key_choice *choice,
		      struct ingest_options *io, struct err_text *err)
{
	const bool given = io->secret_count || choice->cert || choice->cert_key || choice->ca;
	struct err_text text = {{0}};
	char folder[PATH_MAX];
	int r;

	*g = (struct gather_pairs){0};
	if (given)
		return choice->paired_only
			       ? err_set(err, -EINVAL,
					 "--paired-only is said of keys by pairing; with --key or "
					 "--cert there is nothing else in any case")
			       : 0;
	r = pairs_place(choice->pairs, PAIRS_FOLDER, folder);
	if (!r && !*folder)
		return choice->paired_only
			       ? err_set(err, -EINVAL, "--paired-only without a folder of keys")
			       : 0;
	if (!r)
		r = pairs_open(&g->pairs, folder, PAIRS_ALL, &text, err);
	if (r < 0)
		return err_prefix(err, r, "keys by pairing (--pairs '' leaves them alone)");
	remark(g, &text);
	g->used = true;
	io->paired = true;
	io->paired_only = choice->paired_only;
	io->secrets = g->pairs.secret;
	io->secret_count = g->pairs.count;
	return 0;
}

static void on_look(uv_timer_t *timer)
{
	struct gather_pairs *g = timer->data;
	struct err_text text = {{0}}, err = {{0}};
	int changed = pairs_look(&g->pairs, &text);

	remark(g, &text);
	if (!changed)
		return;
	changed = ingest_rekey(g->ingest, g->pairs.secret, g->pairs.count, &err);
	if (changed < 0)
		program_printf(stderr, "collector gather: %s\n", err_get(&err, changed));
}

void gather_pairs_start(struct gather_pairs *g, uv_loop_t *loop, struct ingest *ingest)
{
	if (!g->used)
		return;
	g->ingest = ingest;
	g->look.data = g;
	g->looking = uv_timer_init(loop, &g->look) == 0;
	uv_timer_start(&g->look, on_look, LOOK_MS, LOOK_MS);
}

static bool is_key(const struct secret *secret, const char *identity)
{
	char hex[2 * SECRET_ID_SIZE + 1];

	for (unsigned i = 0; i < SECRET_ID_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", secret->id[i]);
	return !strcmp(hex, identity);
}

void gather_pairs_event(const struct gather_pairs *g, const struct ingest_event *event)
{
	if (!g->used || event->kind != INGEST_CONNECTED || !event->key || !*event->key)
		return;
	for (size_t i = 0; i < g->pairs.count; i++)
		if (is_key(&g->pairs.secret[i], event->key))
			pair_seen(g->pairs.folder, g->pairs.name[i].text);
}

void gather_pairs_stop(struct gather_pairs *g)
{
	if (g->looking)
		uv_close((uv_handle_t *)&g->look, NULL);
	g->looking = false;
}

void gather_pairs_done(struct gather_pairs *g)
{
	if (g->used)
		pairs_done(&g->pairs);
	g->used = false;
}
