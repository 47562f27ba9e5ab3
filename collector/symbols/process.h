#pragma once
/*
 * The worker process as the collector sees it: started at the first request, asked, killed when it
 * takes too long or talks nonsense, started again for the next file.
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

/* Asks and waits for the answer. -EIO: the worker died or broke the protocol over this file,
 * -ETIME: it took longer than request->seconds; both mean that the file is not to be tried again.
 * Others: no worker could be started. */
int process_ask(struct process *process, const struct request *request, struct answer *ret_answer,
		struct err_text *err);
void process_stop(struct process *process);
