/* Loads the programs of bpf/capture.bpf.c with libbpf. See hub.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "agent/ebpf/capture/hub.h"
#include "agent/ebpf/multi.h"
#include "agent/ebpf/trial.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/capture.skel.h"
#include "bpf/walk_shared.h"

#define TOLD_MAX	1000
#define TALLIES_A_BLOCK 2
#define HINTS_A_THREAD	8
#define FIRST_NAMESPACE 0xeffffffcu /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

static int programs_tell(enum libbpf_print_level level, const char *format, va_list args)
{
	cleanup(cleanup_free) char *text = NULL;
	size_t length;

	if (level == LIBBPF_DEBUG || vasprintf(&text, format, args) < 0)
		return 0;
	length = strlen(text);
	/* The verifier's reason is at the end of its log. */
	log_debug("libbpf: %s", length > TOLD_MAX ? text + length - TOLD_MAX : text);
	return 0;
}

static void *map(int fd, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) & ~(page - 1);
}

/* Sets the sizes of the maps; the source declares them with one element. */
static int size_maps(const struct hub *hub)
{
	const struct hub_settings *s = &hub->settings;
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{hub->object->maps.capture_targets, s->watches},
		{hub->object->maps.capture_streams, s->watches},
		{hub->object->maps.capture_rings, s->watches},
		{hub->object->maps.capture_threads, s->threads},
		{hub->object->maps.capture_free, s->threads},
		{hub->object->maps.capture_tids, s->threads},
		{hub->object->maps.capture_hints, hub->object->rodata->capture_hint_mask + 1},
		{hub->object->maps.capture_blocks, s->blocks},
		{hub->object->maps.capture_tallies, hub->tally_count},
		{hub->object->maps.capture_places, hub->has_cookies ? 1 : 256 * s->watches},
		{hub->object->maps.walk_rows, s->lines},
		{hub->object->maps.walk_spaces, s->watches},
		{hub->object->maps.walk_slots, s->threads},
	};
	int r = bpf_map__reuse_fd(hub->object->maps.capture_newses, hub->news.fd);

	for (unsigned i = 0; !r && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		r = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	return r;
}

static uint32_t power_above(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power *= 2;
	return power;
}

/* Sizes the tallies so that few blocks share a counter, and the hints so that few threads are
 * guessed wrongly. */
static void set_masks(struct hub *hub)
{
	hub->tally_count =
		power_above((TALLIES_A_BLOCK * hub->settings.blocks >> CAPTURE_TALLY_BITS) + 1);
	hub->object->rodata->capture_tally_mask = hub->tally_count - 1;
	hub->object->rodata->capture_hint_mask =
		power_above(HINTS_A_THREAD * hub->settings.threads) - 1;
}

/* Passes our pid namespace to the programs, so that pids are those of this namespace. */
static void say_namespace(struct capture *object)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == FIRST_NAMESPACE)
		return;
	object->rodata->capture_ns_dev = st.st_dev;
	object->rodata->capture_ns_ino = st.st_ino;
}

/* Sets the attach types for links other than perf events. */
static void say_kinds(struct capture *object)
{
	bpf_program__set_expected_attach_type(object->progs.capture_session,
					      (enum bpf_attach_type)MULTI_SESSION);
	bpf_program__set_expected_attach_type(object->progs.capture_entry,
					      (enum bpf_attach_type)MULTI_UPROBES);
	bpf_program__set_expected_attach_type(object->progs.capture_exit,
					      (enum bpf_attach_type)MULTI_UPROBES);
	bpf_program__set_expected_attach_type(object->progs.capture_loader,
					      (enum bpf_attach_type)MULTI_UPROBES);
}

static int try_load(struct hub *hub, bool cookies)
{
	int r;

	hub->has_cookies = cookies;
	hub->object = capture__open();
	if (!hub->object)
		return -errno;
	hub->object->rodata->capture_has_cookies = cookies;
	hub->object->rodata->capture_wants_execs = hub->settings.execs;
	hub->object->rodata->capture_page_mask = (uint32_t)sysconf(_SC_PAGESIZE) - 1;
	bpf_program__set_autoload(hub->object->progs.capture_fork, hub->settings.follow);
	bpf_program__set_autoload(hub->object->progs.capture_session, hub->has_sessions);
	bpf_program__set_autoload(hub->object->progs.capture_return, !hub->has_sessions);
	if (hub->has_sessions)
		say_kinds(hub->object);
	say_namespace(hub->object);
	set_masks(hub);
	r = size_maps(hub);
	if (!r)
		r = capture__load(hub->object);
	if (!r)
		return 0;
	capture__destroy(hub->object);
	hub->object = NULL;
	return r;
}

static int give_places(const struct hub *hub)
{
	int fd = bpf_map__fd(hub->object->maps.capture_free), r = 0;

	for (uint32_t i = hub->settings.threads; !r && i-- > 0;)
		r = bpf_map_update_elem(fd, NULL, &i, BPF_ANY);
	return r < 0 ? -errno : 0;
}

static bool knows_sessions(void)
{
	struct trial trial;
	bool knows = trial_begin(&trial, TRIAL_SESSION, TRIAL_EMULATED, false) == 0;

	trial_done(&trial);
	return knows;
}

int programs_open(struct hub *hub, struct err_text *err)
{
	int r;

	libbpf_set_print(programs_tell);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	hub->has_sessions = knows_sessions();
	/* Kernels before 5.15 have no cookies. Sessions have cookies even if perf events are not
	 * permitted. */
	r = try_load(hub, hub->has_sessions || trial_cookie() == 0);
	if (r < 0)
		return err_set(
			err, r,
			"can't load the programs that record into the kernel: %s. Needed are root, "
			"or "
			"CAP_BPF and CAP_PERFMON, and Linux 5.10 (agent attach --check says more)",
			strerror(-r));
	hub->threads_size = whole_pages(hub->settings.threads * sizeof(*hub->threads));
	hub->streams_size = whole_pages(hub->settings.watches * sizeof(*hub->streams));
	hub->threads = map(bpf_map__fd(hub->object->maps.capture_threads), hub->threads_size);
	hub->streams = map(bpf_map__fd(hub->object->maps.capture_streams), hub->streams_size);
	hub->tallies_size = whole_pages(hub->tally_count * sizeof(*hub->tallies));
	hub->tallies = map(bpf_map__fd(hub->object->maps.capture_tallies), hub->tallies_size);
	if (!hub->threads || !hub->streams || !hub->tallies)
		return err_set(err, -ENOMEM, "can't map the kernel's memory");
	hub->alone = (uint32_t *)&hub->object->bss->capture_alone;
	r = give_places(hub);
	if (!r) {
		hub->exit_link = bpf_program__attach(hub->object->progs.capture_thread_exit);
		hub->exec_link = bpf_program__attach(hub->object->progs.capture_exec);
		r = hub->exit_link && hub->exec_link ? 0 : -errno;
	}
	if (!r && hub->settings.follow) {
		hub->fork_link = bpf_program__attach(hub->object->progs.capture_fork);
		r = hub->fork_link ? 0 : -errno;
	}
	return r < 0 ? err_set(err, r, "can't watch threads end: %s", strerror(-r)) : 0;
}

void programs_close(struct hub *hub)
{
	if (hub->exit_link)
		bpf_link__destroy(hub->exit_link);
	if (hub->exec_link)
		bpf_link__destroy(hub->exec_link);
	if (hub->fork_link)
		bpf_link__destroy(hub->fork_link);
	if (hub->threads)
		munmap(hub->threads, hub->threads_size);
	if (hub->streams)
		munmap(hub->streams, hub->streams_size);
	if (hub->tallies)
		munmap(hub->tallies, hub->tallies_size);
	if (hub->object)
		capture__destroy(hub->object);
	hub->exit_link = hub->exec_link = hub->fork_link = NULL;
	hub->threads = NULL;
	hub->streams = NULL;
	hub->tallies = NULL;
	hub->object = NULL;
}

void programs_fds(const struct hub *hub, struct capture_fds *ret)
{
	*ret = (struct capture_fds){
		.targets = bpf_map__fd(hub->object->maps.capture_targets),
		.streams = bpf_map__fd(hub->object->maps.capture_streams),
		.threads = bpf_map__fd(hub->object->maps.capture_threads),
		.free = bpf_map__fd(hub->object->maps.capture_free),
		.tids = bpf_map__fd(hub->object->maps.capture_tids),
		.rings = bpf_map__fd(hub->object->maps.capture_rings),
		.blocks = bpf_map__fd(hub->object->maps.capture_blocks),
		.places = bpf_map__fd(hub->object->maps.capture_places),
		.rows = bpf_map__fd(hub->object->maps.walk_rows),
		.spaces = bpf_map__fd(hub->object->maps.walk_spaces),
	};
}

struct bpf_program *program_entry(const struct hub *hub)
{
	return hub->object->progs.capture_entry;
}

struct bpf_program *program_exit(const struct hub *hub)
{
	return hub->object->progs.capture_exit;
}

struct bpf_program *program_return(const struct hub *hub)
{
	return hub->object->progs.capture_return;
}

struct bpf_program *program_loader(const struct hub *hub)
{
	return hub->object->progs.capture_loader;
}

int program_session(const struct hub *hub)
{
	return bpf_program__fd(hub->object->progs.capture_session);
}
