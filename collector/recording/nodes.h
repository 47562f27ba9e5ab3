#pragma once
/*
 * The stack tree of a recording. An agent's stack table is a cache: when it is full it forgets, and
 * defines a node that it needs again under another number. Here equal nodes, (parent, module,
 * offset), are one:
 *
 *	number on the wire --by_wire--> node        list[node - 1]
 *
 * Invariant: a parent has a lower number than its children, on the wire and here.
 */
#include "base/map.h"
#include "proto/columns.h"

#define NODES_MAX (1u << 28)

struct nodes {
	struct stack_node *list;
	uint32_t count, capacity;
	uint32_t *by_wire; /* [number on the wire - 1] */
	uint32_t wire_count, wire_capacity;
	struct map index; /* hash of a node -> its number; what collides stands under the next free
			     key */
};

void nodes_done(struct nodes *nodes);
/* The number of the node that equals `node`, whose parent is a number here, made if there is none;
 * 0: no memory. */
uint32_t nodes_intern(struct nodes *nodes, const struct stack_node *node);
/* Another agent goes on with the stream: its numbers begin at 1 again. */
void nodes_renew(struct nodes *nodes);
/* Defines the next number on the wire, wire_count + 1; `node` with its parent as on the wire. 0;
 * -EBADMSG: the parent is not defined, or there are too many; -ENOMEM. */
int nodes_define(struct nodes *nodes, struct stack_node node);
/* The node of a number on the wire; 0: not defined. */
static inline uint32_t nodes_of_wire(const struct nodes *nodes, uint64_t wire)
{
	return wire && wire <= nodes->wire_count ? nodes->by_wire[wire - 1] : 0;
}
