/* The agent of the tests; see ring_agent.h. */
#include "tests/unit/preload/support/ring_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/event.h"

#define STACK_MAX      8192
#define MODULES_SIZE   (256u << 10)
#define FIRST_ORDER_MS 50
#define CHILD_FD       30

/* What the library has for stamps on this processor. */
#if defined(__x86_64__)
#define OWN_COUNTER RING_CLOCK_TSC
#elif defined(__aarch64__)
#define OWN_COUNTER RING_CLOCK_CNTVCT
#else
#define OWN_COUNTER RING_CLOCK_NONE
#endif

struct reader {
	uint64_t tail;
	uint64_t read; /* events, since the claim */
	uint32_t generation;
	bool used;
	bool whole; /* the next event with a stack must have keep = 0 */
	uint32_t epoch;
	uint32_t depth;
	uint64_t stack[STACK_MAX]; /* outermost first */
};

struct agent {
	const struct agent_options *options;
	struct agent_result *result;
	struct ring_header *ring;
	int memory;
	size_t size;
	int link;     /* the inherited pair's other end */
	int listener; /* for exec'd images */
	char socket_name[64];
	pid_t pid;
	struct reader *readers;
	size_t event_room;
	size_t module_room;
};

static void fault(struct agent *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fault(struct agent *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!a->result->faults++)
		vsnprintf(a->result->first_fault, sizeof(a->result->first_fault), format, args);
	va_end(args);
}

static void must(bool truth, const char *what)
{
	if (truth)
		return;
	perror(what);
	abort();
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The ring. */

static struct ring_slice *slice_at(struct agent *a, uint32_t index)
{
	return (struct ring_slice *)((uint8_t *)a->ring + a->ring->slices_offset) + index;
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

static void ring_make(struct agent *a)
{
	const struct agent_options *o = a->options;
	uint32_t small = o->small_slices ? o->small_slices : 16, big = o->big_slices;
	uint64_t slices = RING_HEADER_SIZE, modules, data;

	uint64_t lines = o->no_set ? 0 : o->set_lines ? o->set_lines : 64, set;

	modules = round_up(slices + (small + big) * sizeof(struct ring_slice), 4096);
	set = modules + MODULES_SIZE;
	data = set + lines * sizeof(struct ring_set_line);
	a->size = data + small * 8192ull + big * 65536ull;
	a->memory = memfd_create("ring", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	must(a->memory >= 0 && !ftruncate(a->memory, (off_t)a->size), "memfd");
	must(!fcntl(a->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), "seals");
	a->ring = mmap(NULL, a->size, PROT_READ | PROT_WRITE, MAP_SHARED, a->memory, 0);
	must(a->ring != MAP_FAILED, "mmap");
	*a->ring = (struct ring_header){
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.size = a->size,
		.slices_offset = slices,
		.slice_count = small + big,
		.modules_offset = modules,
		.modules_size = MODULES_SIZE,
		.set_offset = set,
		.set_lines = lines,
		.counter = OWN_COUNTER,
		.data_offset = data,
		.control = 1,
		.mode = o->mode		? o->mode
			: o->sample_off ? RING_OFF
					: RING_FULL,
		.policy = o->policy,
		.sample_interval = o->sample_interval,
		.block_max_ms = o->block_max_ms ? o->block_max_ms : 10000,
		.frees_have_stacks = !o->no_free_stacks,
		.depth_limit = o->depth_limit ? o->depth_limit : 256,
		.verify = !o->no_verify,
		.account.incarnation = 1,
	};
	for (uint32_t i = 0; i < small + big; i++) {
		slice_at(a, i)->data_offset = data;
		slice_at(a, i)->words = i < small ? 1024 : 8192;
		data += slice_at(a, i)->words * 8;
	}
	a->readers = calloc(small + big, sizeof(*a->readers));
	must(a->readers != NULL, "readers");
}

/* Modules. */

/* The module that held an address in an epoch: records may be read after the UNLOAD of what they
 * speak of. */
static struct agent_module *module_of(struct agent *a, uint64_t pc, uint32_t epoch)
{
	for (size_t i = a->result->module_count; i-- > 0;) {
		struct agent_module *m = &a->result->modules[i];

		if (epoch >= m->first_epoch && (m->live || epoch < m->end_epoch) &&
		    pc >= m->start && pc < m->end)
			return m;
	}
	return NULL;
}

/* Another agent is told of what the one before knew; perhaps twice, if it follows soon. */
static bool told_again(struct agent *a, const struct ring_module *from)
{
	uint32_t incarnation = a->ring->account.incarnation;

	for (size_t i = 0; i < a->result->module_count; i++) {
		struct agent_module *m = &a->result->modules[i];

		if (incarnation == 1 || m->id != from->id || !m->live || m->start != from->start ||
		    m->end != from->end)
			continue;
		m->incarnation = incarnation;
		a->result->told_again++;
		return true;
	}
	return false;
}

static void module_load(struct agent *a, const struct ring_module *from)
{
	const char *path = (const char *)(from + 1) + from->segment_count * 32u;
	struct agent_result *r = a->result;
	struct agent_module *m;

	if (told_again(a, from))
		return;
	if (r->module_count == a->module_room) {
		a->module_room = a->module_room ? a->module_room * 2 : 64;
		r->modules = realloc(r->modules, a->module_room * sizeof(*r->modules));
		must(r->modules != NULL, "modules");
	}
	if (module_of(a, from->start, from->epoch))
		fault(a, "module %u lies where another is", from->id);
	if (sizeof(*from) + from->segment_count * 32u + from->path_length > from->length)
		fault(a, "module %u is longer than its record", from->id);
	if (!from->segment_count || from->start >= from->end || !from->stamp || !from->id)
		fault(a, "module %u makes no sense", from->id);
	m = &r->modules[r->module_count++];
	*m = (struct agent_module){.id = from->id,
				   .start = from->start,
				   .end = from->end,
				   .live = true,
				   .incarnation = a->ring->account.incarnation,
				   .first_epoch = from->epoch,
				   .has_build_id = from->build_id_length > 0};
	snprintf(m->path, sizeof(m->path), "%.*s", from->path_length, path);
}

static void module_unload(struct agent *a, uint32_t id, uint32_t epoch)
{
	for (size_t i = 0; i < a->result->module_count; i++) {
		struct agent_module *m = &a->result->modules[i];

		if (m->id != id)
			continue;
		if (!m->live)
			fault(a, "module %u unloaded twice", id);
		m->live = false;
		m->end_epoch = epoch;
		return;
	}
	fault(a, "unload of module %u that was not there", id);
}

static void drain_modules(struct agent *a)
{
	uint64_t head = __atomic_load_n(&a->ring->modules_head, __ATOMIC_ACQUIRE),
		 tail = a->ring->modules_tail;
	const uint8_t *channel = (const uint8_t *)a->ring + a->ring->modules_offset;

	while (tail < head) {
		const struct ring_module *m = (const void *)(channel + (tail & (MODULES_SIZE - 1)));

		if (m->length < 8 || m->length % 8 || m->length > head - tail ||
		    (tail & (MODULES_SIZE - 1)) + m->length > MODULES_SIZE) {
			fault(a, "module record of %u bytes", m->length);
			break;
		}
		if (m->kind == RING_MODULE_LOAD)
			module_load(a, m);
		else if (m->kind == RING_MODULE_UNLOAD)
			module_unload(a, m->id, m->epoch);
		tail += m->length;
	}
	__atomic_store_n(&a->ring->modules_tail, tail, __ATOMIC_RELEASE);
}

/* Records. */

static void keep_event(struct agent *a, const struct agent_event *event)
{
	struct agent_result *r = a->result;

	if (a->options->keep_no_events)
		return;
	if (r->count == a->event_room) {
		a->event_room = a->event_room ? a->event_room * 2 : 4096;
		r->events = realloc(r->events, a->event_room * sizeof(*r->events));
		must(r->events != NULL, "events");
	}
	r->events[r->count++] = *event;
}

static void take_stack(struct agent *a, struct reader *reader, struct agent_event *event,
		       const uint64_t *pcs, unsigned keep, unsigned count)
{
	if (reader->whole && keep)
		fault(a, "keeps %u frames where a whole stack is due", keep);
	if (keep > reader->depth) {
		fault(a, "keeps %u of %u frames", keep, reader->depth);
		keep = reader->depth;
	}
	reader->whole = false;
	for (unsigned i = 0; i < count; i++) {
		uint64_t pc = pcs[count - 1 - i];

		reader->stack[keep + i] = pc;
		if (pc < 16)
			a->result->truncated++;
		else if (!module_of(a, pc - 1, reader->epoch))
			a->result->unknown_pcs++;
	}
	reader->depth = keep + count;
	a->result->new_frames += count;
	a->result->all_frames += reader->depth;
	event->depth = reader->depth;
	event->pc = reader->depth ? reader->stack[reader->depth - 1] : 0;
}

/* The remainder of its size, unless the loader or libc made it for themselves: the sizes of theirs
 * hang on the length of the paths of the build folder. */
static unsigned tag_of(struct agent *a, const struct reader *reader,
		       const struct agent_event *event)
{
	const struct agent_module *m =
		event->pc ? module_of(a, event->pc - 1, reader->epoch) : NULL;

	/* (MIPS64's loader is ld.so.1.) */
	return m && (strstr(m->path, "/ld-") || strstr(m->path, "/ld.so") ||
		     strstr(m->path, "/libc.so"))
		       ? 0
		       : event->size % 16;
}

static unsigned take_event(struct agent *a, uint32_t index, const uint64_t *w)
{
	struct reader *reader = &a->readers[index];
	unsigned at = 3, keep = ring_keep(w[0]), count = ring_count(w[0]);
	struct agent_event event = {.kind = ring_kind(w[0]),
				    .tid = slice_at(a, index)->owner_tid,
				    .slice = index,
				    .epoch = reader->epoch,
				    .address = w[1],
				    .stamp = w[2],
				    .size = ring_size(w[0])};

	if (event_class(event.kind) == EVENT_CLASS_NONE)
		fault(a, "event of kind %u", event.kind);
	if (!event.stamp)
		fault(a, "event without a stamp");
	if (ring_large(w[0]))
		event.size = w[at++];
	if (ring_weighted(w[0]))
		event.interval = w[at++];
	if (event_class(event.kind) == EVENT_CLASS_REALLOCATION) {
		event.old_address = w[at++];
		event.call_stamp = w[at++];
		if (event.call_stamp > event.stamp)
			fault(a, "realloc that returned before its call");
	}
	if (keep + count)
		take_stack(a, reader, &event, w + at, keep, count);
	event.tag = tag_of(a, reader, &event);
	reader->read++;
	a->result->read++;
	keep_event(a, &event);
	return at + count;
}

static void take_text(struct agent *a, const uint64_t *w)
{
	struct agent_result *r = a->result;

	if (ring_size(w[0]) == 16) {
		if (!thinning_get(&r->law, (const uint8_t *)(w + 3), w[1]))
			fault(a, "no law of thinning in %lu bytes", (unsigned long)w[1]);
		if (r->law.level > r->level_most)
			r->level_most = r->law.level;
		return;
	}
	snprintf(a->result->last_text, sizeof(a->result->last_text), "%.*s", (int)w[1],
		 (const char *)(w + 3));
	if ((w[1] + 7) / 8 != ring_count(w[0]))
		fault(a, "text of %lu bytes in %u words", (unsigned long)w[1], ring_count(w[0]));
}

static void take_thinning(struct agent_result *r, uint64_t interval)
{
	r->thinned++;
	r->thinned_back += !interval;
	if (interval > r->thinned_most)
		r->thinned_most = interval;
}

/* What the thread has begun is what was read; and whatever it names from here on has been
 * announced. */
static void take_cut(struct agent *a, uint32_t index, const uint64_t *w)
{
	struct reader *reader = &a->readers[index];

	if (w[1] > a->ring->account.incarnation || !w[2])
		fault(a, "a cut for agent %lu", (unsigned long)w[1]);
	if (w[3] != reader->read + w[4])
		fault(a, "a cut after %lu events, %lu of them lost: %lu were read",
		      (unsigned long)w[3], (unsigned long)w[4], (unsigned long)reader->read);
	for (size_t i = 0; i < a->result->module_count; i++)
		if (a->result->modules[i].live && a->result->modules[i].incarnation < w[1])
			fault(a, "a cut before module %u was announced again",
			      a->result->modules[i].id);
	reader->whole = true;
	reader->epoch = 0;
	a->result->cuts++;
}

/* Words of the record; 0: it makes no sense. */
static unsigned take_record(struct agent *a, uint32_t index, const uint64_t *w, uint64_t left)
{
	struct reader *reader = &a->readers[index];

	switch (ring_kind(w[0])) {
	case RING_PAD:
		return (unsigned)left;
	case RING_LOST:
		reader->whole = true;
		a->result->lost_records++;
		return 5;
	case RING_EPOCH:
		reader->whole = true;
		reader->epoch = (uint32_t)w[1];
		a->result->epochs++;
		return 3;
	case RING_MOVE:
		a->result->moves++;
		return 3;
	case RING_CUT:
		take_cut(a, index, w);
		return 8;
	case RING_MARK:
		a->result->marks++;
		if (ring_size(w[0]) == 2)
			a->result->last_mark = w[1];
		if (ring_size(w[0]) == 6)
			take_thinning(a->result, w[1]);
		return 3;
	case RING_TEXT:
		take_text(a, w);
		return 3 + ring_count(w[0]);
	default:
		return ring_kind(w[0]) < RING_AUX ? take_event(a, index, w) : 0;
	}
}

static void drain_slice(struct agent *a, uint32_t index, uint64_t head)
{
	struct ring_slice *slice = slice_at(a, index);
	struct reader *reader = &a->readers[index];
	uint64_t *data = (uint64_t *)((uint8_t *)a->ring + slice->data_offset),
		 words = slice->words;

	if (head - reader->tail > words)
		fault(a, "slice %u: more than it holds", index);
	while (reader->tail < head) {
		uint64_t at = reader->tail & (words - 1);
		unsigned length = take_record(a, index, data + at, words - at);

		if (!length || at + length > words || reader->tail + length > head) {
			fault(a, "slice %u: record of kind %u, %u words at %lu", index,
			      ring_kind(data[at]), length, (unsigned long)at);
			reader->tail = head;
			break;
		}
		reader->tail += length;
	}
	__atomic_store_n(&slice->tail, reader->tail, __ATOMIC_RELEASE);
	__atomic_fetch_add(&slice->tail_futex, 1, __ATOMIC_RELEASE);
	if (__atomic_load_n(&slice->wanted, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &slice->tail_futex, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool slice_over(struct agent *a, struct ring_slice *slice, bool ended)
{
	uint32_t state = __atomic_load_n(&slice->state, __ATOMIC_ACQUIRE), word;

	memcpy(&word, slice->owner + a->ring->owner_word_offset, sizeof(word));
	return state == RING_SLICE_LEFT ||
	       (state == RING_SLICE_OWNED && (ended || (word & FUTEX_OWNER_DIED)));
}

/* What the owner of a slice that is over had begun is all accounted for. */
static void close_slice(struct agent *a, uint32_t index)
{
	struct ring_slice *slice = slice_at(a, index);
	struct reader *reader = &a->readers[index];
	struct agent_result *r = a->result;
	uint64_t missing = slice->events - reader->read - slice->lost.events;

	if (missing > 1)
		fault(a, "slice %u: %lu events begun, %lu read, %lu lost", index,
		      (unsigned long)slice->events, (unsigned long)reader->read,
		      (unsigned long)slice->lost.events);
	r->died_inside += missing;
	r->produced += slice->events + slice->not_sampled;
	r->not_sampled += slice->not_sampled;
	r->lost.events += slice->lost.events;
	r->lost.allocations += slice->lost.allocations;
	r->lost.frees += slice->lost.frees;
	r->lost.bytes += slice->lost.bytes;
	r->full_waits += slice->full_waits;
	reader->used = false;
	slice->owner[0] = 0;
	__atomic_store_n(&slice->state, RING_SLICE_FREE, __ATOMIC_RELEASE);
}

static void look_at_slice(struct agent *a, uint32_t index)
{
	struct ring_slice *slice = slice_at(a, index);
	struct reader *reader = &a->readers[index];

	if (reader->used || __atomic_load_n(&slice->state, __ATOMIC_ACQUIRE) < RING_SLICE_OWNED)
		return;
	reader->used = true;
	reader->read = 0;
	reader->whole = true;
	reader->depth = 0;
	reader->epoch = 0;
	a->result->slices_claimed++;
}

/* Heads, then modules, then records up to those heads. */
static void drain(struct agent *a, bool ended)
{
	uint64_t heads[256];
	bool over[256];
	uint32_t count = a->ring->slice_count;

	for (uint32_t i = 0; i < count; i++) {
		look_at_slice(a, i);
		over[i] = slice_over(a, slice_at(a, i), ended);
		heads[i] = __atomic_load_n(&slice_at(a, i)->head, __ATOMIC_ACQUIRE);
	}
	drain_modules(a);
	for (uint32_t i = 0; i < count; i++) {
		if (!a->readers[i].used)
			continue;
		drain_slice(a, i, heads[i]);
		if (over[i])
			close_slice(a, i);
	}
}

/* The handshake. */

static void answer(struct agent *a, int fd)
{
	struct ring_hello hello;
	struct ring_answer out = {.magic = RING_MAGIC, .version = RING_VERSION, .size = a->size};
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct iovec part = {.iov_base = &out, .iov_len = sizeof(out)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (recv(fd, &hello, sizeof(hello), 0) != sizeof(hello) || hello.magic != RING_MAGIC)
		return;
	out.kind =
		a->options->refuse || hello.pid != (uint32_t)a->pid ? RING_REFUSED : RING_ACCEPTED;
	if (out.kind == RING_ACCEPTED) {
		drain(a, a->result->handshakes > 0);
		for (size_t i = 0; i < a->result->module_count; i++) /* of the program before it */
			a->result->modules[i].live = false;
		a->result->handshakes++;
		memcpy(CMSG_DATA(&control.head), &a->memory, sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	sendmsg(fd, &message, MSG_NOSIGNAL);
}

static void serve_handshakes(struct agent *a, int timeout_ms)
{
	struct pollfd fds[2] = {{.fd = a->link, .events = POLLIN},
				{.fd = a->listener, .events = POLLIN}};

	if (poll(fds, 2, timeout_ms) <= 0)
		return;
	if (fds[0].revents & POLLIN)
		answer(a, a->link);
	if (fds[0].revents) {
		close(a->link);
		a->link = -1;
	}
	if (fds[1].revents & POLLIN) {
		int fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC);
		struct pollfd one = {.fd = fd, .events = POLLIN};

		if (fd >= 0 && poll(&one, 1, 1000) == 1)
			answer(a, fd);
		if (fd >= 0)
			close(fd);
	}
}

static void listen_for_images(struct agent *a)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	static unsigned number;
	int length;

	length = snprintf(a->socket_name, sizeof(a->socket_name), "@heapcast-test-%d-%u", getpid(),
			  number++);
	memcpy(address.sun_path, a->socket_name, (size_t)length);
	address.sun_path[0] = 0;
	a->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	must(a->listener >= 0 &&
		     !bind(a->listener, (struct sockaddr *)&address,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)) &&
		     !listen(a->listener, 16),
	     "listen");
}

/* The program. */

static void become_program(struct agent *a, const char *const argv[], int link, int output)
{
	char preload[1024], number[48];
	struct stat status;
	sigset_t orders;

	snprintf(preload, sizeof(preload), "%s%s%s", preload_path(),
		 a->options->preload_more ? ":" : "",
		 a->options->preload_more ? a->options->preload_more : "");
	must(!fstat(link, &status), "fstat");
	snprintf(number, sizeof(number), "%d:%lu", CHILD_FD, (unsigned long)status.st_ino);
	setenv("LD_PRELOAD", preload, 1);
	setenv("HEAPCAST_AGENT", "/nonexistent", 1);
	if (!a->options->no_socket) {
		setenv("HEAPCAST_FD", number, 1);
		setenv("HEAPCAST_SOCKET", a->socket_name, 1);
	} else {
		setenv("HEAPCAST_SOCKET", "@heapcast-test-nobody", 1);
	}
	for (const char *const *more = a->options->environment; more && *more; more++)
		putenv(strdup(*more));
	/* The first one may come before the program waits for it. */
	sigemptyset(&orders);
	sigaddset(&orders, SIGRTMIN);
	if (a->options->sample_off)
		sigprocmask(SIG_BLOCK, &orders, NULL);
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	if (!a->options->no_socket)
		dup2(link, CHILD_FD);
	dup2(output, 1);
	execvp(argv[0], (char **)(uintptr_t)argv);
	_exit(127);
}

static void start_program(struct agent *a, const char *const argv[], int output)
{
	int pair[2];

	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), "socketpair");
	a->pid = fork();
	must(a->pid >= 0, "fork");
	if (!a->pid)
		become_program(a, argv, pair[1], output);
	close(pair[1]);
	a->link = pair[0];
}

/* A program that is not recorded says no mark. */
static bool is_asked(const struct agent *a, unsigned ordered, uint64_t start)
{
	if (!ordered && a->options->sample_off)
		return a->options->then_mode[0] && a->result->handshakes &&
		       now_ms() - start >= FIRST_ORDER_MS;
	return a->result->last_mark == ordered + 1;
}

static void maybe_order(struct agent *a, unsigned *ordered, uint64_t start)
{
	if (*ordered >= 4 || !is_asked(a, *ordered, start))
		return;
	__atomic_store_n(&a->ring->mode, a->options->then_mode[(*ordered)++], __ATOMIC_RELAXED);
	__atomic_fetch_add(&a->ring->control, 1, __ATOMIC_RELEASE);
	kill(a->pid, SIGRTMIN);
}

static void maybe_change(struct agent *a)
{
	struct ring_account *account = &a->ring->account;

	if (!a->options->anew_every ||
	    a->result->read < (uint64_t)account->incarnation * a->options->anew_every)
		return;
	__atomic_fetch_add(&account->incarnation, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&a->ring->control, 1, __ATOMIC_RELEASE);
}

static void maybe_alternate(struct agent *a)
{
	const struct agent_options *o = a->options;

	if (!o->other_interval)
		return;
	a->ring->sample_interval ^= o->sample_interval ^ o->other_interval;
	__atomic_fetch_add(&a->ring->control, 1, __ATOMIC_RELEASE);
}

static void maybe_kill(struct agent *a, uint64_t start)
{
	const struct agent_options *o = a->options;

	if ((o->kill_after_ms && now_ms() - start >= o->kill_after_ms) ||
	    (o->kill_after_events && a->result->read >= o->kill_after_events))
		kill(a->pid, SIGKILL);
}

/* The program has hardly more time than its agent, which has none. */
static void starve(struct agent *a)
{
	kill(a->pid, SIGSTOP);
	usleep(270000);
	kill(a->pid, SIGCONT);
	usleep(30000);
}

static void attend(struct agent *a)
{
	const struct agent_options *o = a->options;
	uint64_t start = now_ms(), drained = start;
	unsigned ordered = 0;

	while (waitpid(a->pid, &a->result->status, WNOHANG) == 0) {
		bool ready = a->result->handshakes > 0, asleep;

		serve_handshakes(a, ready && !o->idle && !o->drain_every_ms ? 0 : 1);
		asleep = o->idle || now_ms() - start < o->asleep_until_ms;
		if (!o->no_heart && !(asleep && o->asleep_until_ms))
			__atomic_fetch_add(&a->ring->heartbeat, 1, __ATOMIC_RELAXED);
		if (!asleep && now_ms() - drained >= o->drain_every_ms) {
			drain(a, false);
			drained = now_ms();
		}
		if (ready && !o->idle && !o->drain_every_ms) {
			struct timespec nap = {.tv_nsec = 100000};

			nanosleep(&nap, NULL);
		}
		maybe_order(a, &ordered, start);
		maybe_change(a);
		maybe_alternate(a);
		maybe_kill(a, start);
		if (asleep && ready && o->both_starved)
			starve(a);
	}
	a->result->seconds = (double)(now_ms() - start) / 1000;
}

static void take_output(struct agent_result *r, int output)
{
	char piece[4096];
	ssize_t got;
	uint64_t hash = 14695981039346656037u;

	lseek(output, 0, SEEK_SET);
	while ((got = read(output, piece, sizeof(piece))) > 0) {
		if (!r->output_length)
			memcpy(r->output, piece,
			       (size_t)got < sizeof(r->output) ? (size_t)got
							       : sizeof(r->output) - 1);
		r->output_length += (size_t)got;
		for (ssize_t i = 0; i < got; i++)
			hash = (hash ^ (uint8_t)piece[i]) * 1099511628211u;
	}
	r->output[sizeof(r->output) - 1] = 0;
	r->output_hash = hash;
}

static uint64_t count_set(const struct agent *a)
{
	const struct ring_set_line *set =
		(const void *)((const uint8_t *)a->ring + a->ring->set_offset);
	uint64_t count = 0;

	for (uint64_t i = 0; i < a->ring->set_lines; i++) {
		for (unsigned e = 0; e < RING_SET_ENTRIES; e++)
			count += set[i].entry[e] != 0;
	}
	return count;
}

void agent_run(const struct agent_options *options, const char *const argv[],
	       struct agent_result *ret_result)
{
	struct agent a = {.options = options, .result = ret_result, .link = -1};
	int output = memfd_create("output", MFD_CLOEXEC);

	*ret_result = (struct agent_result){0};
	ring_make(&a);
	listen_for_images(&a);
	start_program(&a, argv, output);
	attend(&a);
	drain(&a, true);
	ret_result->no_slice = a.ring->no_slice;
	ret_result->samples_refused = a.ring->samples_refused;
	ret_result->in_set = count_set(&a);
	take_output(ret_result, output);
	close(output);
	close(a.memory);
	close(a.listener);
	if (a.link >= 0)
		close(a.link);
	munmap(a.ring, a.size);
	free(a.readers);
}

void agent_result_done(struct agent_result *result)
{
	free(result->events);
	free(result->modules);
}
