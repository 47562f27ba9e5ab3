/*
 * What recording costs the recorded program, and nobody else:
 *
 *	bench-target [-r ROUNDS] [-s SLICE_KIB] [-l LIBRARY]... -- CMD [ARG...]
 *
 * Runs CMD in four ways in turn, ROUNDS times (5), each pinned to processor 0: natively, with the
 * library loaded and nothing recorded, with one allocation sampled in 512 KiB, and with every event
 * recorded. No agent takes part, so only the program's side is measured. The ring has no reader:
 * its tails stand beyond all heads that will ever be, so slices never fill. Several libraries are
 * compared in the same rounds. One that asks for no ring (libinterposer.so) shows what forwarding
 * alone costs.
 *
 * Prints for each: user CPU time, what was added to the native time, the events, and the
 * nanoseconds that one of them has added. If CMD prints a line "quiet N" (bench-churn: nanoseconds
 * per event, undisturbed), prints that, too. All are the least of the rounds, because what disturbs
 * a run only ever adds: another program on the same processor or its sibling.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/ring.h"
#include "proto/ring_handshake.h"

#define LIBRARIES_MAX 4
#define ROUNDS_MAX    101
#define MODULES_SIZE  (256u << 10)
#define SET_LINES     1024u
#define SAMPLE_BYTES  (512u << 10)
#define FAR_AHEAD     (1ull << 60) /* a multiple of every slice's size */
#define CHILD_FD      30

enum mode { MODE_NATIVE, MODE_LOADED, MODE_SAMPLED, MODE_FULL };

/* One way to run CMD, and what has come of it. */
struct variant {
	const char *name;
	const char *library;
	enum mode mode;
	double user[ROUNDS_MAX];
	double quiet[ROUNDS_MAX];
	uint64_t events;
};

struct options {
	unsigned rounds;
	unsigned slice_kib;
	const char *libraries[LIBRARIES_MAX];
	unsigned library_count;
	char **command;
};

static void must(bool truth, const char *what)
{
	if (truth)
		return;
	perror(what);
	exit(1);
}

/* The ring. */

struct ring {
	struct ring_header *header;
	int memory;
	size_t size;
};

#define SLICES 64u

static struct ring_slice *slice_at(const struct ring *ring, uint32_t index)
{
	return (struct ring_slice *)((uint8_t *)ring->header + RING_HEADER_SIZE) + index;
}

static void ring_open(struct ring *ring, size_t slice_bytes, enum mode mode)
{
	uint64_t modules =
		(RING_HEADER_SIZE + SLICES * sizeof(struct ring_slice) + 4095) & ~4095ull;
	uint64_t set = modules + MODULES_SIZE;
	uint64_t data = set + SET_LINES * sizeof(struct ring_set_line);

	ring->size = data + SLICES * slice_bytes;
	ring->memory = memfd_create("ring", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	must(ring->memory >= 0 && !ftruncate(ring->memory, (off_t)ring->size), "memfd_create");
	must(!fcntl(ring->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), "seals");
	ring->header = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			    ring->memory, 0);
	must(ring->header != MAP_FAILED, "mmap");
	*ring->header = (struct ring_header){
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.size = ring->size,
		.slices_offset = RING_HEADER_SIZE,
		.slice_count = SLICES,
		.modules_offset = modules,
		.modules_size = MODULES_SIZE,
		.set_offset = set,
		.set_lines = SET_LINES,
		.data_offset = data,
		.control = 1,
		.mode = mode == MODE_SAMPLED ? RING_SAMPLE : RING_FULL,
		.sample_interval = SAMPLE_BYTES,
		.policy = RING_COUNT,
		.frees_have_stacks = 1,
		.depth_limit = 256,
		.verify = 1,
	};
	for (uint32_t i = 0; i < SLICES; i++) {
		slice_at(ring, i)->data_offset = data + i * slice_bytes;
		slice_at(ring, i)->words = slice_bytes / 8;
		slice_at(ring, i)->tail = FAR_AHEAD;
	}
}

static uint64_t ring_events(const struct ring *ring)
{
	uint64_t events = ring->header->no_slice.events;

	for (uint32_t i = 0; i < SLICES; i++)
		events += slice_at(ring, i)->thread_first + slice_at(ring, i)->events +
			  slice_at(ring, i)->not_sampled;
	return events;
}

static void ring_close(struct ring *ring)
{
	munmap(ring->header, ring->size);
	close(ring->memory);
}

/* Waits for the program's handshake and hands it the ring. It may never come. */
static void hand_over(const struct ring *ring, int link)
{
	struct ring_answer out = {.magic = RING_MAGIC,
				  .version = RING_VERSION,
				  .kind = RING_ACCEPTED,
				  .size = ring->size};
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct iovec part = {.iov_base = &out, .iov_len = sizeof(out)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct ring_hello hello;

	if (recv(link, &hello, sizeof(hello), 0) != sizeof(hello))
		return;
	memcpy(CMSG_DATA(&control.head), &ring->memory, sizeof(int));
	sendmsg(link, &message, MSG_NOSIGNAL);
}

/* One run. */

static void become_program(const struct variant *v, char **command, int link, int output)
{
	struct stat status;
	char number[48];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	must(!fstat(link, &status), "fstat");
	snprintf(number, sizeof(number), "%d:%lu", CHILD_FD, (unsigned long)status.st_ino);
	if (v->mode != MODE_NATIVE)
		setenv("LD_PRELOAD", v->library, 1);
	if (v->mode == MODE_LOADED)
		setenv("HEAPCAST_OFF", "1", 1);
	setenv("HEAPCAST_FD", number, 1);
	dup2(link, CHILD_FD);
	dup2(output, 1);
	execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

static double quiet_number(int output)
{
	char text[256] = "";
	const char *at;

	must(pread(output, text, sizeof(text) - 1, 0) >= 0, "pread");
	at = strstr(text, "quiet ");
	return at ? strtod(at + 6, NULL) : 0;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static void run(struct variant *v, const struct options *o, unsigned round)
{
	int pair[2], output = memfd_create("output", MFD_CLOEXEC), status;
	struct rusage usage;
	struct ring ring;
	pid_t pid;

	ring_open(&ring, (size_t)o->slice_kib << 10, v->mode);
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), "socketpair");
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid)
		become_program(v, o->command, pair[1], output);
	close(pair[1]);
	if (v->mode == MODE_SAMPLED || v->mode == MODE_FULL)
		hand_over(&ring, pair[0]);
	must(wait4(pid, &status, 0, &usage) == pid, "wait4");
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 125) {
		fprintf(stderr, "%s: did not run (%s, status %#x)\n", o->command[0], v->name,
			status);
		exit(1);
	}
	v->user[round] = seconds(&usage.ru_utime);
	v->quiet[round] = quiet_number(output);
	v->events = ring_events(&ring);
	close(pair[0]);
	close(output);
	ring_close(&ring);
}

/* The report. */

static double least(const double *values, unsigned count)
{
	double result = values[0];

	for (unsigned i = 1; i < count; i++)
		result = values[i] < result ? values[i] : result;
	return result;
}

static void report(struct variant *variants, unsigned count, unsigned rounds)
{
	double native = least(variants[0].user, rounds), quiet = least(variants[0].quiet, rounds);
	uint64_t events = 0;

	for (unsigned i = 0; i < count; i++)
		if (variants[i].events)
			events = variants[i].events;
	printf("%-8s %9s %9s %10s %9s %9s %9s  %s\n", "", "user s", "added s", "events", "ns/event",
	       "quiet", "added", "library");
	for (unsigned i = 0; i < count; i++) {
		struct variant *v = &variants[i];
		double user = least(v->user, rounds);
		double quiet_ns = least(v->quiet, rounds);

		printf("%-8s %9.3f %9.3f %10lu %9.1f %9.1f %9.1f  %s\n", v->name, user,
		       user - native, (unsigned long)v->events,
		       events ? (user - native) * 1e9 / (double)events : 0, quiet_ns,
		       quiet_ns - quiet, v->library ? v->library : "");
	}
}

static void options_read(struct options *o, int argc, char **argv)
{
	int letter;

	*o = (struct options){.rounds = 5, .slice_kib = 64};
	while ((letter = getopt(argc, argv, "+r:s:l:")) != -1) {
		if (letter == 'r')
			o->rounds = (unsigned)atol(optarg);
		else if (letter == 's')
			o->slice_kib = (unsigned)atol(optarg);
		else if (letter == 'l' && o->library_count < LIBRARIES_MAX)
			o->libraries[o->library_count++] = optarg;
		else
			o->rounds = 0;
	}
	o->command = argv + optind;
	if (!o->library_count)
		o->libraries[o->library_count++] = BUILD_FOLDER "/lib/libheapcast.so";
	if (!o->rounds || o->rounds > ROUNDS_MAX || o->slice_kib < 8 ||
	    (o->slice_kib & (o->slice_kib - 1)) || !o->command[0]) {
		fprintf(stderr, "usage: bench-target [-r ROUNDS] [-s SLICE_KIB] [-l LIBRARY]... -- "
				"CMD [ARG...]\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct variant variants[1 + 3 * LIBRARIES_MAX];
	struct options o;
	unsigned count = 1;

	options_read(&o, argc, argv);
	variants[0].name = "native";
	for (unsigned i = 0; i < o.library_count; i++) {
		variants[count++] = (struct variant){
			.name = "loaded", .library = o.libraries[i], .mode = MODE_LOADED};
		variants[count++] = (struct variant){
			.name = "sampled", .library = o.libraries[i], .mode = MODE_SAMPLED};
		variants[count++] = (struct variant){
			.name = "full", .library = o.libraries[i], .mode = MODE_FULL};
	}
	for (unsigned round = 0; round < o.rounds; round++)
		for (unsigned i = 0; i < count; i++)
			run(&variants[i], &o, round);
	report(variants, count, o.rounds);
	return 0;
}
