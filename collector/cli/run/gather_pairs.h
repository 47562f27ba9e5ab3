#pragma once
/* The part of `collector gather` that keeps the keys made by pairing up to date with their folder.
 * With --key or --cert there are none. Owner: the loop's thread. */
#include <uv.h>

#include "base/error.h"
#include "base/secure/pairs.h"
#include "collector/ingest/ingest.h"

struct key_choice;

struct gather_pairs {
	struct pairs pairs;
	bool used;
	struct ingest *ingest;
	uv_timer_t look;
	bool looking;
	struct err_text remark; /* the error of the last look, reported only when it changes */
};

/* Reads the keys into the options of ingest. Returns 0, or a negative errno with an error text. */
int gather_pairs_init(struct gather_pairs *pairs, const struct key_choice *choice,
		      struct ingest_options *io, struct err_text *err);
/* Looks at the folder four times a second from now on. */
void gather_pairs_start(struct gather_pairs *pairs, uv_loop_t *loop, struct ingest *ingest);
/* Records which key an agent has connected with. */
void gather_pairs_event(const struct gather_pairs *pairs, const struct ingest_event *event);
void gather_pairs_stop(struct gather_pairs *pairs);
/* The caller calls this after the loop's last turn. */
void gather_pairs_done(struct gather_pairs *pairs);
