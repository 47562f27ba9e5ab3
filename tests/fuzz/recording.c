/*
 * A recording made by a stranger (framed.h). What opens must keep the store's promises: numbers
 * refer to what exists, blocks do not die before they are born.
 */
#include "proto/stack_columns.h"
#include "proto/culled.h"
#include "collector/columns/row_block.h"
#include "collector/recording/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/framed.h"
#include "tests/fuzz/fuzz.h"

static void check(int truth)
{
	if (!truth)
		abort();
}

static void check_rows(const struct recording *r)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < recording_blocks(r); i++) {
		const struct row_block *b = recording_block(r, i);

		check(b->first_row == rows && b->count <= ROWS_PER_BLOCK);
		for (uint32_t k = 0; k < b->count; k++) {
			check(b->death_ns[k] == NO_TIME || b->death_ns[k] >= b->birth_ns[k]);
			check((b->end[k] == BLOCK_IN_USE) == (b->death_ns[k] == NO_TIME));
			check(b->stack[k] <= recording_nodes(r) &&
			      b->death_stack[k] <= recording_nodes(r));
			check(!b->thread[k] || recording_thread(r, b->thread[k]));
			check(b->chain_next[k] == NO_BLOCK || b->chain_next[k] > b->first_row + k);
			check(b->chain_previous[k] == NO_BLOCK ||
			      b->chain_previous[k] < b->first_row + k);
			check(b->size[k] >= b->min.size && b->size[k] <= b->max.size);
		}
		rows += b->count;
	}
	check(rows == recording_rows(r));
}

static void check_definitions(const struct recording *r)
{
	for (uint32_t i = 1; i <= recording_nodes(r); i++) {
		const struct stack_node *node = recording_node(r, i);

		check(node->parent < i && (!node->module || recording_module(r, node->module)));
	}
	for (uint32_t i = 1; i <= recording_threads(r); i++)
		check(!recording_thread(r, i) || recording_thread(r, i)->name);
	recording_adds_up(r, NULL);
}

static void check_culled(const struct recording *r)
{
	for (uint32_t i = 0; i < recording_culled_count(r); i++) {
		const struct culled_row *row = recording_culled(r, i);

		check(row->blocks && row->size_least <= row->size_most &&
		      row->first_ns <= row->last_ns);
		check(row->stack <= recording_nodes(r) && row->lifetime < culled_lifetimes);
		check(!row->thread || recording_thread(r, row->thread));
		check(row->reallocated <= row->blocks);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording *recording;
	int fd = framed_recording(data, size);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (recording_open(path, NULL, NULL, &recording, NULL) == 0) {
		check_rows(recording);
		check_definitions(recording);
		check_culled(recording);
		check(recording_refresh(recording, NULL) == 0);
		recording_close(recording);
	}
	close(fd);
	return 0;
}
