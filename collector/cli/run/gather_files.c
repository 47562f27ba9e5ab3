/* Serves symbol files of agents in gather. See gather_files.h. */
#include "collector/cli/run/gather_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/cli/build_id.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

#define TICK_MS	       200
#define TICKS_A_SECOND 5

static struct symbol_module gather_files_module_of(const struct ingest_file *file, const char *path)
{
	return (struct symbol_module){
		.path = path, .build_id = file->build_id, .build_id_length = file->build_id_length};
}

bool gather_files_wanted(const struct gather_files *f, const struct ingest_file *file,
			 const char *path)
{
	struct symbol_module module = gather_files_module_of(file, path);

	return !symbols_is_pseudo(&module) && !symbols_are_here(f->folder, &module);
}

int gather_files_came(const struct gather_files *f, const struct ingest_file *file,
		      const char *path, struct err_text *err)
{
	struct symbol_module module = gather_files_module_of(file, NULL);
	int r = symbols_store_receive(f->folder, path, &module, err);

	return r < 0 ? r : 0;
}

/* ---- questions ---- */

static void gather_files_refuse(struct control_client *client, const char *why)
{
	control_say(client, "no %s", why);
	control_end(client);
}

/* The note of a waiting question for a file. */
struct file_note {
	enum gather_note kind;
	struct ingest_file file;
};

static void on_question(void *context, struct control_client *client, const char *line)
{
	struct gather_files *f = context;
	struct file_note *note = control_note(client);
	struct ingest_file *file = &note->file;
	int r;

	if (gather_orders_question(&f->orders, client, line))
		return;
	note->kind = GATHER_NOTE_FILE;
	if (strncmp(line, "fetch ", 6) ||
	    build_id_parse(line + 6, file->build_id, sizeof(file->build_id),
			   &file->build_id_length) < 0) {
		gather_files_refuse(client, "such an order is not known here");
		return;
	}
	r = ingest_fetch(f->ingest, file);
	if (r == -ENOTCONN)
		gather_files_refuse(client, "no agent is connected");
	else if (r < 0)
		gather_files_refuse(client,
				    r == -EBUSY ? "too many files are asked for" : strerror(-r));
}

static void gather_files_answer(void *context, struct control_client *client)
{
	const struct ingest_event *e = context;
	const struct file_note *note = control_note(client);

	if (note->kind != GATHER_NOTE_FILE || memcmp(&note->file, e->file, sizeof(*e->file)) != 0)
		return;
	if (e->complete)
		control_say(client, "ok it is here now%s%s", *e->text ? "; " : "", e->text);
	else
		control_say(client, "no %s", e->text);
	control_end(client);
}

void gather_files_event(struct gather_files *f, const struct ingest_event *e)
{
	struct ingest_event event = *e;

	if (e->kind == INGEST_FILE)
		control_each(f->control, gather_files_answer, &event);
	if (e->kind == INGEST_REPLY)
		gather_orders_reply(f->control, e);
}

static void say_progress(void *context, struct control_client *client)
{
	struct gather_files *f = context;
	const struct file_note *note = control_note(client);
	uint64_t received, total;

	if (note->kind == GATHER_NOTE_FILE &&
	    ingest_fetching(f->ingest, &note->file, &received, &total))
		control_say(client, "at %" PRIu64 " %" PRIu64, received, total);
}

static void on_tick(uv_timer_t *timer)
{
	struct gather_files *f = timer->data;

	if (++f->ticks % TICKS_A_SECOND == 0)
		control_each(f->control, say_progress, f);
	if (!f->awaited || ingest_files(f->ingest))
		return;
	f->awaited = false;
	f->none_left(f->context);
}

void gather_files_await(struct gather_files *f, void (*none_left)(void *context), void *context)
{
	f->none_left = none_left;
	f->context = context;
	f->awaited = true;
}

/* ---- beginning and end ---- */

int gather_files_init(struct gather_files *f, const char *data, bool of_modules,
		      struct ingest_options *ret_options)
{
	*f = (struct gather_files){0};
	if (asprintf(&f->folder, "%s/" STORE_SYMBOLS, data) < 0) {
		f->folder = NULL;
		return -ENOMEM;
	}
	ret_options->files = f->folder;
	ret_options->fetch_modules = of_modules;
	return 0;
}

int gather_files_open(struct gather_files *f, uv_loop_t *loop, const char *data,
		      struct ingest *ingest, struct err_text *err)
{
	f->ingest = f->orders.ingest = ingest;
	f->open = true;
	uv_timer_init(loop, &f->timer);
	f->timer.data = f;
	uv_timer_start(&f->timer, on_tick, TICK_MS, TICK_MS);
	return control_open(loop, data, on_question, f, &f->control, err);
}

void gather_files_close(struct gather_files *f)
{
	if (!f->open)
		return;
	f->open = false;
	control_close(f->control);
	f->control = NULL;
	uv_close((uv_handle_t *)&f->timer, NULL);
}

void gather_files_done(struct gather_files *f)
{
	free(f->folder);
	f->folder = NULL;
}
