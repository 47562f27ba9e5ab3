/* Writes a stream's definitions at the head of each segment of its spool on disk. See
 * spool_disk.h. */
#include <errno.h>

#include "agent/spool/spool_files.h"
#include "agent/stream/stream.h"
#include "base/ban.h"

static long define(void *context, int fd, uint64_t next, const struct spool_account *before)
{
	struct stream *s = context;
	struct spool_folder *folder = s->spool.disk.folder;
	struct catch_up catch_up = catch_up_at(next, before);
	long length, total = 0;

	while ((length = batch_pack_catch_up(s, s->packer, &catch_up, s->spool.disk.out,
					     folder->out_size)) > 0) {
		int r = spool_file_write(fd, s->spool.disk.out, (size_t)length, (uint64_t)total);

		if (r < 0)
			return r;
		total += length;
	}
	return length < 0 ? length : total;
}

void stream_use_spool(struct stream *s, struct spool_folder *folder)
{
	s->spool.disk.folder = folder;
	s->spool.disk.id = s->id;
	s->spool.disk.define = define;
	s->spool.disk.context = s;
	s->spool.disk.out = folder->out;
}

void stream_leave_spool(struct stream *s, struct packer *packer, uint8_t *out)
{
	struct packer *drains = s->packer;
	uint8_t *usual = s->spool.disk.out;

	s->packer = packer;
	s->spool.disk.out = out;
	spool_leave(&s->spool);
	s->packer = drains;
	s->spool.disk.out = usual;
}
