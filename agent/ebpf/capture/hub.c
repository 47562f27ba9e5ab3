/* Opens the hub, and begins and ends its watches. source.c drains their events. See hub.h. */
#include "agent/ebpf/capture/hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "agent/stream/stream.h"
#include "arch_limits.h"
#include "base/log.h"
#include "base/ban.h"

int hub_open(struct hub *hub, const struct hub_settings *settings, struct err_text *err)
{
	struct remotes_options options = {.lines = settings->lines,
					  .spaces = settings->watches,
					  .image_bytes = settings->image_bytes};
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct capture_fds fds;
	int r;

	*hub = (struct hub){.settings = *settings, .epoll = -1, .bell = -1, .news.fd = -1};
	pthread_mutex_init(&hub->remotes_lock, NULL);
	r = ring_open(&hub->news, page > HUB_NEWS_BYTES ? page : HUB_NEWS_BYTES);
	if (r < 0)
		return err_set(err, r, "can't make a ring: %s", strerror(-r));
	r = programs_open(hub, err);
	if (r < 0)
		return r;
	programs_fds(hub, &fds);
	options.rows_fd = fds.rows;
	options.spaces_fd = fds.spaces;
	r = remotes_new(&options, &hub->remotes, err);
	if (r < 0)
		return r;
	hub->epoll = epoll_create1(EPOLL_CLOEXEC);
	hub->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return hub->epoll < 0 || hub->bell < 0 ||
			       epoll_ctl(hub->epoll, EPOLL_CTL_ADD, hub->bell, &event) < 0 ||
			       epoll_ctl(hub->epoll, EPOLL_CTL_ADD, hub->news.fd, &event) < 0
		       ? err_set(err, -errno, "can't wait for the kernel: %s", strerror(errno))
		       : 0;
}

void hub_close(struct hub *hub)
{
	for (uint32_t i = 0; i < HUB_WATCHES_MAX; i++)
		if (hub->watch[i])
			watch_free(hub->watch[i]);
	if (hub->epoll >= 0)
		close(hub->epoll);
	if (hub->bell >= 0)
		close(hub->bell);
	hub->epoll = hub->bell = -1;
	ring_close(&hub->news);
	remotes_free(hub->remotes);
	hub->remotes = NULL;
	programs_close(hub);
	pthread_mutex_destroy(&hub->remotes_lock);
}

static struct watch *new_watch(struct hub *hub, pid_t pid)
{
	struct watch *w = NULL;

	for (uint32_t i = 0; !w && i < hub->settings.watches; i++) {
		if (hub->watch[i])
			continue;
		w = calloc(1, sizeof(*w));
		if (!w)
			return NULL;
		w->lane = calloc(hub->settings.threads, sizeof(*w->lane));
		if (!w->lane) {
			free(w);
			return NULL;
		}
		w->source.ops = &watch_ops;
		w->hub = hub;
		w->number = i;
		w->pid = pid;
		w->ring.fd = w->lock = -1;
		w->epoch = 1;
		w->modules_due = true;
		w->table_sure = true;
		w->shared = &hub->streams[i];
		hub->watch[i] = w;
	}
	return w;
}

/* Tells the kernel's programs if only one watch exists. Call this before the probes of a watch are
 * set and after they are removed. */
static void say_alone(struct hub *hub)
{
	uint32_t count = 0, last = 0;

	for (uint32_t i = 0; i < hub->settings.watches; i++) {
		count += hub->watch[i] != NULL;
		last = hub->watch[i] ? i + 1 : last;
	}
	__atomic_store_n(hub->alone, hub->has_sessions && count == 1 ? last : 0, __ATOMIC_SEQ_CST);
}

static int open_ring(struct watch *w)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	struct capture_fds fds;
	int r = ring_open(&w->ring, w->hub->settings.ring_bytes);

	if (r < 0)
		return r;
	programs_fds(w->hub, &fds);
	if (bpf_map_update_elem(fds.rings, &w->number, &w->ring.fd, BPF_ANY) < 0 ||
	    epoll_ctl(w->hub->epoll, EPOLL_CTL_ADD, w->ring.fd, &event) < 0)
		return -errno;
	return 0;
}

/* Registers the watch with the kernel's programs. It does not record yet. */
static int introduce(struct watch *w)
{
	struct capture_stream *s = w->shared;
	uint32_t tgid = (uint32_t)w->pid;
	struct capture_fds fds;

	memset(s, 0, sizeof(*s));
	s->tgid = tgid;
	s->space = remote_space(w->remote);
	s->wake_bytes = w->ring.size / 4;
	s->block = w->hub->settings.block;
	s->answers = s->block && sysconf(_SC_NPROCESSORS_ONLN) > 1;
	s->follow = w->hub->settings.follow;
	if (getrandom(&s->seed, sizeof(s->seed), 0) != sizeof(s->seed) ||
	    getrandom(&s->salt, sizeof(s->salt), 0) != sizeof(s->salt))
		return -EIO;
	programs_fds(w->hub, &fds);
	return bpf_map_update_elem(fds.targets, &tgid, &w->number, BPF_ANY) < 0 ? -errno : 0;
}

static int open_remote(struct watch *w, struct err_text *err)
{
	int r;

	pthread_mutex_lock(&w->hub->remotes_lock);
	r = remote_new(w->hub->remotes, w->pid, &w->remote, err);
	pthread_mutex_unlock(&w->hub->remotes_lock);
	return r;
}

static bool is_full(const struct hub *hub)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < hub->settings.watches; i++)
		count += hub->watch[i] != NULL;
	return count >= ARCH_PROCESSES_MAX;
}

int hub_watch(struct hub *hub, pid_t pid, struct watch **ret, struct err_text *err)
{
	struct watch *w;
	uint32_t news;
	int r;

	if (is_full(hub))
		return err_set(err, -ENOSPC,
			       "pid %d is not recorded: on this processor only one program can be "
			       "recorded at a time, as the kernel confuses programs at their "
			       "probes",
			       (int)pid);
	w = new_watch(hub, pid);
	if (!w)
		return err_set(err, -ENOSPC, "there is no place for pid %d: raise --memory-limit",
			       (int)pid);
	say_alone(hub);
	r = open_ring(w);
	if (r < 0)
		err_set(err, r, "can't make a ring for pid %d: %s", (int)pid, strerror(-r));
	if (!r)
		r = ebpf_modules_look(&w->modules, pid, &news, err);
	if (!r)
		r = open_remote(w, err);
	if (!r) {
		r = introduce(w);
		if (r < 0)
			err_set(err, r, "can't tell the kernel of pid %d: %s", (int)pid,
				strerror(-r));
	}
	/* The second look finds changes that the loader made before its breakpoint was probed. */
	if (!r && !watch_probe_loader(w))
		r = ebpf_modules_look(&w->modules, pid, &news, err);
	if (!r) {
		for (uint32_t i = 0; i < w->modules.count; i++)
			w->modules.module[i].first = 0;
		ebpf_modules_search(&w->modules, true);
		r = watch_probe(w, err);
	}
	if (!r && !w->sites && w->modules.go)
		r = err_set(err, -ENOENT,
			    "pid %d is a Go program without C code: Go's own heap can't be seen "
			    "from outside; its own profiler shows it "
			    "(runtime/pprof)",
			    (int)pid);
	else if (!r && !w->sites)
		r = err_set(err, -ENOENT,
			    "pid %d has no allocator that can be probed: does it allocate at all? "
			    "(agent attach "
			    "--check -p %d says what was looked at)",
			    (int)pid, (int)pid);
	if (r < 0) {
		watch_free(w);
		return r;
	}
	if (w->modules.go)
		log_warn("pid %d is a Go program: only blocks of its C code are recorded; Go's own "
			 "heap is shown by its own profiler "
			 "(runtime/pprof)",
			 (int)pid);
	*ret = w;
	return 0;
}

void watch_begin(struct watch *w, struct stream *stream)
{
	struct capture_stream *s = w->shared;

	pthread_mutex_lock(&stream->lock);
	w->stream = stream;
	w->limit = w->start_ns = stream->start_ns;
	stream_obey(stream);
	s->free_stacks = stream->frees_have_stacks;
	__atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&stream->lock);
}

void watch_probe_news(struct watch *w)
{
	bool known_too = !w->hub->has_cookies;
	struct err_text err = {{0}};
	int r = 0;

	if (w->detached || !w->stream || !__atomic_load_n(&w->probe_wanted, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&w->stream->lock);
	w->probe_wanted = false;
	if (!w->has_loader && !watch_probe_loader(w))
		w->look_wanted = true;
	if (ebpf_modules_want_probes(&w->modules, known_too)) {
		ebpf_modules_search(&w->modules, known_too);
		r = watch_probe(w, &err);
	}
	if (w->image > w->probed_image && w->chosen) {
		w->probed_image = w->image;
		log_info("pid %d: %u places are probed in its new program", (int)w->pid, w->chosen);
	}
	__atomic_store_n(&w->shared->answered, w->call, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&w->stream->lock);
	if (r < 0 && r != -ESRCH)
		log_warn("pid %d: %s", (int)w->pid, err.text);
}

static void hub_end_block(struct hub *hub, int map, const struct capture_block *block)
{
	uint32_t hash = capture_tally_hash(block->address);
	struct capture_tally *tally =
		&hub->tallies[hash >> CAPTURE_TALLY_BITS & (hub->tally_count - 1)];

	if (!bpf_map_delete_elem(map, block))
		__atomic_sub_fetch(&tally->word[hash / 8 % CAPTURE_TALLIES],
				   1u << capture_tally_shift(hash), __ATOMIC_RELAXED);
}

void watch_forget_blocks(struct watch *w, bool earlier)
{
	struct capture_block key, next;
	struct capture_fds fds;
	bool more;

	programs_fds(w->hub, &fds);
	more = !bpf_map_get_next_key(fds.blocks, NULL, &next);
	while (more) {
		key = next;
		more = !bpf_map_get_next_key(fds.blocks, &key, &next);
		if (key.stream == w->number && !(earlier && key.image >= w->image))
			hub_end_block(w->hub, fds.blocks, &key);
	}
}

/* (Removing a probe, or the ring from its map, waits until the kernel's running programs have left
 * it.) */
void watch_detach(struct watch *w)
{
	struct capture_fds fds;

	if (w->detached)
		return;
	w->detached = true;
	__atomic_store_n(&w->shared->ready, 0, __ATOMIC_RELEASE);
	watch_unprobe(w);
	programs_fds(w->hub, &fds);
	bpf_map_delete_elem(fds.rings, &w->number);
	watch_forget_blocks(w, false);
}

/* Frees the thread places of the watch. */
static void give_back(struct watch *w)
{
	struct hub *hub = w->hub;
	struct capture_fds fds;

	programs_fds(hub, &fds);
	for (uint32_t i = 0; i < hub->settings.threads; i++) {
		struct capture_thread *t = &hub->threads[i];
		uint32_t tid = t->tid;

		if (t->state == CAPTURE_THREAD_FREE || t->stream != w->number)
			continue;
		bpf_map_delete_elem(fds.tids, &tid);
		memset(t, 0, sizeof(*t));
		bpf_map_update_elem(fds.free, NULL, &i, BPF_ANY);
	}
}

void watch_free(struct watch *w)
{
	uint32_t tgid = (uint32_t)w->pid;
	struct hub *hub = w->hub;
	struct capture_fds fds;

	watch_detach(w);
	log_debug("pid %d: %llu stacks were walked by the agent, in %.1f ms, the first one %.2f ms "
		  "after its event; %llu were cut for "
		  "lack of room; it was held up for %.1f ms",
		  (int)w->pid, (unsigned long long)w->raws, (double)w->raw_ns / 1e6,
		  (double)w->raw_first_ns / 1e6, (unsigned long long)w->shared->cut,
		  (double)w->shared->waited_ns / 1e6);
	programs_fds(hub, &fds);
	bpf_map_delete_elem(fds.targets, &tgid);
	give_back(w);
	memset(w->shared, 0, sizeof(*w->shared));
	if (w->ring.fd >= 0) {
		epoll_ctl(hub->epoll, EPOLL_CTL_DEL, w->ring.fd, NULL);
		ring_close(&w->ring);
	}
	pthread_mutex_lock(&hub->remotes_lock);
	remote_free(w->remote);
	pthread_mutex_unlock(&hub->remotes_lock);
	ebpf_modules_done(&w->modules);
	if (w->lock >= 0)
		close(w->lock);
	hub->watch[w->number] = NULL;
	say_alone(hub);
	free(w->lane);
	free(w);
}
