#pragma once
/*
 * Makes small experiments with the kernel: attaches a program of ten instructions, which counts, to
 * functions of this process. They show what works; rights.h explains why something does not.
 */
#include <stdbool.h>
#include <stdint.h>

enum trial_kind {
	TRIAL_EVENT,   /* a perf event per probe */
	TRIAL_MULTI,   /* one link for many probes */
	TRIAL_SESSION, /* the same, with one program that runs at the entry and decides whether it
			* runs at the return, too */
	TRIAL_KINDS,
};

/* The probed instruction: a one-byte nop, which kernels emulate, or arithmetic, which they
 * single-step. */
enum trial_function { TRIAL_EMULATED, TRIAL_STEPPED };

struct trial {
	int counter;
	int program;
	int event; /* -1: none */
	int link;
};

/* Create the map with the program's counter, and a map for records. Both return a descriptor or a
 * negative errno. */
int trial_counter(void);
int trial_ring_buffer(void);

/* Loads the program of this kind, which counts in `counter`. Returns its descriptor or a negative
 * errno. */
int trial_program(int counter, enum trial_kind kind);

/* Sets a probe on the function; with `returns` at its return (TRIAL_SESSION: at both). Returns 0 or
 * a negative errno. Call trial_done in any case. */
int trial_begin(struct trial *trial, enum trial_kind kind, enum trial_function function,
		bool returns);
void trial_done(struct trial *trial);

/* Creates a link to an event with a cookie. Returns 0 or a negative errno. */
int trial_cookie(void);

/* Forks a child that installs a seccomp filter which permits only exiting, and that then calls the
 * function. Returns 0, or -EPERM if the child was killed: some kernels return from the probe by a
 * system call of their own, which the filter sees, too. */
int trial_run_filtered(enum trial_function function);

/* Calls the function `calls` times. *ret_ns is the mean time of a call, *ret_hits how often the
 * program ran. Returns a negative errno if the counter can't be read. */
int trial_run(const struct trial *trial, enum trial_function function, unsigned calls,
	      double *ret_ns, uint64_t *ret_hits);
