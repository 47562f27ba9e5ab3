/* The index beside the rows (kept.h). */
#include "collector/query/kept.h"
#include "collector/query/usage_index.h"

#include "base/ban.h"

#define NAME "usage"

int usage_index_load(const struct recording *recording, struct buf *bytes,
		     struct usage_index **ret_index)
{
	uint64_t frames;
	int r = kept_read(recording, NAME, bytes, &frames);

	return r ? r
		 : usage_index_read(bytes->data, bytes->length, recording, frames, ret_index, NULL);
}

void usage_index_save(const struct usage_index *index, const struct recording *recording)
{
	struct buf bytes = {0};
	uint64_t frames;

	if (kept_wanted(recording, NAME, &frames) &&
	    usage_index_write(index, recording, frames, &bytes) == 0)
		kept_write(recording, NAME, &bytes);
	buf_done(&bytes);
}
