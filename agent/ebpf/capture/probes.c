/* Sets the probes of a process: one at each site of its allocators, and those at returns. See
 * hub.h, agent/ebpf/sites.h. */
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

static int probes_keep(struct watch *w, struct bpf_link *link)
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

static int keep_multi(struct watch *w, const struct multi_probe *probe)
{
	int fd;

	if (array_reserve(&w->multi, &w->multis_capacity, w->multis + 1, sizeof(*w->multi)))
		return -ENOMEM;
	fd = multi_attach(probe);
	if (fd < 0)
		return fd;
	w->multi[w->multis++] = fd;
	return 0;
}

static void probes_path_of(const struct ebpf_module *m, char *out, size_t size)
{
	snprintf(out, size, "/proc/self/fd/%d", m->fd);
}

static int attach(struct watch *w, struct bpf_program *program, const char *path, uint64_t offset,
		  uint64_t word, bool returns)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = w->hub->has_cookies ? word : 0,
		    .retprobe = returns);

	return probes_keep(
		w, bpf_program__attach_uprobe_opts(program, w->pid, path, offset, &options));
}

/*
 * Groups of places that one link can hold. Such links cost less than perf events, and are used if
 * the kernel has sessions. A session runs at the entry and, if the entry asks for it, at the
 * return. Entries without a return do not use sessions: for a process that the session does not
 * watch, the kernel assumes that the return is wanted, too. Exits are set before entries, because
 * an exit without an entry is ignored.
 */
enum group_kind { GROUP_EXIT, GROUP_ENTRY, GROUP_SESSION, GROUPS };

struct group {
	uint64_t *offset, *word;
	uint32_t count;
};

static int attach_multi(struct watch *w, const struct ebpf_module *m, enum group_kind kind,
			const uint64_t *offset, const uint64_t *word, uint32_t count)
{
	char path[64];
	const struct multi_probe probe = {
		.program = kind == GROUP_SESSION
				   ? program_session(w->hub)
				   : bpf_program__fd(kind == GROUP_EXIT ? program_exit(w->hub)
									: program_entry(w->hub)),
		.type = kind == GROUP_SESSION ? MULTI_SESSION : MULTI_UPROBES,
		.path = path,
		.offset = offset,
		.cookie = word,
		.count = count,
		.pid = w->pid,
	};

	probes_path_of(m, path, sizeof(path));
	return keep_multi(w, &probe);
}

static int attach_event(struct watch *w, const char *path, uint64_t offset, uint64_t word,
			bool exit, bool returns)
{
	struct hub *hub = w->hub;
	int r = 0;

	/* Probe the return first: a return without an entry is ignored. */
	if (returns)
		r = attach(w, program_return(hub), path, offset, word, true);
	return r ? r
		 : attach(w, exit ? program_exit(hub) : program_entry(hub), path, offset, word,
			  false);
}

/* Registers the place's word by its address, for kernels without cookies. */
static int probes_place(struct watch *w, const struct ebpf_module *m, uint64_t offset,
			uint64_t word)
{
	struct {
		uint32_t tgid, reserved;
		uint64_t pc;
	} key = {.tgid = (uint32_t)w->pid};
	struct capture_fds fds;

	for (uint32_t i = 0; i < m->segment_count; i++)
		if (offset - m->segment[i].file_offset < m->segment[i].size)
			key.pc = m->bias + m->segment[i].address + offset -
				 m->segment[i].file_offset;
	programs_fds(w->hub, &fds);
	return bpf_map_update_elem(fds.places, &key, &word, BPF_ANY) < 0 ? -errno : 0;
}

/* Returns the number that all sites of one function share. */
static uint16_t probes_number_of(const struct site *site, const struct ebpf_module *m)
{
	uint32_t index = 0;

	while (index < m->sites.count && (m->sites.site[index].kind != SITE_ENTRY ||
					  m->sites.site[index].function != site->function))
		index++;
	return (uint16_t)(1 + (m->id * 256 + index) % UINT16_MAX);
}

static uint64_t word_of(const struct watch *w, const struct ebpf_module *m,
			const struct sites_choice *choice)
{
	uint64_t word = site_with_own(choice->word, probes_number_of(choice->site, m));

	/* In the program's own file no function counts as a leaf: calls of an allocator must be
	 * followed, or its mappings would be taken for the program's. */
	return watch_is_program(w, m)
		       ? site_with_flags(word, site_flags(word) & ~(uint32_t)SITE_LEAF)
		       : word;
}

static bool wants_return(const struct site *site, uint64_t word)
{
	return site->kind != SITE_EXIT && site_returns(word) &&
	       (event_class(site_kind(word)) != EVENT_CLASS_FREE ||
		site_flags(word) & SITE_FOLLOWED);
}

/* Probes at once with perf events, or else adds the place to its group. */
static int probe(struct watch *w, const struct ebpf_module *m, const struct sites_choice *choice,
		 struct group group[GROUPS])
{
	uint64_t word = word_of(w, m, choice), offset = choice->offset;
	const struct site *site = choice->site;
	bool exit = site->kind == SITE_EXIT, returns = wants_return(site, word);
	struct group *to = &group[exit ? GROUP_EXIT : returns ? GROUP_SESSION : GROUP_ENTRY];
	char path[64];
	int r = 0;

	probes_path_of(m, path, sizeof(path));
	if (!w->hub->has_cookies)
		r = probes_place(w, m, offset, word);
	if (m->again)
		return r;
	if (!r && !w->hub->has_sessions) {
		r = attach_event(w, path, offset, word, exit, returns);
	} else if (!r) {
		to->offset[to->count] = offset;
		to->word[to->count++] = word;
	}
	log_debug("pid %d: %s of %s at %s+0x%llx: %s", (int)w->pid, exit ? "exit" : "entry",
		  site->name, m->path, (unsigned long long)offset,
		  r	    ? strerror(-r)
		  : returns ? "with return"
			    : "set");
	return r;
}

static int probe_groups(struct watch *w, const struct ebpf_module *m, struct group group[GROUPS],
			struct err_text *err)
{
	int r = 0;

	for (enum group_kind g = 0; g < GROUPS; g++) {
		if (group[g].count && !r)
			r = attach_multi(w, m, g, group[g].offset, group[g].word, group[g].count);
		group[g].count = 0;
	}
	if (r < 0)
		err_set(err, r, "can't probe the allocator in %s: %s", m->path, strerror(-r));
	return r;
}

static int probe_module(struct watch *w, struct ebpf_module *m, const struct sites_choice *choice,
			size_t count, struct group group[GROUPS], struct err_text *err)
{
	bool fresh = !m->probed && m->fd >= 0;
	int r = 0;

	for (size_t i = 0; i < count && !r; i++) {
		if (m->moved && !w->hub->has_cookies)
			r = probes_place(w, m, choice[i].offset, word_of(w, m, &choice[i]));
		if (!r && fresh)
			r = probe(w, m, &choice[i], group);
		if (r < 0)
			err_set(err, r, "can't probe %s in %s: %s", choice[i].site->name, m->path,
				strerror(-r));
		w->sites += fresh && !r;
	}
	return r < 0 ? r : probe_groups(w, m, group, err);
}

/* Choices of one module are consecutive. */
static int probe_choices(struct watch *w, const struct sites_choice *choice, size_t choices,
			 struct err_text *err)
{
	uint64_t *words = calloc(2 * GROUPS * choices + 1, sizeof(*words));
	struct group group[GROUPS];
	size_t from = 0;
	int r = words ? 0 : -ENOMEM;

	for (unsigned g = 0; words && g < GROUPS; g++)
		group[g] =
			(struct group){words + 2 * g * choices, words + (2 * g + 1) * choices, 0};
	while (!r && from < choices) {
		size_t to = from;

		while (to < choices && choice[to].module == choice[from].module)
			to++;
		r = probe_module(w, &w->modules.module[choice[from].module], choice + from,
				 to - from, group, err);
		from = to;
	}
	free(words);
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
	/* Another module may now lie where a removed one was; the new salt invalidates cached
	 * words. */
	__atomic_store_n(&w->shared->salt, w->shared->salt * 0x9e3779b97f4a7c15ull + 1,
			 __ATOMIC_SEQ_CST);
	if (!r)
		r = sites_choose(list, w->modules.count, &choice, &choices);
	w->chosen = (uint32_t)choices;
	watch_say_theirs(w);
	if (!r)
		r = probe_choices(w, choice, choices, err);
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
	struct multi_probe probe;
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
	probes_path_of(m, path, sizeof(path));
	__atomic_store_n(&w->shared->loader_state, loader.state, __ATOMIC_RELAXED);
	place = (struct watch_loader){m->device, m->inode, offset};
	w->has_loader = has_loader(w, &place);
	if (w->has_loader)
		return 0;
	if (array_reserve(&w->loader, &w->loaders_capacity, w->loaders + 1, sizeof(*w->loader)))
		return -ENOMEM;
	probe = (struct multi_probe){
		.program = bpf_program__fd(program_loader(w->hub)),
		.type = MULTI_UPROBES,
		.path = path,
		.offset = &offset,
		.count = 1,
		.pid = w->pid,
	};
	r = w->hub->has_sessions ? keep_multi(w, &probe)
				 : attach(w, program_loader(w->hub), path, offset, 0, false);
	if (!r)
		w->loader[w->loaders++] = place;
	w->has_loader = !r;
	log_debug("pid %d: the loader's breakpoint at %s+0x%llx: %s", (int)w->pid, m->path,
		  (unsigned long long)offset, r ? strerror(-r) : "set");
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
