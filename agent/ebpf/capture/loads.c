/* Modules of a watched process. See loads.h. */
#include "agent/ebpf/capture/loads.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/ebpf/capture/lanes.h"
#include "base/log.h"
#include "base/ban.h"

#define LOOK_NS	      1000000000 /* between looks at the maps without another reason */
#define LOOK_LEAST_NS 100000000	 /* between looks for code that no module has */
#define MEET_NS	      2000000000 /* a program counts as new for this long */
#define SETTLED_NS    100000000	 /* a program that has an allocator counts as new for this long */
#define MEET_PAUSE_NS 1000000

bool watch_is_beginning(const struct watch *w, uint64_t now_ns)
{
	uint64_t since = __atomic_load_n(&w->image_ns, __ATOMIC_RELAXED);

	return since && !__atomic_load_n(&w->has_loader, __ATOMIC_RELAXED) &&
	       now_ns - since <
		       (__atomic_load_n(&w->chosen, __ATOMIC_RELAXED) ? SETTLED_NS : MEET_NS);
}

static void put_load(struct watch *w, struct run *run, const struct ebpf_module *m, uint64_t now)
{
	struct run_module *to = &w->module;

	*to = (struct run_module){
		.id = m->id,
		.epoch = w->epoch,
		.time_ns = watch_ns(w, now),
		.bias = m->bias,
		.start = m->start,
		.end = m->end,
		.path = (const uint8_t *)m->path,
		.path_length = (uint32_t)strlen(m->path),
		.build_id = m->build_id,
		.build_id_length = m->build_id_length,
		.print = m->print,
		.segment_count = m->segment_count,
	};
	memcpy(to->segment, m->segment, sizeof(m->segment));
	run_put(run, RUN_LOAD, RUN_NO_LANE, to->time_ns)->module = to;
}

bool loads_put(struct watch *w, struct run *run, uint64_t now)
{
	for (uint32_t i = 0; i < w->modules.count; i++) {
		struct ebpf_module *m = &w->modules.module[i];
		struct run_item *item;

		if (m->idle || (m->told && m->seen))
			continue;
		if (!m->told) {
			put_load(w, run, m, now);
			m->told = true;
			return true;
		}
		item = run_put(run, RUN_UNLOAD, RUN_NO_LANE, watch_ns(w, now));
		item->unload.id = m->id;
		item->unload.epoch = ++w->epoch;
		ebpf_modules_remove(&w->modules, i);
		return true;
	}
	w->modules_due = false;
	return false;
}

/* Asks the main thread to set probes. */
static void want_probes(struct watch *w)
{
	uint64_t one = 1;

	__atomic_store_n(&w->probe_wanted, true, __ATOMIC_RELAXED);
	if (write(w->hub->bell, &one, sizeof(one)) < 0)
		log_debug("the bell is full");
}

void loads_look(struct watch *w, uint64_t now)
{
	uint32_t before = __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE), news = 0;
	struct err_text err = {{0}};
	int r = ebpf_modules_look(&w->modules, w->pid, &news, &err);

	w->look_ns = now;
	w->look_wanted = false;
	w->modules_due = true;
	w->table = __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE);
	w->table_sure = !r && w->table == before;
	if (r) /* the process has ended, or memory is short: its stacks end there */
		return;
	/* The loader's first two calls concern the libraries that a program starts with. */
	for (uint32_t i = 0;
	     w->image && !w->has_loader && w->table - w->image_table <= 2 && i < w->modules.count;
	     i++)
		w->modules.module[i].first = 0;
	if (news)
		watch_say_theirs(w);
	pthread_mutex_lock(&w->hub->remotes_lock);
	remote_look(w->remote, news != 0);
	pthread_mutex_unlock(&w->hub->remotes_lock);
	if (!w->has_loader || ebpf_modules_want_probes(&w->modules, !w->hub->has_cookies))
		want_probes(w);
}

void loads_meet_image(struct watch *w)
{
	uint64_t now = clock_monotonic_ns();

	if (watch_is_beginning(w, now) && now - w->look_ns > MEET_PAUSE_NS)
		loads_look(w, now);
}

void loads_look_if_due(struct watch *w, uint64_t now)
{
	uint64_t pause = watch_is_beginning(w, now) ? MEET_PAUSE_NS
			 : w->look_wanted	    ? LOOK_LEAST_NS
						    : LOOK_NS;

	if (now - w->look_ns > pause &&
	    __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE) == w->table)
		loads_look(w, now);
}
