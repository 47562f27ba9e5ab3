/* Requests on their way through the worker threads. See exchange.h. */
#include "collector/http/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/export/export.h"
#include "collector/http/routes.h"
#include "collector/http/sources.h"

#include "base/ban.h"

/* Steps at the same time. The pool has four threads unless told otherwise, and others (making streams durable) need it too. */
#define RUNNING_MAX 2
#define AGAIN_MS    20

struct exchange *exchange_new(struct sources *sources, const char *path)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->sources = sources;
	x->status = 200;
	if (asked_init(&x->request, path) < 0) {
		free(x);
		return NULL;
	}
	return x;
}

static void leave_workers(struct exchange *x)
{
	struct exchange **at = &x->workers->all;

	while (*at != x)
		at = &(*at)->next_of_all;
	*at = x->next_of_all;
}

void exchange_free(struct exchange *x)
{
	if (!x)
		return;
	if (x->workers)
		leave_workers(x);
	if (x->work_free)
		x->work_free(x->work);
	if (x->source)
		sources_release(x->sources, x->source);
	asked_done(&x->request);
	buf_done(&x->out);
	free(x);
}

static int status_of(int error)
{
	switch (error) {
	case -EINVAL:
	case -ERANGE:
	case -E2BIG:
		return 400;
	case -ENOENT:
		return 404;
	case -EEXIST:
		return 409;
	case -EMSGSIZE:
		return 413;
	case -ETIME: /* limits of SQL: who asks can ask for less */
	case -ENOBUFS:
	case -EFBIG:
		return 422;
	case -EBUSY:
		return 503;
	default:
		return 500;
	}
}

/* A sentence about a parameter that only the query could judge begins with its name. */
static void name_parameter(struct exchange *x)
{
	size_t length = strcspn(x->err.text, " ");

	for (size_t i = 0; i < x->request.parameter_count && !x->parameter[0]; i++) {
		const char *name = x->request.parameters[i].name;

		if (length && strlen(name) == length && !strncmp(name, x->err.text, length))
			snprintf(x->parameter, sizeof(x->parameter), "%s", name);
	}
}

void exchange_fail(struct exchange *x, int error)
{
	struct json json;

	if (error == -EINVAL)
		name_parameter(x);

	if (x->status < 400)
		x->status = status_of(error);
	x->content_type = "application/json";
	x->file_name = NULL;
	buf_clear(&x->out);
	json_init(&json, &x->out);
	json_object(&json, NULL);
	json_string(&json, "error", err_get(&x->err, error));
	if (x->parameter[0])
		json_string(&json, "parameter", x->parameter);
	json_end(&json, '}');
	buf_byte(&x->out, '\n');
}

/* ---- the queue ---- */

struct job {
	uv_work_t work;
	struct workers *workers;
	struct exchange *x;
};

static void start_some(struct workers *workers);

static void run_step(uv_work_t *work)
{
	struct exchange *x = ((struct job *)work->data)->x;
	struct source *source = x->source;

	/* The step that finds the source locks it itself (routes.c). */
	if (source)
		source_lock(source);
	x->result = x->cancelled ? -ECANCELED : x->step(x);
	if (source)
		source_unlock(source);
}

static void put_later(struct workers *workers, struct exchange *x)
{
	x->state = EXCHANGE_LATER;
	x->due_ms = uv_now(workers->loop) + (x->again_ms ? x->again_ms : AGAIN_MS);
	x->again_ms = 0;
	x->next = workers->later;
	workers->later = x;
}

static void step_returned(uv_work_t *work, int status)
{
	struct job *job = work->data;
	struct workers *workers = job->workers;
	struct exchange *x = job->x;

	(void)status;
	free(job);
	workers->running--;
	if (!x->connection || workers->closing) {
		exchange_free(x);
	} else if (x->result == -EAGAIN) {
		put_later(workers, x);
	} else {
		x->state = EXCHANGE_SENDING;
		workers->ready(x);
	}
	start_some(workers);
}

static void wake_again(struct workers *workers);

static void run_later_ones(uv_timer_t *timer)
{
	struct workers *workers = timer->data;
	struct exchange *x = workers->later;

	workers->later = NULL;
	while (x) {
		struct exchange *next = x->next;

		if (x->due_ms <= uv_now(workers->loop)) {
			workers_submit(workers, x);
		} else {
			x->next = workers->later;
			workers->later = x;
		}
		x = next;
	}
	wake_again(workers);
}

/* For the first of those that wait for their time, and where a job could not be made for want of memory. */
static void wake_again(struct workers *workers)
{
	uint64_t now = uv_now(workers->loop), due = UINT64_MAX;

	if (workers->closing)
		return;
	if (workers->waiting && !workers->running)
		due = now + AGAIN_MS;
	for (const struct exchange *x = workers->later; x; x = x->next)
		due = x->due_ms < due ? x->due_ms : due;
	if (due != UINT64_MAX)
		uv_timer_start(&workers->again, run_later_ones, due > now ? due - now : 0, 0);
}

static void start_some(struct workers *workers)
{
	while (!workers->closing && workers->waiting && workers->running < RUNNING_MAX) {
		struct exchange *x = workers->waiting;
		struct job *job = calloc(1, sizeof(*job));

		if (!job)
			break;
		workers->waiting = x->next;
		if (!workers->waiting)
			workers->waiting_end = &workers->waiting;
		*job = (struct job){.workers = workers, .x = x};
		job->work.data = job;
		x->state = EXCHANGE_RUNNING;
		workers->running++;
		uv_queue_work(workers->loop, &job->work, run_step, step_returned);
	}
	wake_again(workers);
}

void workers_init(struct workers *workers, uv_loop_t *loop, void (*ready)(struct exchange *x))
{
	*workers = (struct workers){.loop = loop, .ready = ready};
	workers->waiting_end = &workers->waiting;
	uv_timer_init(loop, &workers->again);
	workers->again.data = workers;
}

void workers_close(struct workers *workers)
{
	workers->closing = true;
	uv_close((uv_handle_t *)&workers->again, NULL);
}

static void join_workers(struct workers *workers, struct exchange *x)
{
	x->workers = workers;
	x->begun_ms = uv_now(workers->loop);
	x->next_of_all = workers->all;
	workers->all = x;
}

void workers_submit(struct workers *workers, struct exchange *x)
{
	if (!x->workers)
		join_workers(workers, x);
	if (route_on_loop(x)) {
		x->result = x->step(x);
		x->state = EXCHANGE_SENDING;
		workers->ready(x);
		return;
	}
	x->state = EXCHANGE_WAITING;
	x->next = NULL;
	*workers->waiting_end = x;
	workers->waiting_end = &x->next;
	start_some(workers);
}

static bool unlink_from(struct exchange **list, struct exchange *x)
{
	for (; *list; list = &(*list)->next) {
		if (*list == x) {
			*list = x->next;
			return true;
		}
	}
	return false;
}

void exchange_abandon(struct workers *workers, struct exchange *x)
{
	x->connection = NULL;
	x->cancelled = true;
	if (x->state == EXCHANGE_RUNNING)
		return;
	if (x->state == EXCHANGE_WAITING && unlink_from(&workers->waiting, x)) {
		workers->waiting_end = &workers->waiting;
		while (*workers->waiting_end)
			workers->waiting_end = &(*workers->waiting_end)->next;
	}
	if (x->state == EXCHANGE_LATER)
		unlink_from(&workers->later, x);
	exchange_free(x);
}
