/* Compresses streams that have ended. compress_streams.h describes the interface. */
#include "collector/catalogue/compress_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/compress.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/listing.h"
#include "collector/catalogue/snapshots.h"
#include "collector/catalogue/store.h"
#include "collector/recording/compressed.h"
#include "collector/recording/totals.h"
#include "base/ban.h"

#define BYTES_LEAST (64u << 10) /* a smaller recording takes little room as it is */
/* How long an agent may take to return to a stream that has no end. */
#define INTERRUPTED_NS 3600000000000u

static uint64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool was_tried(const struct compression *c, const struct stream_id *id)
{
	return stream_id_among(id, (const void *)c->tried.data, c->tried.length / sizeof(*id));
}

/* Tells whether the stream is due. One that nobody writes may still go on: its writer then restores
 * it (writer.c). */
static bool is_due(struct store *store, const struct compression *c, const struct stream_id *id,
		   const char *path)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint64_t now_ns = clock_now_ns(), changed_ns;
	struct totals totals = {0};
	struct compressed head;
	bool live = true, due;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < BYTES_LEAST)
		return false;
	changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	if (changed_ns > now_ns || now_ns - changed_ns < c->after_ns ||
	    compressed_look(path, fd, &head, NULL) || was_tried(c, id) ||
	    folder_totals(store, id, &totals, &live, NULL) < 0)
		return false;
	due = !live && (totals.ended || now_ns - changed_ns > INTERRUPTED_NS);
	totals_done(&totals);
	return due;
}

static bool is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT;
}

static int compress_stream(struct store *store, struct compression *c, const struct stream_id *id,
			   struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(store, id);
	int r;

	if (!path)
		return -ENOMEM;
	if (!is_due(store, c, id, path))
		return 0;
	r = recording_compress(path, c->stop, c->context, err);
	if (r == -EBUSY || r == -ESTALE || r == -ECANCELED)
		return 0;
	if (r && !is_full(r))
		buf_append(&c->tried, id, sizeof(*id));
	return r < 0 ? r : 0;
}

int store_compress(struct store *store, struct compression *c, struct err_text *err)
{
	cleanup(cleanup_free) struct stream_id *ids = NULL;
	struct err_text why = {0};
	size_t count = 0;
	int r = listing_ids(store, &ids, &count, err), first = r;

	for (size_t i = 0; !is_full(r) && i < count && !c->stop(c->context); i++) {
		r = compress_stream(store, c, &ids[i], &why);
		if (r < 0 && !first)
			first = err_set(err, r, "%s", why.text);
	}
	return first;
}
