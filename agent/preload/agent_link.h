#pragma once
/*
 * Finding an agent and shaking hands with it. Nothing of it stays: when agent_link returns, the
 * process has no descriptor more than before, and one less if it had inherited one for this.
 */
#include "proto/ring.h"

/* Bounded by two seconds when an agent must be started, by one when there is one. 0, and the ring,
 * mapped and checked; -ENOENT: nobody is there; -ECONNREFUSED: the agent does not want this
 * process; or another negative errno. */
int agent_link(struct ring_header **ret_ring);
