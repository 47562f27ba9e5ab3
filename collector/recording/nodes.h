#pragma once
/*
 * The call tree of a recording. An agent's stack table is a cache: when it is full, the agent drops
 * nodes and later defines a node that it needs again under a new number. Here equal nodes (parent,
 * module, offset) are interned:
 *
 *        number on the wire --by_wire--> node    list[node - 1]
 *
 * Invariant: a parent has a lower number than its children, on the wire and here.
 */
#include "base/map.h"
#include "proto/stack_columns.h"

#define NODES_MAX (1u << 28)

struct nodes {
	struct stack_node *list;
	uint32_t count, capacity;
	uint32_t *by_wire; /* [number on the wire - 1] */
	uint32_t wire_count, wire_capacity;
	struct map index; /* hash of a node -> its number; on collision, the next free key */
};

void nodes_done(struct nodes *nodes);
/*
 * Returns the number of the node that equals `node`, which is added if necessary. The parent of
 * `node` is a number here, not on the wire. Returns 0 if memory is short.
 */
uint32_t nodes_intern(struct nodes *nodes, const struct stack_node *node);
/* Switches to a new agent, whose numbers begin at 1 again. */
void nodes_renew(struct nodes *nodes);
/*
 * Defines the next number on the wire, wire_count + 1. The parent of `node` is a number on the
 * wire. Returns 0; -EBADMSG if the parent is undefined or there are too many nodes; or -ENOMEM.
 */
int nodes_define(struct nodes *nodes, struct stack_node node);
/* Returns the node of a number on the wire, or 0 if it is undefined. */
static inline uint32_t nodes_of_wire(const struct nodes *nodes, uint64_t wire)
{
	return wire && wire <= nodes->wire_count ? nodes->by_wire[wire - 1] : 0;
}
