/*
 * What was kept by each released version of the format of rows (tests/golden/rows-VERSION) is still
 * read, and says what its frames say. A new version gets a folder of its own; one that can't be
 * read any more is left out here, and made anew by --update.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/derive/recording_parts.h"
#include "tests/unit/temporary.h"

/* The test may remove what it finds damaged: it works on a copy. */
static void copy_file(const char *path, const char *target)
{
	uint8_t bytes[4096];
	FILE *in, *out;
	size_t n;

	in = fopen(path, "r");
	out = fopen(target, "w");
	assert_true(in && out);
	while ((n = fread(bytes, 1, sizeof(bytes), in)))
		assert_int_equal(fwrite(bytes, 1, n, out), n);
	fclose(in);
	fclose(out);
}

static void copy(const char *name, const char *to)
{
	char path[512], target[512];

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_ROWS, name);
	snprintf(target, sizeof(target), "%s/%s", temporary_folder, to);
	copy_file(path, target);
}

static void copy_back(const char *name)
{
	char path[512], target[512];

	snprintf(path, sizeof(path), "%s/columns/%s", temporary_folder, name);
	snprintf(target, sizeof(target), "%s/%s", GOLDEN_ROWS, name);
	copy_file(path, target);
}

static void make_anew(void **state)
{
	struct recording *r;
	char path[128];
	struct stat st;
	uint64_t cut;

	(void)state;
	snprintf(path, sizeof(path), "%s/columns", temporary_folder);
	mkdir(path, 0700);
	copy("frames", "recording.heapcast");
	snprintf(path, sizeof(path), "%s/recording.heapcast", temporary_folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(recording_open_writing(path, &r, &cut, NULL), 0);
	assert_int_equal(recording_derive(r, (uint64_t)st.st_size, UINT64_MAX, NULL), 0);
	assert_int_equal(recording_park(r, NULL), 0);
	recording_close(r);
	copy_back("state");
	copy_back("rows.1");
}

static void version_1(void **state)
{
	struct recording *kept, *frames;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/columns", temporary_folder);
	mkdir(path, 0700);
	copy("frames", "recording.heapcast");
	copy("state", "columns/state");
	copy("rows.1", "columns/rows.1");
	snprintf(path, sizeof(path), "%s/recording.heapcast", temporary_folder);
	assert_int_equal(recording_open(path, NULL, NULL, &kept, NULL), 0);
	assert_int_equal(recording_open_frames(path, UINT64_MAX, &frames, NULL), 0);
	assert_true(kept->rows.fd[1] >= 0 && kept->rows.first_open == 1);
	assert_int_equal(recording_rows(kept), 70000);
	for (uint32_t i = 0; i < 2; i++) {
		const struct row_block *x = recording_block(kept, i),
				       *y = recording_block(frames, i);

		assert_non_null(x);
		assert_int_equal(x->count, y->count);
		assert_memory_equal(x->address, y->address, x->count * sizeof(*x->address));
		assert_memory_equal(x->birth_ns, y->birth_ns, x->count * sizeof(*x->birth_ns));
		assert_memory_equal(x->death_ns, y->death_ns, x->count * sizeof(*x->death_ns));
		assert_memory_equal(x->stack, y->stack, x->count * sizeof(*x->stack));
		assert_memory_equal(x->chain_next, y->chain_next,
				    x->count * sizeof(*x->chain_next));
	}
	assert_null(recording_rederived(kept));
	assert_memory_equal(recording_ledger(kept), recording_ledger(frames),
			    sizeof(struct ledger_info));
	assert_true(recording_adds_up(kept, NULL));
	recording_close(kept);
	recording_close(frames);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {TEST_IN_FOLDER(version_1)};
	const struct CMUnitTest update[] = {TEST_IN_FOLDER(make_anew)};

	if (argc == 2 && !strcmp(argv[1], "--update"))
		return cmocka_run_group_tests(update, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
