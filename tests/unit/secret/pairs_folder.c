/*
 * The folder of keys as it is written: what the files hold, to the byte, which folders are made,
 * and under which names keys are kept.
 */
#include "tests/unit/secret/pairs_scene.h"

/* ---- what is written ---- */

static void files_are_exact(void **state)
{
	uint8_t key[PAIR_KEY_SIZE];
	char expected[300], when[40];
	struct pair_draft draft;
	struct pair_facts facts;
	struct pair_name name;
	struct secret secret;
	struct stat st;
	time_t now;
	size_t hex;

	(void)state;
	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	umask(0);
	assert_int_equal(pair_draft_open(&draft, folder, 1, key, "a\tpeer", &err), 0);
	umask(022);
	assert_string_equal(err.text, "");
	assert_int_equal(draft.folder, STDIN_FILENO);
	assert_int_equal(strlen(draft.temporary), 21);
	assert_memory_equal(draft.temporary, ".new-", 5);
	assert_int_equal(strspn(draft.temporary + 5, "0123456789abcdef"), 16);
	assert_int_equal(stat(in_folder(draft.temporary), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_mtime, 0);
	assert_int_equal(st.st_nlink, 1);
	now = time(NULL);
	assert_int_equal(pair_draft_keep(&draft, "board", &name, &err), 0);
	assert_string_equal(draft.temporary, "");
	pair_draft_close(&draft);
	pair_draft_close(&draft);
	assert_int_equal(stat(in_folder("board.key"), &st), 0);
	assert_int_equal(st.st_nlink, 1); /* its first name is gone */
	assert_int_equal(pair_facts(folder, "board", &facts), 0);
	assert_string_equal(facts.peer, "a peer");
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	if (strcmp(facts.when, when)) { /* a second has passed */
		now--;
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	}
	snprintf(expected, sizeof(expected), "# with: a peer\n# since: %s\npair:" HEX32 "\n", when);
	assert_string_equal(text_of("board.key"), expected);
	assert_int_equal(pairs_installation(folder, true, &secret, &err), 0);
	assert_memory_equal(text_of("installation"), "installation:", 13);
	hex = strspn(text_of("installation") + 13, "0123456789abcdef");
	assert_int_equal(hex, 2 * PAIR_KEY_SIZE);
	assert_string_equal(text_of("installation") + 13 + hex, "\n");
	assert_int_equal(secret.key_length, PAIR_KEY_SIZE);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void folders_are_made(void **state)
{
	char deep[200], file[200];
	struct stat st;

	(void)state;
	snprintf(deep, sizeof(deep), "%s/a//b/c", temporary_folder);
	assert_int_equal(pairs_check(deep, 1, &err), 0);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	snprintf(deep, sizeof(deep), "%s/a/b", temporary_folder);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	snprintf(deep, sizeof(deep), "%s/a/b/c", temporary_folder);
	assert_int_equal(rmdir(deep), 0); /* it is empty: nothing was left in there */
	snprintf(file, sizeof(file), "%s/file", temporary_folder);
	close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(pairs_check(file, 1, &err), -ENOTDIR);
	expect(err.text, "cannot open the folder of keys %s: Not a directory", file);
	err.text[0] = '\0';
	snprintf(deep, sizeof(deep), "%s/file/keys", temporary_folder);
	assert_int_equal(pairs_check(deep, 1, &err), -ENOTDIR);
	expect(err.text, "cannot make the folder of keys %s: Not a directory", deep);
	assert_int_equal(pairs_check(deep, 1, NULL), -ENOTDIR);
	err.text[0] = '\0';
	snprintf(deep, sizeof(deep), "%s/file/more/keys", temporary_folder);
	assert_int_equal(pairs_check(deep, 1, &err), -ENOTDIR);
	assert_int_equal(pairs_check("", 1, &err), -EINVAL);
	assert_string_equal(err.text,
			    "there is no folder for keys: neither XDG_CONFIG_HOME nor HOME "
			    "is set, or none is wanted");
	err.text[0] = '\0';
	assert_int_equal(pairs_check(folder, 0, &err), -ENOSPC);
	expect(err.text, "there are 0 pairs already in %s: remove some that are not used any more",
	       folder);
}

static void long_paths_are_refused(void **state)
{
	static char whole[PATH_MAX + 1], place[PATH_MAX];
	struct pairs p;

	(void)state;
	memset(whole, 'x', PATH_MAX);
	whole[0] = '/';
	err.text[0] = '\0';
	assert_int_equal(pairs_check(whole, 1, &err), -ENAMETOOLONG);
	assert_memory_equal(err.text, "cannot make the folder of keys /xxx", 35);
	assert_int_equal(pairs_open(&p, whole, 1, &remark, &err), -ENAMETOOLONG);
	assert_int_equal(pairs_place(whole, "keys", place), -ENAMETOOLONG);
	whole[PATH_MAX - 1] = '\0';
	assert_int_equal(pairs_place(whole, "keys", place), 0);
	assert_string_equal(place, whole);
	assert_int_equal(pairs_open(&p, whole, 1, &remark, &err), -ENAMETOOLONG);
	assert_memory_equal(err.text, "cannot open the folder of keys /xxx", 35);
	pairs_done(&p);
}

/* ---- names ---- */

static void names_of_files(void **state)
{
	static const struct {
		const char *file, *name;
	} files[] = {
		{"a.key", "a"},
		{"a.key.key", "a.key"},
		{".key", NULL},
		{".a.key", NULL},
		{"a.kex", NULL},
		{"key", NULL},
		{"akey", NULL},
		{"", NULL},
		{"a.key ", NULL},
		{"-.key", "-"},
		{"a2345678901234567890123456789012345678901234567.key",
		 "a2345678901234567890123456789012345678901234567"},
		{"a23456789012345678901234567890123456789012345678.key", NULL},
	};
	char file[PAIRS_FILE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct pair_name name = {"untouched"};

		assert_int_equal(pairs_is_key(files[i].file, &name), files[i].name != NULL);
		assert_string_equal(name.text, files[i].name ? files[i].name : "untouched");
		if (!files[i].name)
			continue;
		pairs_file(name.text, file);
		assert_string_equal(file, files[i].file);
	}
}

static void names_are_numbered(void **state)
{
	struct pair_name name;

	(void)state;
	assert_int_equal(keep_one("x", &name), 0);
	assert_string_equal(name.text, "x");
	for (unsigned i = 2; i <= 98; i++) {
		char expected[16];

		snprintf(expected, sizeof(expected), "x-%u", i);
		assert_int_equal(keep_one("x", &name), 0);
		assert_string_equal(name.text, expected);
	}
	assert_int_equal(keep_one("x", &name), -EEXIST);
	expect(err.text, "cannot keep the key as %s/x-98.key: File exists", folder);
	assert_string_equal(name.text, "x-98");
	assert_int_equal(keep_one("y", &name), 0);
}

static void every_character_is_cleaned(void **state)
{
	(void)state;
	for (unsigned c = 1; c < 256; c++) {
		const char wanted[] = {'a', (char)c, 'b', '\0'};
		const char *plain =
			"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
		char expected[] = {'a', '-', 'b', '\0'};
		struct pair_name name;

		if (strchr(plain, (int)c) || strchr("._-", (int)c))
			expected[1] = (char)c;
		assert_int_equal(keep_one(wanted, &name), 0);
		assert_memory_equal(name.text, expected, 3);
		assert_int_equal(pair_remove(folder, name.text, NULL), 0);
		assert_int_equal(keep_one(wanted + 1, &name), 0);
		assert_string_equal(name.text, strchr(plain, (int)c) ? wanted + 1 : "b");
		assert_int_equal(pair_remove(folder, name.text, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_exact), TEST(folders_are_made),	 TEST(long_paths_are_refused),
		TEST(names_of_files),  TEST(names_are_numbered), TEST(every_character_is_cleaned),
	};
	struct secret s;

	if (secret_make("0123456789abcdef", 16, "x", &s) == -ENOTSUP) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
