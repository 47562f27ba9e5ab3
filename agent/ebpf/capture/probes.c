/* The probes of a process: one at each site of its allocators, and at returns. See hub.h, agent/ebpf/sites.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "agent/ebpf/capture/hub.h"
#include "agent/ebpf/capture/loader.h"
#include "agent/ebpf/multi.h"
#include "base/array.h"
#include "base/log.h"
#include "proto/event.h"
#include "base/ban.h"

static int keep(struct watch *w, struct bpf_link *link)
{
	if (!link)
		return -errno;
	if (array_reserve(&w->link, &w->links_capacity, w->links + 1, sizeof(*w->link))) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	w->link[w->links++] = link;
	return 0;
}

static int attach(struct watch *w, struct bpf_program *program, const char *path,
		  uint64_t offset, uint64_t word, bool returns)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = w->hub->has_cookies ? word : 0,
		    .retprobe = returns);

	return keep(w,
		    bpf_program__attach_uprobe_opts(program, w->pid, path, offset, &options));
}

/*
 * By links that cost less than perf events, where kernels have sessions. `MULTI_SESSION`: entry and return in one, which need not
 * come. (Not for what has no return: of a session for another process the kernel thinks that it wants the return, in this one, too.)
 */
static int attach_multi(struct watch *w, const char *path, uint64_t offset, uint64_t word, int program, enum multi_type type)
{
	const struct multi_probe probe = {
		.program = program,
		.type = type,
		.path = path,
		.offset = offset,
		.cookie = word,
		.pid = w->pid,
	};
	int fd;

	if (array_reserve(&w->multi, &w->multis_capacity, w->multis + 1, sizeof(*w->multi)))
		return -ENOMEM;
	fd = multi_attach(&probe);
	if (fd < 0)
		return fd;
	w->multi[w->multis++] = fd;
	return 0;
}

static int attach_event(struct watch *w, const char *path, uint64_t offset, uint64_t word, bool exit, bool returns)
{
	struct hub *hub = w->hub;
	int r = 0;

	/* The end before the begin: what has no begin is passed over. */
	if (returns)
		r = attach(w, program_return(hub), path, offset, word, true);
	return r ? r : attach(w, exit ? program_exit(hub) : program_entry(hub), path, offset, word, false);
}

/* Where kernels have no cookies the word is found by the address. */
static int place(struct watch *w, const struct ebpf_module *m, uint64_t offset, uint64_t word)
{
	struct {
		uint32_t tgid, reserved;
		uint64_t pc;
	} key = {.tgid = (uint32_t)w->pid};
	struct capture_fds fds;

	for (uint32_t i = 0; i < m->segment_count; i++)
		if (offset - m->segment[i].file_offset < m->segment[i].size)
			key.pc = m->bias + m->segment[i].address + offset - m->segment[i].file_offset;
	programs_fds(w->hub, &fds);
	return bpf_map_update_elem(fds.places, &key, &word, BPF_ANY) < 0 ? -errno : 0;
}

/* Sites of one function have its number in common. */
static uint16_t number_of(const struct site *site, const struct ebpf_module *m)
{
	uint32_t index = 0;

	while (index < m->sites.count && (m->sites.site[index].kind != SITE_ENTRY ||
					  m->sites.site[index].function != site->function))
		index++;
	return (uint16_t)(1 + (m->id * 256 + index) % UINT16_MAX);
}

static uint64_t word_of(const struct watch *w, const struct ebpf_module *m, const struct sites_choice *choice)
{
	uint64_t word = site_with_own(choice->word, number_of(choice->site, m));

	/* Else what an allocator inside of the program maps would be taken for the program's: its calls must be known. */
	return watch_is_program(w, m) ? site_with_flags(word, site_flags(word) & ~(uint32_t)SITE_LEAF) : word;
}

static int probe(struct watch *w, const struct ebpf_module *m, const struct sites_choice *choice)
{
	uint64_t word = word_of(w, m, choice), offset = choice->offset;
	const struct site *site = choice->site;
	bool exit = site->kind == SITE_EXIT,
	     returns = !exit && site_returns(word) &&
		       (event_class(site_kind(word)) != EVENT_CLASS_FREE || site_flags(word) & SITE_FOLLOWED);
	struct hub *hub = w->hub;
	char path[64];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->fd);
	if (!hub->has_cookies)
		r = place(w, m, offset, word);
	if (m->again)
		return r;
	if (!r && !hub->has_sessions)
		r = attach_event(w, path, offset, word, exit, returns);
	else if (!r && returns)
		r = attach_multi(w, path, offset, word, program_session(hub), MULTI_SESSION);
	else if (!r)
		r = attach_multi(w, path, offset, word, bpf_program__fd(exit ? program_exit(hub) : program_entry(hub)),
				 MULTI_UPROBES);
	log_debug("pid %d: %s of %s at %s+0x%llx: %s", (int)w->pid, exit ? "exit" : "entry",
		  site->name, m->path, (unsigned long long)offset,
		  r	    ? strerror(-r)
		  : returns ? "with return"
			    : "set");
	return r;
}

int watch_probe(struct watch *w, struct err_text *err)
{
	struct sites_module *list = calloc(w->modules.count + 1, sizeof(*list));
	struct sites_choice *choice = NULL;
	size_t choices = 0;
	int r = list ? 0 : -ENOMEM;

	for (uint32_t i = 0; !r && i < w->modules.count; i++) {
		const struct ebpf_module *m = &w->modules.module[i];

		list[i] =
			(struct sites_module){m->has_sites && !m->idle ? &m->sites : NULL, m->path};
	}
	/* Where one of a module that is gone was, others may be now. */
	__atomic_store_n(&w->shared->salt, w->shared->salt * 0x9e3779b97f4a7c15ull + 1, __ATOMIC_SEQ_CST);
	if (!r)
		r = sites_choose(list, w->modules.count, &choice, &choices);
	w->chosen = (uint32_t)choices;
	watch_say_theirs(w);
	for (size_t i = 0; !r && i < choices; i++) {
		struct ebpf_module *m = &w->modules.module[choice[i].module];

		if (m->moved && !w->hub->has_cookies)
			r = place(w, m, choice[i].offset, word_of(w, m, &choice[i]));
		if (m->probed || m->fd < 0 || r)
			continue;
		r = probe(w, m, &choice[i]);
		w->sites += !r;
		if (r < 0)
			err_set(err, r, "can't probe %s in %s: %s", choice[i].site->name, m->path,
				strerror(-r));
	}
	for (uint32_t i = 0; i < w->modules.count; i++) {
		w->modules.module[i].probed = true;
		w->modules.module[i].moved = false;
	}
	free(choice);
	free(list);
	return r;
}

static bool has_loader(const struct watch *w, const struct watch_loader *loader)
{
	for (uint32_t i = 0; i < w->loaders; i++)
		if (!memcmp(&w->loader[i], loader, sizeof(*loader)))
			return true;
	return false;
}

int watch_probe_loader(struct watch *w)
{
	struct watch_loader place;
	const struct ebpf_module *m;
	struct loader loader;
	uint64_t address, offset = 0;
	char path[64];
	int r = loader_find(w->pid, &loader);

	m = r ? NULL : ebpf_modules_at(&w->modules, loader.breakpoint);
	if (!m || m->fd < 0)
		return r ? r : -ENOENT;
	address = loader.breakpoint - m->bias;
	for (uint32_t i = 0; i < m->segment_count; i++)
		if (address - m->segment[i].address < m->segment[i].size)
			offset = address - m->segment[i].address + m->segment[i].file_offset;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->fd);
	__atomic_store_n(&w->shared->loader_state, loader.state, __ATOMIC_RELAXED);
	place = (struct watch_loader){m->device, m->inode, offset};
	w->has_loader = has_loader(w, &place);
	if (w->has_loader)
		return 0;
	if (array_reserve(&w->loader, &w->loaders_capacity, w->loaders + 1, sizeof(*w->loader)))
		return -ENOMEM;
	r = w->hub->has_sessions
		    ? attach_multi(w, path, offset, 0, bpf_program__fd(program_loader(w->hub)), MULTI_UPROBES)
		    : attach(w, program_loader(w->hub), path, offset, 0, false);
	if (!r)
		w->loader[w->loaders++] = place;
	w->has_loader = !r;
	log_debug("pid %d: the loader's breakpoint at %s+0x%llx: %s", (int)w->pid, m->path, (unsigned long long)offset,
		  r ? strerror(-r) : "set");
	return r;
}

void watch_unprobe(struct watch *w)
{
	for (uint32_t i = 0; i < w->links; i++)
		bpf_link__destroy(w->link[i]);
	free(w->link);
	w->link = NULL;
	w->links = w->links_capacity = 0;
	for (uint32_t i = 0; i < w->multis; i++)
		close(w->multi[i]);
	free(w->multi);
	w->multi = NULL;
	w->multis = w->multis_capacity = 0;
	free(w->loader);
	w->loader = NULL;
	w->loaders = w->loaders_capacity = 0;
}
