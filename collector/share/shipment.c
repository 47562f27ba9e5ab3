/* What is on its way. See shipment.h. */
#include "collector/share/shipment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"

#include "base/ban.h"

#define FILE_MAX (1u << 30)
/* Rows of one INSERT. ClickHouse divides more than 1,048,576 into blocks, which can fail one by
 * one. */
#define PART_ROWS_MAX 200000

static const uint8_t magic[8] = {'h', 'c', 's', 'h', 'i', 'p', 0, 4};

void shipment_done(struct shipment *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		buf_done(&s->parts[i].data);
	free(s->parts);
	*s = (struct shipment){0};
}

static struct shipment_part *part_new(struct shipment *s)
{
	if (array_reserve(&s->parts, &s->capacity, (uint64_t)s->count + 1, sizeof(*s->parts)) < 0)
		return NULL;
	return &s->parts[s->count++];
}

struct shipment_part *shipment_part(struct shipment *s, enum shipment_kind kind, uint32_t shard,
				    uint32_t day)
{
	struct shipment_part *part;

	for (uint32_t i = s->count; i-- > 0;)
		if (s->parts[i].kind == kind && s->parts[i].shard == shard &&
		    s->parts[i].day == day && s->parts[i].rows < PART_ROWS_MAX)
			return &s->parts[i];
	part = part_new(s);
	if (!part)
		return NULL;
	*part = (struct shipment_part){.kind = kind, .shard = shard, .day = day};
	if (getrandom(&part->batch, sizeof(part->batch), 0) == sizeof(part->batch))
		return part;
	s->count--;
	return NULL;
}

void shipment_row(struct shipment *s, struct shipment_part *part)
{
	part->rows++;
	s->rows++;
}

/* ---- the file ---- */

static void put_part(struct buf *out, const struct shipment_part *part)
{
	buf_byte(out, (uint8_t)part->kind);
	buf_u32le(out, part->shard);
	buf_u32le(out, part->day);
	buf_u64le(out, part->batch);
	buf_u64le(out, part->rows);
	buf_u64le(out, part->data.length);
	buf_append(out, part->data.data, part->data.length);
}

static int write_durably(const char *path, const uint8_t *data, size_t length)
{
	cleanup(cleanup_close) int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	while (length) {
		ssize_t n = write(fd, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		length -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* The new file takes the place of the old one as a whole, and its name lasts. */
static int replace_durably(const char *draft, const char *path)
{
	cleanup(cleanup_free) char *folder = strdup(path);
	cleanup(cleanup_close) int fd = -1;
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (!folder)
		return -ENOMEM;
	if (rename(draft, path) < 0)
		return -errno;
	if (slash)
		*slash = 0;
	fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int shipment_write(const struct shipment *s, const char *path, struct err_text *err)
{
	cleanup(buf_done) struct buf parts = {0}, file = {0};
	cleanup(cleanup_free) char *draft = NULL;
	int r;

	if (asprintf(&draft, "%s.draft", path) < 0)
		return -ENOMEM;
	buf_byte(&parts, s->known);
	for (uint32_t i = 0; i < s->count; i++)
		put_part(&parts, &s->parts[i]);
	buf_append(&file, magic, sizeof(magic));
	buf_u64le(&file, parts.length);
	buf_append(&file, parts.data, parts.length);
	buf_u64le(&file, XXH3_64bits(parts.data, parts.length));
	r = buf_error(&parts) ? buf_error(&parts) : buf_error(&file);
	if (!r)
		r = write_durably(draft, file.data, file.length);
	if (!r)
		r = replace_durably(draft, path);
	if (r < 0)
		unlink(draft);
	return r < 0 ? err_set(err, r, "can't write %s: %s", path, strerror(-r)) : 0;
}

static int get_part(struct shipment *s, struct reader *from)
{
	struct shipment_part part = {.kind = reader_u8(from), .tried = true};
	struct shipment_part *place;
	const uint8_t *data;
	uint64_t length;

	part.shard = reader_u32le(from);
	part.day = reader_u32le(from);
	part.batch = reader_u64le(from);
	part.rows = reader_u64le(from);
	length = reader_u64le(from);
	data = reader_bytes(from, length);
	if (!data || part.kind >= SHIPMENT_KINDS)
		return -EBADMSG;
	buf_append(&part.data, data, length);
	place = buf_error(&part.data) ? NULL : part_new(s);
	if (!place) {
		buf_done(&part.data);
		return -ENOMEM;
	}
	*place = part;
	s->rows += part.rows;
	return 0;
}

static int read_whole(const char *path, struct buf *out)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return -EBADMSG;
	while (out->length < (size_t)st.st_size) {
		uint8_t *room = buf_reserve(out, (size_t)st.st_size - out->length);
		ssize_t n = room ? read(fd, room, (size_t)st.st_size - out->length) : 0;

		if (!room)
			return -ENOMEM;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		out->length += (size_t)n;
	}
	return 0;
}

static int shipment_parse(struct shipment *s, const struct buf *file)
{
	struct reader whole = reader_of(file->data, file->length), parts;
	const uint8_t *begin = reader_bytes(&whole, sizeof(magic)), *data;
	uint64_t length;
	int r = 0;

	length = reader_u64le(&whole);
	data = reader_bytes(&whole, length);
	if (reader_u64le(&whole) != XXH3_64bits(data, data ? length : 0) || !data ||
	    reader_error(&whole) || reader_more(&whole) || memcmp(begin, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	parts = reader_of(data, length);
	s->known = reader_u8(&parts);
	while (!r && reader_more(&parts))
		r = get_part(s, &parts);
	return r ? r : reader_error(&parts);
}

int shipment_read(const char *path, struct shipment *ret_shipment, struct err_text *err)
{
	cleanup(buf_done) struct buf file = {0};
	struct shipment s = {0};
	int r = read_whole(path, &file);

	if (!r)
		r = shipment_parse(&s, &file);
	if (r < 0) {
		shipment_done(&s);
		if (r == -ENOENT)
			return r;
		return err_set(err, r, "can't read %s: %s", path,
			       r == -EBADMSG ? "it is damaged" : strerror(-r));
	}
	*ret_shipment = s;
	return 0;
}
