#pragma once
/* The part of `collector gather` that sends what is stored to the data base that collectors share
 * (--store), in a thread of its own. */
#include <pthread.h>
#include <stdbool.h>

#include "collector/cli/ask/symbol_sources.h"
#include "collector/share/share.h"

struct stream_id;
struct symbols;

struct gather_share {
	bool started, quiet;
	struct share *share;
	struct symbol_sources sources;
	struct symbols *symbols;
	pthread_t thread;
	pthread_mutex_t lock; /* protects `stopping` */
	pthread_cond_t wake;
	bool stopping;
	unsigned failed;	   /* passes since the last one that sent all */
	bool away;		   /* it was said that sums wait */
	int told;		   /* for which error */
	uint64_t away_ns, told_ns; /* since when, and when it was said last (cancel_clock_ns) */
	bool undropped;		   /* it was said that no day is dropped */
	uint64_t unset;		   /* streams of which it was said that they are not kept */
};

struct gather_share_options {
	const char *url;     /* NULL or "": nothing is sent */
	const char *data;    /* the store's folder */
	const char *address; /* of our page, as others reach it; NULL: none */
	uint64_t keep_ns;    /* older days are dropped from the data base; 0: none is */
	bool quiet;
};

struct command;

/* Ends wrong use: returns EXIT_DONE or EXIT_USAGE. */
int gather_share_check(const struct command *command, const struct gather_share_options *options);
/* Starts the thread. Whether the data base can be reached is seen later. Returns 0, or a negative
 * errno with a sentence: the URL is wrong, or libcurl is missing. */
int gather_share_start(struct gather_share *share, const struct gather_share_options *options,
		       struct err_text *err);
/* Whether something of a stream is still to be sent. From any thread. */
bool gather_share_waits(struct gather_share *share, const struct stream_id *stream);
/* Sends what is complete, waits for that at most some seconds, and frees all. */
void gather_share_stop(struct gather_share *share);
