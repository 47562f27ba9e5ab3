/* See read.h. */
#include "tests/unit/culling/collector/read.h"

#include <stdio.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/recording/recording.h"

uint64_t culling_read(const char *path, struct read_alive *alive, unsigned count)
{
	struct recording *recording;
	struct err_text err = {{0}};
	uint64_t orphans;

	if (recording_open(path, NULL, NULL, &recording, &err) < 0 ||
	    !recording_adds_up(recording, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return UINT64_MAX;
	}
	for (uint32_t b = 0; b < recording_blocks(recording); b++) {
		const struct row_block *block = recording_block(recording, b);

		for (uint32_t i = 0; i < block->count; i++) {
			uint64_t at = (block->address[i] - READ_FIRST) / READ_STEP;

			if (block->end[i] != BLOCK_IN_USE || at >= count)
				continue;
			alive[at].blocks++;
			alive[at].bytes = block->size[i];
		}
	}
	orphans = recording_pairing(recording)->orphan_frees;
	recording_close(recording);
	return orphans;
}
