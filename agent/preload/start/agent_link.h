#pragma once
/*
 * Finding an agent and shaking hands with it. Nothing of it stays: when agent_link returns, the
 * process has no descriptor more than before, and one less if it had inherited one for this.
 */
#include <errno.h>
#include <stdbool.h>

#include "proto/ring.h"

/* What a fork child says of its parent. */
struct agent_parent {
	uint8_t stream[RING_STREAM_ID_SIZE];
	uint64_t events; /* that it had produced then; 0: unknown */
	bool unready;	 /* the child only tells that it is there: agent_link gives -ECONNREFUSED */
};

/* What an agent has said. */
struct agent_terms {
	struct ring_header *ring; /* mapped and checked */
	bool follow;		  /* fork children are to ask as well */
	/* Functions to patch. Room for RING_ENTRIES_MAX from who asks, if they can be; else
	 * NULL. */
	struct ring_entry *entry;
	uint32_t entries;
};

/* Who asks. */
enum agent_ask {
	AGENT_ASK_FIRST, /* an agent is started if there is none */
	AGENT_ASK_AGAIN, /* of one that was silent: it has little time, and is only looked for */
};

/* Bounded by two seconds when an agent must be started, by one when there is one, by ten if it has
 * said that it has to look through the program. 0; -ENOENT: nobody is there; -ECONNREFUSED: the
 * agent does not want this process; or another negative errno. `parent`: of whom this is a fork
 * child (then no agent is started: that would take locks which may be held by a thread that is not
 * here); NULL: of nobody. */
int agent_link(const struct agent_parent *parent, enum agent_ask ask,
	       struct agent_terms *ret_terms);

/* Is there an agent, that did not answer in time? */
static inline bool agent_silent_error(int error)
{
	return error == -ETIMEDOUT || error == -EAGAIN;
}
