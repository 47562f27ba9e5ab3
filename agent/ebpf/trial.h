#pragma once
/*
 * Small experiments with the kernel: a program of ten instructions that counts, on functions of
 * this process itself. What works is known by having been done; who wants to know why something
 * does not asks rights.h.
 */
#include <stdbool.h>
#include <stdint.h>

enum trial_kind {
	TRIAL_EVENT,   /* a perf event per probe */
	TRIAL_MULTI,   /* one link for many probes */
	TRIAL_SESSION, /* the same, whose program runs at the entry and decides if at the return,
			  too */
	TRIAL_KINDS,
};

/* What is probed: a nop of one byte, which kernels emulate, or arithmetic, which they step
 * through. */
enum trial_function { TRIAL_EMULATED, TRIAL_STEPPED };

struct trial {
	int counter;
	int program;
	int event; /* -1: none */
	int link;
};

/* Descriptors, or a negative errno. The map with the program's counter; a map for records. */
int trial_counter(void);
int trial_ring_buffer(void);

/* The program of that kind, which counts there. */
int trial_program(int counter, enum trial_kind kind);

/* Sets a probe of the function, at its return too or only (`returns`). 0 or a negative errno;
 * trial_done in any case. */
int trial_begin(struct trial *trial, enum trial_kind kind, enum trial_function function,
		bool returns);
void trial_done(struct trial *trial);

/* A link to an event with a cookie. 0 or a negative errno. */
int trial_cookie(void);

/* A child behind a seccomp filter that permits nothing but to end calls the function: 0; -EPERM: it
 * was killed, as kernels do that go back from a return by a system call of their own, and filter
 * that, too. */
int trial_run_filtered(enum trial_function function);

/* Calls the function so often; how long a call took on the average. `ret_hits`: how often the
 * program ran. Negative errno if that can't be read. */
int trial_run(const struct trial *trial, enum trial_function function, unsigned calls,
	      double *ret_ns, uint64_t *ret_hits);
