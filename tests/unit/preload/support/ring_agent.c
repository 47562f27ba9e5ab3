/* The agent of the tests; see ring_agent.h. */
#include "tests/unit/preload/support/ring_agent_state.h"
#include "proto/ring_handshake.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The ring. */

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
		.saved_frames_max = o->saved_frames_max ? o->saved_frames_max : 1000,
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
		agent_drain(a, a->result->handshakes > 0);
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

static bool is_asleep(const struct agent *a, uint64_t start)
{
	const struct agent_options *o = a->options;

	return o->idle || now_ms() - start < o->asleep_until_ms ||
	       (o->asleep_until_said && lseek(a->output, 0, SEEK_CUR) == 0);
}

static void tell_awake(struct agent *a)
{
	if (a->options->asleep_until_said && !a->awake)
		must(dprintf(a->output, "awake 1\n") > 0, "writing to the output");
	a->awake = true;
}

static void attend(struct agent *a)
{
	const struct agent_options *o = a->options;
	uint64_t start = now_ms(), drained = start;
	unsigned ordered = 0;

	while (waitpid(a->pid, &a->result->status, WNOHANG) == 0) {
		bool ready = a->result->handshakes > 0, asleep;

		serve_handshakes(a, ready && !o->idle && !o->drain_every_ms ? 0 : 1);
		asleep = is_asleep(a, start);
		if (!o->no_heart && !(asleep && (o->asleep_until_ms || o->asleep_until_said)))
			__atomic_fetch_add(&a->ring->heartbeat, 1, __ATOMIC_RELAXED);
		if (!asleep && now_ms() - drained >= o->drain_every_ms) {
			agent_drain(a, false);
			tell_awake(a);
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
	int output = memfd_create("output", MFD_CLOEXEC);
	struct agent a = {.options = options, .result = ret_result, .link = -1, .output = output};

	*ret_result = (struct agent_result){0};
	ring_make(&a);
	listen_for_images(&a);
	start_program(&a, argv, output);
	attend(&a);
	agent_drain(&a, true);
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
