/* Requests on their way through the worker threads. See exchange.h. */
#include "collector/http/server/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli/program.h"
#include "collector/answers/json.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

/* Number of steps that run at the same time, and one more that asks the shared data base. The pool
 * has four threads by default; looking up names, symbol files and old streams needs some of them,
 * too. */
#define RUNNING_MAX 2
#define AGAIN_MS    20
#define LOOK_MS	    50

struct exchange *exchange_new(struct sources *sources, const char *path)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->sources = sources;
	x->begun_ns = uv_hrtime();
	x->status = 200;
	x->upload = -1;
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
	if (x->upload_end)
		x->upload_end(x);
	asked_done(&x->request);
	buf_done(&x->out);
	free(x->location);
	free(x);
}

static int exchange_status_of(int error)
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
	case -ETIME: /* a limit of SQL: the client can ask for less */
	case -ENOBUFS:
	case -EFBIG:
		return 422;
	case -ENOTSUP: /* this build can't do that */
		return 501;
	case -EBUSY:
	case -EKEYREJECTED:
	case -EHOSTUNREACH: /* a server that we have to ask is away, or does not know for now */
	case -ETIMEDOUT:
	case -EAGAIN:
		return 503;
	default:
		return 500;
	}
}

/* If only the query could judge the parameter, its error text begins with the parameter's name. */
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
	char text[sizeof(x->err.text) + 64];
	struct json json;

	if (error == -EINVAL)
		name_parameter(x);

	if (x->status < 400)
		x->status = exchange_status_of(error);
	x->content_type = "application/json";
	x->file_name = NULL;
	buf_clear(&x->out);
	json_init(&json, &x->out);
	json_object(&json, NULL);
	json_string(&json, "error", program_text(text, sizeof(text), err_get(&x->err, error)));
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
	if (x->runs_beside)
		workers->running_shared = false;
	else
		workers->running--;
	if (x->runs_sql && !x->runs_beside)
		workers->running_sql = false;
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

/* Sets the timer to the first exchange that is waiting, or to a retry if there was no memory for a
 * job. */
static void wake_again(struct workers *workers)
{
	uint64_t now = uv_now(workers->loop), due = UINT64_MAX;

	if (workers->closing)
		return;
	if (workers->waiting && !workers->running && !workers->running_shared)
		due = now + AGAIN_MS;
	for (const struct exchange *x = workers->later; x; x = x->next)
		due = x->due_ms < due ? x->due_ms : due;
	if (due != UINT64_MAX)
		uv_timer_start(&workers->again, run_later_ones, due > now ? due - now : 0, 0);
}

/* A long SQL statement must not block all other questions, so only one statement runs at a time. */
static bool may_run(const struct workers *workers, const struct exchange *x)
{
	if (x->asks_shared)
		return !workers->running_shared;
	return workers->running < RUNNING_MAX && !(x->runs_sql && workers->running_sql);
}

/* Returns the next exchange to run. */
static struct exchange *next_to_run(const struct workers *workers)
{
	struct exchange *x = workers->waiting;

	while (x && !may_run(workers, x))
		x = x->next;
	return x;
}

/* Removes `x` from the list. Returns the place where the next exchange is now. */
static struct exchange **exchange_leave(struct exchange **at, const struct exchange *x)
{
	while (*at && *at != x)
		at = &(*at)->next;
	if (*at)
		*at = x->next;
	return at;
}

static void leave_queue(struct workers *workers, const struct exchange *x)
{
	struct exchange **at = exchange_leave(&workers->waiting, x);

	if (!*at)
		workers->waiting_end = at;
}

static void begin_running(struct workers *workers, struct exchange *x)
{
	x->state = EXCHANGE_RUNNING;
	x->runs_beside = x->asks_shared;
	if (x->runs_beside) {
		workers->running_shared = true;
		return;
	}
	workers->running++;
	workers->running_sql = workers->running_sql || x->runs_sql;
}

static void start_some(struct workers *workers)
{
	struct exchange *x;

	while (!workers->closing && (x = next_to_run(workers))) {
		struct job *job = calloc(1, sizeof(*job));

		if (!job)
			break;
		leave_queue(workers, x);
		*job = (struct job){.workers = workers, .x = x};
		job->work.data = job;
		begin_running(workers, x);
		uv_queue_work(workers->loop, &job->work, run_step, step_returned);
	}
	wake_again(workers);
}

/* Calls `look` for running exchanges. One without a connection was abandoned, and only waits for
 * its step to return. */
static void exchange_look(uv_timer_t *timer)
{
	struct workers *workers = timer->data;

	if (!workers->all)
		uv_timer_stop(timer);
	for (struct exchange *x = workers->all; x; x = x->next_of_all)
		if (x->connection && x->state != EXCHANGE_SENDING)
			workers->look(x);
}

void workers_init(struct workers *workers, uv_loop_t *loop, void (*ready)(struct exchange *x),
		  void (*look_at)(struct exchange *x))
{
	*workers = (struct workers){.loop = loop, .ready = ready, .look = look_at};
	workers->waiting_end = &workers->waiting;
	uv_timer_init(loop, &workers->again);
	uv_timer_init(loop, &workers->looking);
	workers->again.data = workers->looking.data = workers;
}

void workers_close(struct workers *workers)
{
	workers->closing = true;
	uv_close((uv_handle_t *)&workers->again, NULL);
	uv_close((uv_handle_t *)&workers->looking, NULL);
}

static bool runs_sql(const struct exchange *x)
{
	return x->route.flags & ROUTE_RUNS_SQL || asked_get(&x->request, "custom_filter");
}

static void join_workers(struct workers *workers, struct exchange *x)
{
	x->workers = workers;
	x->begun_ms = uv_now(workers->loop);
	x->runs_sql = runs_sql(x);
	x->asks_shared = x->route.flags & ROUTE_ASKS_SHARED && sources_shared(x->sources);
	x->next_of_all = workers->all;
	workers->all = x;
	if (!workers->closing && !uv_is_active((uv_handle_t *)&workers->looking))
		uv_timer_start(&workers->looking, exchange_look, LOOK_MS, LOOK_MS);
}

void workers_submit(struct workers *workers, struct exchange *x)
{
	if (!x->workers)
		join_workers(workers, x);
	if (x->route.flags & ROUTE_ON_LOOP) {
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

void exchange_abandon(struct workers *workers, struct exchange *x)
{
	x->connection = NULL;
	x->cancelled = true;
	if (x->state == EXCHANGE_RUNNING)
		return;
	if (x->state == EXCHANGE_WAITING)
		leave_queue(workers, x);
	if (x->state == EXCHANGE_LATER)
		exchange_leave(&workers->later, x);
	exchange_free(x);
}
