/* Encodes and decodes the columns of the call tree. stack_columns.h describes the interface. */
#include "proto/stack_columns.h"

#include <errno.h>

#include "base/error.h"
#include "proto/columns_put.h"
#include "base/ban.h"

static struct reader column_reader(ProtobufCBinaryData data)
{
	return reader_of(data.data, data.len);
}

int stacks_decoder_init(struct stacks_decoder *d, const Heapcast__Stacks *stacks,
			struct err_text *err)
{
	if (!stacks->first)
		return err_set(err, -EBADMSG, "stacks: nodes are numbered from 1");
	*d = (struct stacks_decoder){
		.parent = column_reader(stacks->parent),
		.module = column_reader(stacks->module),
		.offset = column_reader(stacks->offset),
		.next = stacks->first,
	};
	return 0;
}

int stacks_decoder_next(struct stacks_decoder *d, uint32_t *ret_number, struct stack_node *ret_node,
			struct err_text *err)
{
	uint64_t up, module;

	if (!reader_left(&d->parent)) {
		if (reader_left(&d->module) || reader_left(&d->offset))
			return err_set(err, -EBADMSG,
				       "stacks: column %s goes on after the last node",
				       reader_left(&d->module) ? "module" : "offset");
		return 0;
	}
	up = reader_varint(&d->parent);
	module = reader_varint(&d->module);
	d->last_offset += (uint64_t)reader_zigzag(&d->offset);
	if (reader_error(&d->parent) || up >= d->next || !d->next)
		return err_set(err, -EBADMSG,
			       "stacks: column parent, node %u: no number of an earlier node",
			       d->next);
	if (reader_error(&d->module) || module > UINT32_MAX)
		return err_set(err, -EBADMSG,
			       "stacks: column module, node %u: no number of a module", d->next);
	if (reader_error(&d->offset))
		return err_set(err, -EBADMSG,
			       "stacks: column offset, node %u: ends too early, or is no varint",
			       d->next);
	*ret_node = (struct stack_node){
		.parent = up ? d->next - (uint32_t)up : 0,
		.module = (uint32_t)module,
		.offset = d->last_offset,
	};
	*ret_number = d->next++;
	return 1;
}

void stacks_encoder_init(struct stacks_encoder *e, void *memory, size_t size, uint32_t first)
{
	size_t room = stacks_encoder_room(size);
	uint8_t *at = memory;

	*e = (struct stacks_encoder){
		.parent = {.data = at, .capacity = room * 5},
		.module = {.data = at + room * 5, .capacity = room * 5},
		.offset = {.data = at + room * 10, .capacity = room * VARINT_MAX},
		.first = first,
	};
}

uint32_t stacks_encoder_room(size_t size)
{
	return (uint32_t)(size / STACKS_NODE_MAX);
}

/* Most nodes hang below the node before them, in the same module. */
static inline void put_small(struct column *c, uint64_t value)
{
	if (__builtin_expect(value < 0x80, 1))
		c->data[c->length++] = (uint8_t)value;
	else
		column_put_exact(c, value);
}

int stacks_encoder_put(struct stacks_encoder *e, const struct stack_node *node)
{
	if (e->parent.capacity - e->parent.length < 5 ||
	    e->module.capacity - e->module.length < 5 ||
	    e->offset.capacity - e->offset.length < VARINT_MAX)
		return -ENOSPC;
	put_small(&e->parent, node->parent ? e->first + e->count - node->parent : 0);
	put_small(&e->module, node->module);
	column_put(&e->offset, zigzag((int64_t)(node->offset - e->last_offset)));
	e->last_offset = node->offset;
	e->count++;
	return 0;
}

void stacks_encoder_fill(const struct stacks_encoder *e, Heapcast__Stacks *ret)
{
	heapcast__stacks__init(ret);
	ret->first = e->first;
	ret->parent = column_data(&e->parent);
	ret->module = column_data(&e->module);
	ret->offset = column_data(&e->offset);
}
