#pragma once
/*
 * The worker process from the collector's side. It is started at the first request, killed when it
 * takes too long or breaks the protocol, and started again for the next file.
 */
#include <stdint.h>
#include <sys/types.h>

struct answer;
struct err_text;
struct request;

struct process {
	char *program;
	pid_t pid;  /* 0: not running */
	int socket; /* -1: none */
};

/*
 * Sends a request and waits for the answer. Returns 0; -EIO if the worker died or broke the
 * protocol over this file; -ETIME if it took longer than request->seconds; both mean that the file
 * must not be tried again. Other negative errnos: no worker could be started.
 */
int process_ask(struct process *process, const struct request *request, struct answer *ret_answer,
		struct err_text *err);
void process_stop(struct process *process);
