/* Reads stacks as 64-bit words. See cpu_profile.h. */
#include "collector/formats/read/cpu_profile.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "collector/formats/read/importer.h"
#include "base/ban.h"

bool cpu_profile_begins(const uint8_t *data, size_t length)
{
	struct reader r = reader_of(data, length);

	return !reader_u64le(&r) && !reader_error(&r);
}

static int cpu_profile_read_head(struct reader *r)
{
	uint64_t first = reader_u64le(r), words = reader_u64le(r);

	if (first || words < 3 || words > 1024)
		return -EBADMSG;
	reader_bytes(r, words * sizeof(uint64_t));
	return reader_error(r);
}

int cpu_profile_read(const uint8_t *data, size_t length,
		     int (*stack)(void *context, const uint64_t *addresses, uint32_t depth,
				  uint64_t number),
		     void *context, size_t *ret_end)
{
	cleanup(cleanup_free) uint64_t *addresses = calloc(IMPORT_STACK_MAX, sizeof(*addresses));
	struct reader r = reader_of(data, length);
	int error = addresses ? cpu_profile_read_head(&r) : -ENOMEM;

	while (!error && reader_more(&r)) {
		uint64_t number = reader_u64le(&r), depth = reader_u64le(&r);

		if (reader_error(&r) || !depth || depth > IMPORT_STACK_MAX)
			return -EBADMSG;
		for (uint64_t i = 0; i < depth; i++)
			addresses[i] = reader_u64le(&r);
		if (reader_error(&r))
			return -EBADMSG;
		if (!number && depth == 1 && !addresses[0])
			break;
		if (stack)
			error = stack(context, addresses, (uint32_t)depth, number);
	}
	*ret_end = r.offset;
	return error;
}
