/* The index beside the rows (kept.h). */
#include "collector/query/kept.h"
#include "collector/query/usage_index.h"

#include "base/ban.h"

#define NAME "usage"

int usage_index_load(const struct recording *recording, struct kept *kept,
		     struct usage_index **ret_index)
{
	uint64_t frames;
	int r = kept_open(recording, NAME, kept, &frames);

	return r ? r
		 : usage_index_read(kept->data, kept->length, recording, frames, ret_index, NULL);
}

void usage_index_save(const struct usage_index *index, const struct recording *recording)
{
	struct buf head = {0};
	const uint8_t *far;
	size_t length;
	uint64_t frames;

	if (kept_wanted(recording, NAME, &frames) &&
	    usage_index_write(index, recording, frames, &head, &far, &length) == 0)
		kept_write(recording, NAME, &head, far, length);
	buf_done(&head);
}
