/*
 * Rewritten recordings, compared whole: one with something of everything that a recording can hold
 * is stripped, gets other names, gets names and files, and each result is what
 * tests/golden/rewritten/NAME says, field by field. "--update" writes these files: read the diff.
 */
#include "tests/unit/store/dump.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "collector/rewrite/anonymise.h"
#include "collector/rewrite/bring_names.h"
#include "collector/rewrite/brought.h"
#include "collector/rewrite/compose.h"
#include "collector/rewrite/strip.h"
#include "tests/unit/store/everything.h"
#include "tests/unit/temporary.h"

static char *path;

static int begin(void **state)
{
	if (temporary_setup(state) < 0)
		return -1;
	everything_build();
	path = builder_save(&b, b.file.length);
	return 0;
}

static int end(void **state)
{
	unlink(path);
	free(path);
	everything_done();
	return temporary_teardown(state);
}

/* ---- comparing ---- */

static struct copy_settings settings;
static FILE *out;
static char *written;
static size_t written_length;

static void open_output(void)
{
	settings = (struct copy_settings){.fd = memfd_create("rewritten", MFD_CLOEXEC)};
	assert_true(settings.fd >= 0);
	out = open_memstream(&written, &written_length);
	assert_non_null(out);
}

static void compare(const char *name)
{
	dump_recording(out, settings.fd);
	close(settings.fd);
	fclose(out);
	dump_compare(GOLDEN_REWRITTEN, name, written);
}

static void stripped(void **state)
{
	static const struct {
		const char *name;
		uint64_t threshold_ns;
	} cases[] = {{"strip-none", 1000}, {"strip-some", 4000}, {"strip-all", STRIP_ALL}};
	struct strip_result result;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_output();
		assert_int_equal(
			recording_strip(path, cases[i].threshold_ns, &settings, &result, NULL), 0);
		fprintf(out, "%llu events before, %llu after; %llu blocks\n",
			(unsigned long long)result.events_before,
			(unsigned long long)result.events_after, (unsigned long long)result.blocks);
		assert_int_equal(result.bytes_before, b.file.length);
		assert_int_equal(result.bytes_after, lseek(settings.fd, 0, SEEK_CUR));
		compare(cases[i].name);
	}
}

static bool name_frame(void *context, uint32_t node, uint32_t index, struct named_frame *ret_frame)
{
	static char function[32];

	(void)context;
	snprintf(function, sizeof(function), "function %u.%u", node % 7, index);
	*ret_frame = (struct named_frame){.function = node % 7 == 3 ? NULL : function,
					  .file = node % 2 ? "/opt/firm/main.c" : NULL,
					  .line = 10 * node + index};
	return node % 5 && index < node % 3 + 1;
}

static bool keeps(void *context, const char *file)
{
	(void)context;
	return strstr(file, "kept");
}

static char *disguise(void *context, const char *function, const char *word)
{
	char *disguised;

	(void)context;
	if (strstr(function, ".1"))
		return NULL;
	return asprintf(&disguised, "%s()", word) < 0 ? NULL : disguised;
}

static void anonymised(void **state)
{
	struct anonymise_settings s = {
		.salt = "salt", .salt_length = 4, .keeps = keeps, .frame = name_frame};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		int r;

		open_output();
		s.copy = settings;
		s.disguise = i ? disguise : NULL;
		s.keeps = i ? NULL : keeps;
		r = recording_anonymise(path, &s, NULL);
		if (r == -ENOTSUP) {
			close(settings.fd);
			fclose(out);
			free(written);
			skip();
		}
		assert_int_equal(r, 0);
		compare(i ? "anonymise-all" : "anonymise");
	}
}

/* ---- names and files ---- */

static void make_file(const char *name, size_t length)
{
	char file[128];
	FILE *f;

	snprintf(file, sizeof(file), "%s/%s", temporary_folder, name);
	f = fopen(file, "w");
	assert_non_null(f);
	for (size_t i = 0; i < length; i++)
		assert_int_equal(putc((int)('a' + i % 26), f), 'a' + i % 26);
	fclose(f);
}

static bool said(void *context, uint32_t node)
{
	(void)context;
	return node % 2;
}

static void leave_out(void *context, const struct bring_file *file, const char *why)
{
	FILE *to = context;

	fprintf(to, "left out: %.8s: %s\n", (const char *)file->file.build_id,
		why + (strstr(why, temporary_folder)
			       ? (size_t)(strstr(why, temporary_folder) - why) +
					 strlen(temporary_folder)
			       : 0));
}

static void named(void **state)
{
	static const size_t sizes[] = {
		1, BROUGHT_PIECE_MAX - 1, BROUGHT_PIECE_MAX, BROUGHT_PIECE_MAX + 1, 0, 7, 12};
	static char paths[7][128];
	struct bring_file files[8] = {0};
	struct name_result result;
	struct name_settings s = {.frame = name_frame, .said = said, .left_out = leave_out};

	(void)state;
	for (unsigned i = 0; i < 7; i++) {
		char name[16];

		snprintf(name, sizeof(name), "/file-%u", i);
		snprintf(paths[i], sizeof(paths[i]), "%s%s", temporary_folder, name);
		make_file(name, sizes[i]);
		files[i].path = paths[i];
		files[i].file.size = sizes[i] - (i == 5);
		files[i].file.build_id_length = 8;
		snprintf((char *)files[i].file.build_id, 9, "id-%05u", i);
	}
	memcpy(files[6].file.build_id, "a file's id", 11); /* it has that one already */
	files[6].file.build_id_length = 11;
	files[7] = files[1];
	files[7].path = "/nonexistent";
	files[7].file.build_id[3] = '7';
	s.files = files;
	s.file_count = 8;
	for (unsigned i = 0; i < 2; i++) {
		open_output();
		s.copy = settings;
		s.context = out;
		if (i) {
			s.said = NULL;
			s.left_out = NULL;
		}
		assert_int_equal(recording_bring_names(path, &s, &result, NULL), 0);
		fprintf(out, "%llu places, %llu named; %llu files of %llu bytes\n",
			(unsigned long long)result.places, (unsigned long long)result.named,
			(unsigned long long)result.files, (unsigned long long)result.file_bytes);
		assert_int_equal(result.bytes_before, b.file.length);
		assert_int_equal(result.bytes_after, lseek(settings.fd, 0, SEEK_CUR));
		compare(i ? "names-said" : "names");
	}
}

/* ---- what cannot be done ---- */

static int strip_file(const char *from, const struct copy_settings *copy, struct err_text *err)
{
	struct strip_result result = {.blocks = 4711};
	int r = recording_strip(from, 4000, copy, &result, err);

	assert_true(!r || result.blocks == 4711);
	return r;
}

static int anonymise_file(const char *from, const struct copy_settings *copy, struct err_text *err)
{
	const struct anonymise_settings s = {
		.copy = *copy, .salt = "salt", .salt_length = 4, .frame = name_frame};

	return recording_anonymise(from, &s, err);
}

static int name_file(const char *from, const struct copy_settings *copy, struct err_text *err)
{
	const struct name_settings s = {.copy = *copy, .frame = name_frame};
	struct name_result result = {.places = 4711};
	int r = recording_bring_names(from, &s, &result, err);

	assert_true(!r || result.places == 4711);
	return r;
}

static int read_brought(const char *from, const struct copy_settings *copy, struct err_text *err)
{
	struct brought brought;
	struct brought_file file;
	int r = brought_open(&brought, from, err);

	brought.progress = copy->progress;
	brought.context = copy->context;
	while (!r && (r = brought_next(&brought, &file, err)) == 1) {
		assert_int_equal(file.size, 12);
		assert_int_equal(file.build_id_length, 11);
		assert_memory_equal(file.build_id, "a file's id", 11);
		r = brought_read(&brought, copy->fd, err);
	}
	brought_close(&brought);
	return r;
}

typedef int rewrite_function(const char *from, const struct copy_settings *copy,
			     struct err_text *err);
static rewrite_function *const rewrites[] = {strip_file, anonymise_file, name_file, read_brought};
#define REWRITES (sizeof(rewrites) / sizeof(rewrites[0]))

static unsigned descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* The sentence: `before`, the path, `after`. */
static void check_error(const struct err_text *err, const char *before, const char *file,
			const char *after)
{
	char expected[256];

	snprintf(expected, sizeof(expected), "%s%s%s", before, file, after);
	assert_string_equal(err->text, expected);
}

static void no_recording(void **state)
{
	char empty[128], garbage[128];
	unsigned before = descriptors();

	(void)state;
	make_file("empty", 0);
	make_file("garbage", 5000);
	snprintf(empty, sizeof(empty), "%s/empty", temporary_folder);
	snprintf(garbage, sizeof(garbage), "%s/garbage", temporary_folder);
	for (size_t i = 0; i < REWRITES; i++) {
		const struct copy_settings s = {.fd = -1};
		struct err_text err = {0};

		assert_int_equal(rewrites[i]("/nowhere", &s, &err), -ENOENT);
		check_error(&err, "cannot open ", "/nowhere", ": No such file or directory");
		assert_int_equal(rewrites[i]("/dev/null", &s, &err), -EBADMSG);
		check_error(&err, "", "/dev/null", " is not a recording: it is no regular file");
		if (rewrites[i] == read_brought) { /* nothing is no mistake here */
			assert_int_equal(read_brought(empty, &s, NULL), 0);
			assert_int_equal(read_brought(garbage, &s, NULL), 0);
			continue;
		}
		assert_int_equal(rewrites[i](empty, &s, &err), -EBADMSG);
		check_error(&err, "", empty, " is not a recording");
		assert_int_equal(rewrites[i](garbage, &s, &err), -EBADMSG);
		check_error(&err, "", garbage, " is not a recording");
	}
	assert_int_equal(descriptors(), before);
}

static void no_room(void **state)
{
	struct copy_settings s = {.fd = open("/dev/full", O_WRONLY | O_CLOEXEC), .name = "OUT"};
	unsigned before = descriptors();

	(void)state;
	if (s.fd < 0)
		skip();
	for (size_t i = 0; i < REWRITES; i++) {
		struct err_text err = {0};

		assert_int_equal(rewrites[i](path, &s, &err), -ENOSPC);
		assert_string_equal(err.text, rewrites[i] == read_brought
						      ? "writing: No space left on device"
						      : "writing OUT: No space left on device");
	}
	assert_int_equal(descriptors(), before);
	close(s.fd);
}

/* How far a rewrite has come is told; whoever is told may end it. */
struct told {
	unsigned calls, until;
	uint64_t last, all;
};

static int tell(void *context, uint64_t done, uint64_t of)
{
	struct told *t = context;

	t->calls++;
	t->last = done;
	t->all = of;
	return t->calls == t->until;
}

static void progress(void **state)
{
	(void)state;
	for (size_t i = 0; i < REWRITES; i++) {
		for (unsigned until = 0; until < 2; until++) {
			struct told told = {.until = until};
			struct copy_settings s = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC),
						  .progress = tell,
						  .context = &told};

			assert_int_equal(rewrites[i](path, &s, NULL), until ? -ECANCELED : 0);
			/* It is short: only its end is told, by the first reader of two, too. */
			assert_int_equal(told.calls, i || until ? 1 : 2);
			assert_int_equal(told.last, b.file.length);
			assert_int_equal(told.all, b.file.length);
			close(s.fd);
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stripped), cmocka_unit_test(anonymised),
		cmocka_unit_test(named),    cmocka_unit_test(no_recording),
		cmocka_unit_test(no_room),  cmocka_unit_test(progress),
	};

	dump_update = argc == 2 && !strcmp(argv[1], "--update");
	return cmocka_run_group_tests(tests, begin, end);
}
