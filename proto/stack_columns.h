#pragma once
/*
 * The columns of the call tree's nodes (Heapcast__Stacks). Nodes are numbered in ascending order.
 * Events refer to nodes by these numbers; columns.h has the columns of events.
 */
#include <stdint.h>

#include "base/bytes.h"
#include "heapcast.pb-c.h"
#include "proto/column.h"

struct err_text;

/* A node of the call tree. */
struct stack_node {
	uint32_t parent; /* number of the caller's node; 0: this is an outermost frame */
	uint32_t module; /* number; 0: no module, see enum PseudoFrame */
	uint64_t offset; /* return address - Module.bias */
};

/* Longest encoding of a node, in bytes. */
#define STACKS_NODE_MAX (5 + 5 + VARINT_MAX)

struct stacks_decoder {
	struct reader parent;
	struct reader module;
	struct reader offset;
	uint64_t last_offset;
	uint32_t next;
};

int stacks_decoder_init(struct stacks_decoder *decoder, const Heapcast__Stacks *stacks,
			struct err_text *err);
/*
 * Decodes the next node and its number. Returns 1, 0 or -EBADMSG as above. A parent always has a
 * lower number. The caller checks that the parent and the module are known.
 */
int stacks_decoder_next(struct stacks_decoder *decoder, uint32_t *ret_number,
			struct stack_node *ret_node, struct err_text *err);

struct stacks_encoder {
	struct column parent;
	struct column module;
	struct column offset;
	uint64_t last_offset;
	uint32_t first;
	uint32_t count;
};

/* Encodes nodes `first`, first + 1, ... into `size` bytes at `memory`, which the caller owns. */
void stacks_encoder_init(struct stacks_encoder *encoder, void *memory, size_t size, uint32_t first);
/* Returns how many nodes fit into `size` bytes even if each takes the most room. */
uint32_t stacks_encoder_room(size_t size);
/* Appends a node. Returns 0 or -ENOSPC. */
int stacks_encoder_put(struct stacks_encoder *encoder, const struct stack_node *node);
void stacks_encoder_fill(const struct stacks_encoder *encoder, Heapcast__Stacks *ret_stacks);
