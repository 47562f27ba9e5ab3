/* The store when memory runs out: each failed allocation is told, nothing that is told to be done
 * is half done, and what failed goes well when it is done again. */
#include "tests/unit/scarce.h"

#include "tests/unit/store/received.h"

static void files_are_read_whole(void **state)
{
	(void)state;
	assert_int_equal(open_file(NULL), 0);
	assert_true(scarce_some(open_file, NULL, SCARCE_STEP) > 0);
	assert_true(scarce_lasting(open_file, NULL, SCARCE_STEP) > 0);
}

/* Memory may run out here, if it has not yet. */
static void read_twice(const struct stream_id *id)
{
	if (!read_stored(id))
		return;
	scarce_over();
	assert_int_equal(read_stored(id), 0);
}

/* What failed is done again by the next collector, who finds nothing amiss. */
static int receive_anew(void *context)
{
	struct stream_id id;
	char folder[128];
	int r;

	(void)context;
	memcpy(id.bytes, b.id, sizeof(id.bytes));
	r = receive(&id);
	scarce_over();
	if (r == -ENOMEM)
		assert_int_equal(receive(&id), 0);
	if (r != 0 && r != -ENOMEM)
		return r;
	read_twice(&id);
	snprintf(folder, sizeof(folder), "%s/store", temporary_folder);
	assert_int_equal(nftw(folder, temporary_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
	return r;
}

static void what_failed_is_received_again(void **state)
{
	(void)state;
	assert_true(scarce_some(receive_anew, NULL, SCARCE_STEP) > 0);
	assert_true(scarce_lasting(receive_anew, NULL, SCARCE_STEP) > 0);
}

/* Without the catalogue the recording is read to its end. None of it is taken for damaged. */
static int go_on(void *context)
{
	char folder[128];
	int r;

	snprintf(folder, sizeof(folder), "%s/store/catalogue.sqlite", temporary_folder);
	unlink(folder);
	r = receive(context);
	scarce_over();
	read_twice(context);
	return r;
}

static void nothing_is_cut_off(void **state)
{
	struct stream_id id;

	(void)state;
	memcpy(id.bytes, b.id, sizeof(id.bytes));
	assert_int_equal(receive(&id), 0);
	assert_true(scarce_some(go_on, &id, SCARCE_STEP) > 0);
	assert_true(scarce_lasting(go_on, &id, SCARCE_STEP) > 0);
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
	assert_true(scarce_some(read_again, &id, SCARCE_STEP) > 0);
	assert_true(scarce_lasting(read_again, &id, SCARCE_STEP) > 0);
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
		assert_true(scarce_some(rewrite, &w, SCARCE_STEP) > 0);
		assert_true(scarce_lasting(rewrite, &w, SCARCE_STEP) > 0);
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
		cmocka_unit_test(rewritten_is_the_same_or_none),
	};

	return cmocka_run_group_tests(tests, open_folder, close_folder);
}
