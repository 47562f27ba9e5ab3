/* The store on a disk that fails: each call that fails is told, or what is told to be done is done
 * all the same; and what failed goes well when it is done again. */
#include "tests/unit/failing.h"

#include "tests/unit/store/received.h"

static void files_are_read_whole(void **state)
{
	(void)state;
	assert_int_equal(open_file(NULL), 0);
	assert_true(failing_each(open_file, NULL) > 0);
}

static unsigned unsafe; /* how many times the disk did not make something durable */

/* What failed is done again by the next collector, who finds nothing amiss. What is not on the disk
 * is never said to be. */
static int receive_anew(void *context)
{
	struct stream_id id;
	char folder[128];
	int r;

	(void)context;
	memcpy(id.bytes, b.id, sizeof(id.bytes));
	r = receive(&id);
	if (failing_was("fsync") || failing_was("fdatasync")) {
		assert_int_equal(r, -EIO);
		unsafe++;
	}
	atomic_store(&failing_write, false); /* it is over */
	if (r)
		assert_int_equal(receive(&id), 0);
	if (read_stored(&id)) /* it has not failed yet */
		assert_int_equal(read_stored(&id), 0);
	snprintf(folder, sizeof(folder), "%s/store", temporary_folder);
	assert_int_equal(nftw(folder, temporary_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
	return r;
}

static void what_failed_is_received_again(void **state)
{
	(void)state;
	assert_true(failing_each(receive_anew, NULL) > 0);
	assert_true(unsafe >= BATCHES + 3); /* each batch once; the name in two folders */
}

static int go_on(void *context)
{
	char file[128];
	int r;

	snprintf(file, sizeof(file), "%s/store/catalogue.sqlite", temporary_folder);
	unlink(file);
	r = receive(context);
	if (read_stored(context)) /* it has not failed yet */
		assert_int_equal(read_stored(context), 0);
	return r;
}

/* Without the catalogue the recording is read to its end. None of it is taken for damaged. */
static void nothing_is_cut_off(void **state)
{
	struct stream_id id;

	(void)state;
	memcpy(id.bytes, b.id, sizeof(id.bytes));
	assert_int_equal(receive(&id), 0);
	assert_true(failing_each(go_on, &id) > 0);
}

static int read_again(void *context)
{
	return read_stored(context);
}

static void readers_read_all_or_say_so(void **state)
{
	struct stream_id id;

	(void)state;
	memcpy(id.bytes, b.id, sizeof(id.bytes));
	assert_int_equal(receive(&id), 0);
	assert_true(failing_each(read_again, &id) > 0);
}

/* What has come meanwhile can't be read: that is told, and read when it is asked for again. */
static int refresh(void *context)
{
	long left = atomic_exchange(&failing_left, 2 * FAILING_MOST);
	char *growing = builder_save(&b, b.ends[1]);
	struct recording *r;
	FILE *file;
	int e;

	(void)context;
	assert_int_equal(recording_open(growing, NULL, NULL, &r, NULL), 0);
	file = fopen(growing, "ae");
	assert_int_equal(fwrite(b.file.data + b.ends[1], 1, b.file.length - b.ends[1], file),
			 b.file.length - b.ends[1]);
	fclose(file);
	atomic_store(&failing_left, left);
	e = recording_refresh(r, NULL);
	if (failing_was("fstat"))
		assert_int_equal(e, -EIO);
	left = atomic_exchange(&failing_left, 2 * FAILING_MOST);
	assert_true(e >= 0 || left <= 0);
	if (e < 0)
		assert_true(recording_refresh(r, NULL) >= 0);
	check_rows(r);
	assert_int_equal(recording_refresh(r, NULL), 0);
	recording_close(r);
	unlink(growing);
	free(growing);
	atomic_store(&failing_left, left);
	return e < 0 ? e : 0;
}

static void what_comes_is_read_later(void **state)
{
	(void)state;
	assert_int_equal(refresh(NULL), 0);
	assert_true(failing_each(refresh, NULL) > 0);
}

static void rewritten_is_the_same_or_none(void **state)
{
	static int (*const rewrites[])(const struct copy_settings *) = {strip, anonymise, compose};

	(void)state;
	for (size_t i = 0; i < sizeof(rewrites) / sizeof(*rewrites); i++) {
		struct rewritten w = {.rewrite = rewrites[i]};
		int r = rewrite(&w);

		if (r == -ENOTSUP) /* without libcrypto */
			continue;
		assert_int_equal(r, 0);
		assert_true(w.length > 100);
		assert_true(failing_each(rewrite, &w) > 0);
		free(w.bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_read_whole),
		cmocka_unit_test(what_failed_is_received_again),
		cmocka_unit_test(nothing_is_cut_off),
		cmocka_unit_test(readers_read_all_or_say_so),
		cmocka_unit_test(what_comes_is_read_later),
		cmocka_unit_test(rewritten_is_the_same_or_none),
	};

	return cmocka_run_group_tests(tests, open_folder, close_folder);
}
