/* Sequences of bytes in memory or in a file. See spill.h. */
#include "collector/query/sweep/spill.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/write.h"
#include "base/unnamed_file.h"

#include "base/ban.h"

#define IN_MEMORY (1u << 20)

void spill_init(struct spill *s)
{
	*s = (struct spill){.fd = -1};
}

void spill_done(struct spill *s)
{
	if (s->mapped)
		munmap(s->mapped, s->length);
	if (s->fd >= 0)
		close(s->fd);
	buf_done(&s->buf);
	spill_init(s);
}

static bool has_file(struct spill *s)
{
	if (s->fd < 0 && !s->no_file)
		s->fd = unnamed_file();
	s->no_file = s->fd < 0;
	return !s->no_file;
}

static int spill_flush(struct spill *s)
{
	int r = write_all(s->fd, s->buf.data, s->buf.length);

	buf_clear(&s->buf);
	return r;
}

int spill_append(struct spill *s, const void *data, size_t length)
{
	bool writes = s->buf.length + length > IN_MEMORY && has_file(s);
	int r = writes ? spill_flush(s) : 0;

	s->length += length;
	if (r || !length)
		return r;
	if (writes && length > IN_MEMORY)
		return write_all(s->fd, data, length);
	buf_append(&s->buf, data, length);
	return buf_error(&s->buf);
}

int spill_read(struct spill *s, const uint8_t **ret_data, struct err_text *err)
{
	void *at;
	int r;

	*ret_data = s->buf.data;
	if (s->fd < 0)
		return 0;
	r = spill_flush(s);
	if (r < 0)
		return err_set(err, r, "can't write a temporary file: %s", strerror(-r));
	at = mmap(NULL, s->length, PROT_READ, MAP_SHARED, s->fd, 0);
	if (at == MAP_FAILED)
		return err_set(err, -errno, "can't read a temporary file: %s", strerror(errno));
	s->mapped = at;
	*ret_data = at;
	return 0;
}
