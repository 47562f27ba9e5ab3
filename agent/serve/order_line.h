#pragma once
/*
 * Questions and answers on the agent's control socket (control_socket.h), as lines of words. Both
 * ends validate what they read.
 *
 *   status                     agent ...; program ... for each; ok
 *   start|stop|snapshot PID    done ... or refused ... for each program; then ok, or no WHY
 *   mode PID MODE              MODE is full, sample, sample=BYTES or off
 *   mark PID TEXT
 *
 * PID 0 stands for all programs. Numbers are decimal. A text comes last and runs to the end of the
 * line.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/stream/orders.h"

#define ORDER_LINE_MAX (ORDER_TEXT_MAX + 64) /* with its newline */

struct order_question {
	bool status;
	pid_t pid;	    /* 0: all programs */
	struct order order; /* its text points into the line; `by` is not set */
};

/* Parses a question. Returns 0, or -EINVAL with a static sentence in *ret_why. */
int order_question_parse(const char *line, struct order_question *ret_question,
			 const char **ret_why);
struct order_agent { /* the line "agent" */
	uint64_t pid, programs, places, collectors, collectors_most, used_bytes, limit_bytes;
	int orders; /* enum order_policy */
};

struct order_program { /* the line "program" */
	uint64_t pid, uid, interval, since_ns, events, lost, spool_bytes, spool_most;
	uint64_t before; /* events before the agent answered; no other number includes them */
	int mode;
	bool ended;
	char id[33];
	char name[64];
};

struct order_done { /* the lines "done" and "refused" */
	bool done;
	uint64_t pid, time_ns, interval, snapshot;
	int mode;
	char text[256];
};

/* Format a line without its newline. They return the same as snprintf. */
int order_agent_format(char *out, size_t size, const struct order_agent *agent);
int order_program_format(char *out, size_t size, const struct order_program *program);
int order_done_format(char *out, size_t size, const struct order_done *done);
/* Parse a line. Return 0, or -EINVAL if the line is of another kind or malformed. */
int order_agent_parse(const char *line, struct order_agent *ret_agent);
int order_program_parse(const char *line, struct order_program *ret_program);
int order_done_parse(const char *line, struct order_done *ret_done);
