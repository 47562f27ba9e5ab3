/*
 * A recording made by a stranger (framed.h) is stripped and put under other names. What comes out
 * opens and has as many blocks and bytes, in rows and sums, as what went in; and where that
 * balanced, it balances. Files that it brings along are read; one that is put into it comes out as
 * it was, and none is left in what was stripped or put under other names.
 */
#include "collector/columns/row_block.h"
#include "collector/recording/brought_file.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/rewrite/anonymise.h"
#include "collector/rewrite/bring_names.h"
#include "collector/rewrite/brought.h"
#include "collector/rewrite/rewrite.h"
#include "collector/rewrite/strip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/framed.h"
#include "tests/fuzz/fuzz.h"

struct totals {
	uint64_t blocks, bytes, threads, modules;
	bool opens, balances;
};

static struct totals totals_of(int fd)
{
	struct totals t = {0};
	struct recording *r;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	t.opens = recording_open(path, NULL, NULL, &r, NULL) == 0;
	if (!t.opens)
		return t;
	for (uint32_t i = 0; i < recording_blocks(r); i++) {
		const struct row_block *b = recording_block(r, i);

		t.blocks += b->count;
		for (uint32_t k = 0; k < b->count; k++)
			t.bytes += b->size[k];
	}
	t.blocks += recording_culled_totals(r)->blocks;
	t.bytes += recording_culled_totals(r)->bytes;
	t.threads = recording_threads(r);
	t.modules = recording_modules(r);
	t.balances = recording_adds_up(r, NULL);
	recording_close(r);
	return t;
}

static bool frame(void *context, uint32_t node, uint32_t index, struct named_frame *ret)
{
	(void)context;
	*ret = (struct named_frame){node % 2 ? "function" : NULL, "file.c", node};
	return index < node % 3;
}

static void check(const struct totals *before, int fd)
{
	struct totals after = totals_of(fd);

	if (!after.opens || after.blocks != before->blocks || after.bytes != before->bytes ||
	    after.threads != before->threads || after.modules != before->modules ||
	    (before->balances && !after.balances))
		abort();
}

/* ---- files ---- */

static const struct brought_file put_along = {
	.build_id = {0xb1, 1, 2}, .build_id_length = 3, .size = 40000};

static bool is_put(const struct brought_file *file, int fd)
{
	uint8_t content[sizeof("file") + 1] = {0};

	return file->build_id_length == put_along.build_id_length &&
	       !memcmp(file->build_id, put_along.build_id, sizeof(file->build_id)) &&
	       file->size == put_along.size && pread(fd, content, 4, 39996) == 4 &&
	       !memcmp(content, "file", 4);
}

/* How many files come whole, and whether ours is among them. */
static unsigned files_in(int fd, bool *ret_ours)
{
	struct brought_file file;
	struct brought brought;
	unsigned count = 0;
	char path[64];
	int r;

	*ret_ours = false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = brought_open(&brought, path, NULL);
	while (!r && (r = brought_next(&brought, &file, NULL)) == 1) {
		int to = memfd_create("brought", MFD_CLOEXEC);

		r = brought_read(&brought, to, NULL);
		if (!r && (!file.size || file.size > BROUGHT_FILE_MAX ||
			   lseek(to, 0, SEEK_END) != (off_t)file.size))
			abort();
		count += !r;
		*ret_ours |= !r && is_put(&file, to);
		close(to);
		r = r == -EBADMSG ? 0 : r;
	}
	brought_close(&brought);
	return count;
}

/* With `file` at its end. */
static int new_file(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 39996) || pwrite(fd, "file", 4, 39996) != 4)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t thresholds[] = {1000, 10000000000, STRIP_ALL};
	int fd = framed_recording(data, size), out = memfd_create("stripped", MFD_CLOEXEC),
	    other = memfd_create("anonymised", MFD_CLOEXEC),
	    named = memfd_create("named", MFD_CLOEXEC), along = new_file();
	struct copy_settings settings = {.fd = out};
	struct anonymise_settings names = {
		.copy.fd = other, .salt = "salt", .salt_length = 4, .frame = frame};
	struct bring_file file = {.file = put_along};
	struct name_settings bring = {
		.copy.fd = named, .frame = frame, .files = &file, .file_count = 1};
	struct name_result brought;
	struct totals before = totals_of(fd);
	struct strip_result result;
	char path[64], along_path[64];
	bool ours;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(along_path, sizeof(along_path), "/proc/self/fd/%d", along);
	file.path = along_path;
	files_in(fd, &ours);
	if (recording_strip(path, thresholds[size % 3], &settings, &result, NULL) == 0 &&
	    before.opens && lseek(out, 0, SEEK_END) > 0)
		check(&before, out);
	if (recording_anonymise(path, &names, NULL) == 0 && before.opens &&
	    lseek(other, 0, SEEK_END) > 0)
		check(&before, other);
	if (recording_bring_names(path, &bring, &brought, NULL) == 0 && before.opens &&
	    lseek(named, 0, SEEK_END) > 0) {
		check(&before, named);
		if (!files_in(named, &ours) || !ours)
			abort();
	}
	if (files_in(out, &ours) || files_in(other, &ours))
		abort();
	close(fd);
	close(along);
	close(out);
	close(other);
	close(named);
	return 0;
}
