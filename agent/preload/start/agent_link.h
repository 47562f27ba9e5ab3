#pragma once
/*
 * Finds an agent and performs the handshake. No descriptor remains: when agent_link returns, the
 * process has no additional one, and one less if it had inherited one for this.
 */
#include <errno.h>
#include <stdbool.h>

#include "proto/ring.h"
#include "proto/ring_handshake.h"

/* A fork child's report about its parent. */
struct agent_parent {
	uint8_t stream[RING_STREAM_ID_SIZE];
	uint64_t events; /* that the parent had produced at the fork; 0: unknown */
	/* The child only reports its existence: agent_link returns -ECONNREFUSED. */
	bool unready;
};

/* The agent's answer. */
struct agent_terms {
	struct ring_header *ring; /* mapped and checked */
	bool follow;		  /* fork children must ask as well */
	/* Functions to patch. The caller provides room for RING_ENTRIES_MAX entries if functions
	 * can be patched; otherwise NULL. */
	struct ring_entry *entry;
	uint32_t entries;
};

/* The occasion of the request. */
enum agent_ask {
	AGENT_ASK_FIRST, /* if there is no agent, one is started */
	/* The agent was silent before: it gets little time, and no agent is started. */
	AGENT_ASK_AGAIN,
};

/* Links to an agent. Takes at most two seconds if an agent must be started, one second if there is
 * one, and ten if the agent announces that the answer takes longer. Returns 0, -ENOENT if there is
 * no agent, -ECONNREFUSED if the agent does not want this process, or another negative errno.
 * `parent` describes the parent of a fork child, and is NULL otherwise. A fork child starts no
 * agent: starting takes locks that a thread which does not exist in the child may hold. */
int agent_link(const struct agent_parent *parent, enum agent_ask ask,
	       struct agent_terms *ret_terms);

/* Returns true if this error means that an agent is expected, but has not answered (yet). */
static inline bool agent_silent_error(int error)
{
	return error == -ETIMEDOUT || error == -EAGAIN;
}
