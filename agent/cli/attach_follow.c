/*
 * Follows new processes, and processes that call exec. The kernel's programs report every exec and
 * every fork of recorded processes. Twice a second a scan of /proc finds what was not reported.
 *
 * A process that has just called exec has no libc yet, since its loader is still starting; the
 * agent tries again until the process has an allocator. For a child that shares its parent's memory
 * (vfork) the agent waits until the child has its own memory: probes belong to an address space,
 * not to a process.
 */
#include "agent/cli/attach.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/ban.h"

#define SOON_MS	   4
#define WAITING_NS 2000000000 /* for an allocator */

static struct attach_known *attach_follow_known(struct attach *a, pid_t pid, uint64_t start)
{
	for (unsigned i = 0; i < ATTACH_KNOWN_MAX; i++)
		if (a->known[i].pid == pid && a->known[i].start == start)
			return &a->known[i];
	return NULL;
}

static void know(struct attach *a, pid_t pid, uint64_t start)
{
	if (!attach_follow_known(a, pid, start))
		a->known[a->next_known++ % ATTACH_KNOWN_MAX] = (struct attach_known){pid, start};
}

static struct watch *recorded(struct attach *a, pid_t pid)
{
	for (uint32_t i = 0; i < a->hub.settings.watches; i++)
		if (a->hub.watch[i] && a->hub.watch[i]->pid == pid && !a->hub.watch[i]->detached &&
		    a->hub.watch[i]->stream)
			return a->hub.watch[i];
	return NULL;
}

static void soon(struct attach *a)
{
	if (!uv_is_active((uv_handle_t *)&a->soon))
		uv_timer_start(&a->soon, a->soon.timer_cb, SOON_MS, 0);
}

/* ---- new processes ---- */

static void attach_follow_wait_for(struct attach *a, pid_t pid, uint64_t start,
				   const struct watch *parent)
{
	struct attach_waiting *w = NULL;

	for (unsigned i = 0; i < ATTACH_WAITING_MAX; i++) {
		if (a->waiting[i].pid == pid)
			return;
		if (!a->waiting[i].pid)
			w = &a->waiting[i];
	}
	if (!w)
		return; /* the next scan finds the process */
	*w = (struct attach_waiting){
		.pid = pid, .start = start, .since_ns = clock_monotonic_ns(), .is_child = parent};
	if (parent)
		memcpy(w->parent, parent->stream->id, sizeof(w->parent));
	soon(a);
}

static bool shares_memory(pid_t pid, pid_t parent)
{
	return syscall(SYS_kcmp, (long)pid, (long)parent, (long)KCMP_VM, 0L, 0L) == 0;
}

/* Returns true if the process needs no further try. */
static bool try(struct attach *a, const struct attach_waiting *w)
{
	bool late = clock_monotonic_ns() - w->since_ns > WAITING_NS;
	struct err_text err = {{0}};
	uint64_t start;
	pid_t parent;
	int r;

	if (target_identity(w->pid, &parent, &start) < 0 || start != w->start ||
	    recorded(a, w->pid))
		return true;
	if (shares_memory(w->pid, parent))
		return late;
	r = attach_one(a, w->pid, w->is_child ? w->parent : NULL, &err);
	if (r == -ENOENT && !late)
		return false;
	know(a, w->pid, w->start);
	if (r == -ENOSPC && !a->full)
		log_warn("%s (said once)", err.text);
	else if (r < 0 && r != -ENOSPC && r != -ESRCH)
		log_info("not attached: %s", err.text);
	a->full |= r == -ENOSPC;
	return true;
}

static void try_waiting(struct attach *a)
{
	for (unsigned i = 0; i < ATTACH_WAITING_MAX; i++) {
		struct attach_waiting *w = &a->waiting[i];

		if (w->pid && try(a, w))
			w->pid = 0;
		if (w->pid)
			soon(a);
	}
}

/* ---- selection ---- */

static void attach_follow_look_at(void *context, pid_t pid)
{
	struct attach *a = context;
	const struct watch *watch;
	uint64_t start;
	pid_t parent;

	if (target_identity(pid, &parent, &start) < 0 || attach_follow_known(a, pid, start) ||
	    recorded(a, pid) || attach_is_ours(pid))
		return;
	watch = a->options.follow ? recorded(a, parent) : NULL;
	if (watch || (attach_looks(&a->want) && attach_wants(&a->want, pid)))
		attach_follow_wait_for(a, pid, start, watch);
}

void attach_look_around(struct attach *a)
{
	if (!a->options.follow && !attach_looks(&a->want))
		return;
	attach_each(attach_follow_look_at, a);
	try_waiting(a);
}

static void told(void *context, const struct capture_news *news)
{
	struct attach *a = context;
	pid_t pid = (pid_t)news->tgid;

	if (news->type == CAPTURE_NEWS_FORK)
		a->children_wanted = true;
	if (news->type != CAPTURE_NEWS_EXEC || recorded(a, pid))
		return;
	for (unsigned i = 0; i < ATTACH_KNOWN_MAX; i++)
		if (a->known[i].pid == pid)
			a->known[i].pid = 0;
	attach_follow_look_at(a, pid);
}

void attach_hear(struct attach *a)
{
	if (a->agent.stopping)
		return;
	hub_news(&a->hub, told, a);
	soon(a);
}

/* ---- recorded processes ---- */

void attach_look_again(struct attach *a)
{
	uint64_t now = clock_monotonic_ns();

	for (uint32_t i = 0; i < a->hub.settings.watches; i++) {
		struct watch *w = a->hub.watch[i];

		if (!w)
			continue;
		watch_probe_news(w);
		if (w->detached || !watch_is_beginning(w, now))
			continue;
		drain_kick(&a->agent.drain);
		soon(a);
	}
}

static void at_once(uv_timer_t *timer)
{
	struct attach *a = timer->data;

	if (a->agent.stopping)
		return;
	attach_look_again(a);
	if (a->children_wanted) {
		a->children_wanted = false;
		attach_each(attach_follow_look_at, a);
	}
	try_waiting(a);
}

void attach_begin_following(struct attach *a)
{
	a->soon.data = a;
	uv_timer_init(&a->agent.loop, &a->soon);
	uv_timer_start(&a->soon, at_once, SOON_MS, 0);
}
