/*
 * A recording made by a stranger (framed.h) is stripped and put under other names. What comes out opens and has as many blocks and bytes,
 * in rows and sums, as what went in; and where that balanced, it balances.
 */
#include "collector/store/store.h"

#include <stdio.h>
#include <stdlib.h>
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t thresholds[] = {1000, 10000000000, STRIP_ALL};
	int fd = framed_recording(data, size), out = memfd_create("stripped", MFD_CLOEXEC),
	    other = memfd_create("anonymised", MFD_CLOEXEC),
	    named = memfd_create("named", MFD_CLOEXEC);
	struct copy_settings settings = {.fd = out};
	struct anonymise_settings names = {
		.copy.fd = other, .salt = "salt", .salt_length = 4, .frame = frame};
	struct name_settings bring = {.copy.fd = named, .frame = frame};
	struct name_result brought;
	struct totals before = totals_of(fd);
	struct strip_result result;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (recording_strip(path, thresholds[size % 3], &settings, &result, NULL) == 0 &&
	    before.opens && lseek(out, 0, SEEK_END) > 0)
		check(&before, out);
	if (recording_anonymise(path, &names, NULL) == 0 && before.opens &&
	    lseek(other, 0, SEEK_END) > 0)
		check(&before, other);
	if (recording_bring_names(path, &bring, &brought, NULL) == 0 && before.opens &&
	    lseek(named, 0, SEEK_END) > 0)
		check(&before, named);
	close(fd);
	close(out);
	close(other);
	close(named);
	return 0;
}
