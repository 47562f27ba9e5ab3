/*
 * The folder of keys as others may have left it: whose it is, what lies in there, how many, under
 * which names; where it is; and what the files hold, to the byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/secure/pairs_folder.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define HEX32 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static char folder[128], path[300];
static struct err_text err, remark;
static unsigned descriptors;
static int input;

static int setup(void **state)
{
	int r = temporary_setup(state);

	snprintf(folder, sizeof(folder), "%s/keys", temporary_folder);
	input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 20);
	close(STDIN_FILENO); /* what is opened next is 0, and that is a descriptor, too */
	descriptors = descriptors_open();
	err = remark = (struct err_text){{0}};
	return r;
}

static int teardown(void **state)
{
	assert_int_equal(descriptors_open(), descriptors);
	dup2(input, STDIN_FILENO);
	close(input);
	return temporary_teardown(state);
}

static const char *in_folder(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void put_file(const char *name, const char *text)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Its text, "" if there is none. */
static const char *text_of(const char *name)
{
	static char text[2000];
	int fd = open(in_folder(name), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static int keep_one(const char *wanted, struct pair_name *ret)
{
	static uint8_t key[PAIR_KEY_SIZE];
	struct pair_draft draft;
	int r = pair_draft_open(&draft, folder, 1000, key, "peer", &err);

	key[0]++;
	if (r < 0)
		return r;
	r = pair_draft_keep(&draft, wanted, ret, &err);
	pair_draft_close(&draft);
	return r;
}

static void expect(const char *text, const char *format, const char *what)
{
	char expected[600];
	const char *at = strstr(format, "%s");

	snprintf(expected, sizeof(expected), "%.*s%s%s", (int)(at - format), format, what, at + 2);
	assert_string_equal(text, expected);
}

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

/* ---- what is there ---- */

static void more_than_are_used(void **state)
{
	struct pair_name name;
	struct pairs p;

	(void)state;
	keep_one("c", &name);
	keep_one("a", &name);
	assert_int_equal(pairs_open(&p, folder, 2, &remark, &err), 0);
	assert_int_equal(p.count, 2);
	assert_string_equal(p.name[0].text, "a");
	assert_string_equal(p.name[1].text, "c");
	assert_string_equal(remark.text, "");
	keep_one("b", &name);
	p.recent = true;
	pairs_look(&p, &remark);
	expect(remark.text, "there are 3 keys in %s, of which 2 are used", folder);
	assert_int_equal(p.count, 2);
	pairs_done(&p);
	assert_null(p.secret);
	assert_int_equal(pairs_count(-1), -EBADF);
}

static void bad_keys_are_skipped(void **state)
{
	struct pair_name name;
	struct pairs p;

	(void)state;
	keep_one("b", &name);
	put_file("a.key", "nonsense\n");
	assert_int_equal(pairs_open(&p, folder, 4, &remark, &err), 0);
	assert_int_equal(p.count, 1);
	assert_string_equal(p.name[0].text, "b");
	assert_memory_equal(remark.text, "a key is skipped: ", 18);
	assert_non_null(strstr(remark.text, "/keys/a.key line 1: a key is "));
	/* The same name and another key, and the other way round. */
	put_file("a.key", "pair:" HEX32 "\n");
	p.recent = true;
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_int_equal(p.count, 2);
	put_file("a.key", "pair:ff" HEX32 "\n");
	p.recent = true;
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_int_equal(p.secret[0].key[0], 0xff);
	assert_int_equal(
		rename(in_folder("a.key"), strcat(strcpy((char[200]){0}, folder), "/A.key")), 0);
	p.recent = true;
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_string_equal(p.name[0].text, "A");
	p.recent = true;
	assert_int_equal(pairs_look(&p, &remark), 0);
	pairs_done(&p);
}

/* What has not changed for two seconds is not read again. */
static void old_folders_are_not_read(void **state)
{
	const struct timespec old[2] = {{1000, 5}, {1000, 5}}, other[2] = {{1000, 6}, {1000, 6}};
	struct timespec near[2];
	struct pair_name name;
	struct pairs p;

	(void)state;
	keep_one("a", &name);
	assert_int_equal(utimensat(AT_FDCWD, folder, old, 0), 0);
	assert_int_equal(pairs_open(&p, folder, 4, &remark, &err), 0);
	assert_false(p.recent);
	assert_int_equal(p.changed.tv_sec, 1000);
	put_file("a.key", "pair:" HEX32 "\n"); /* the folder does not change by that */
	assert_int_equal(pairs_look(&p, &remark), 0);
	assert_int_equal(utimensat(AT_FDCWD, folder, other, 0), 0);
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_int_equal(p.changed.tv_nsec, 6);
	assert_false(p.recent);
	clock_gettime(CLOCK_REALTIME, &near[0]);
	near[0].tv_sec--;
	near[1] = near[0];
	assert_int_equal(utimensat(AT_FDCWD, folder, near, 0), 0);
	assert_int_equal(pairs_look(&p, &remark), 0);
	assert_true(p.recent);
	put_file("a.key", "pair:ff" HEX32 "\n");
	assert_int_equal(pairs_look(&p, &remark), 1);
	near[0].tv_sec -= 3;
	near[1] = near[0];
	assert_int_equal(utimensat(AT_FDCWD, folder, near, 0), 0);
	assert_int_equal(pairs_look(&p, &remark), 0);
	assert_false(p.recent);
	/* It goes, and all keys with it. */
	assert_int_equal(unlink(in_folder("a.key")), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_int_equal(p.count, 0);
	assert_string_equal(remark.text, "");
	pairs_done(&p);
	assert_int_equal(pairs_open(&p, "", 4, &remark, &err), 0);
	assert_int_equal(pairs_look(&p, &remark), 0);
	pairs_done(&p);
}

/* While there are no descriptors, the keys stay as they are. */
static void no_descriptors_change_nothing(void **state)
{
	struct rlimit usual, few;
	struct pair_name name;
	struct pairs p, q;
	struct secret s;

	(void)state;
	keep_one("a", &name);
	assert_int_equal(pairs_open(&p, folder, 4, &remark, &err), 0);
	keep_one("b", &name);
	getrlimit(RLIMIT_NOFILE, &usual);
	for (unsigned free = 0; free < 2; free++) {
		few = (struct rlimit){0, usual.rlim_max};
		for (few.rlim_cur = 0; fcntl((int)few.rlim_cur, F_GETFD) >= 0;)
			few.rlim_cur++;
		few.rlim_cur += free;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		p.recent = true;
		assert_int_equal(pairs_look(&p, &remark), 0);
		assert_int_equal(p.count, 1);
		assert_int_equal(pairs_open(&q, folder, 4, &remark, &err), -EMFILE);
		assert_int_equal(pairs_installation(folder, true, &s, &err), -EMFILE);
		pairs_done(&q);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	}
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_int_equal(p.count, 2);
	pairs_done(&p);
}

static void facts_are_read(void **state)
{
	struct pair_facts facts;
	char far[1000];

	(void)state;
	assert_int_equal(pairs_check(folder, 1, &err), 0);
	assert_int_equal(pair_facts(folder, "none", &facts), -ENOENT);
	assert_int_equal(pair_facts(folder, "a/b", &facts), -ENOENT);
	assert_int_equal(pair_facts(folder, "", &facts), -ENOENT);
	assert_int_equal(pair_facts("/none", "a", &facts), -ENOENT);
	put_file("a.key", "pair:" HEX32 "\n");
	assert_int_equal(pair_facts(folder, "a", &facts), 0);
	assert_string_equal(facts.peer, "");
	assert_string_equal(facts.when, "");
	assert_true(facts.seen > 1000000000);
	put_file("a.key", "# since: now\x1b\n# with: you");
	assert_int_equal(pair_facts(folder, "a", &facts), 0);
	assert_string_equal(facts.peer, "you");
	assert_string_equal(facts.when, "now?");
	/* Facts are within 512 bytes. */
	memset(far, '#', sizeof(far));
	memcpy(far + 512 - 9, "# with: xy\n", 12);
	put_file("a.key", far);
	assert_int_equal(pair_facts(folder, "a", &facts), 0);
	assert_string_equal(facts.peer, "x");
	pair_seen(folder, "none");
	pair_seen(folder, "../keys/a");
}

static void what_cannot_go_is_told(void **state)
{
	char long_name[PAIR_NAME_MAX + 1];

	(void)state;
	assert_int_equal(pairs_check(folder, 1, &err), 0);
	assert_int_equal(mkdir(in_folder("a.key"), 0700), 0);
	assert_int_equal(pair_remove(folder, "a", &err), -EISDIR);
	expect(err.text, "cannot remove %s/a.key: Is a directory", folder);
	memset(long_name, 'x', PAIR_NAME_MAX);
	long_name[PAIR_NAME_MAX] = '\0';
	assert_int_equal(pair_remove(folder, long_name, NULL), -ENOENT);
	long_name[PAIR_NAME_MAX - 1] = '\0';
	put_file(strcat(strcpy((char[80]){0}, long_name), ".key"), "");
	assert_int_equal(pair_remove(folder, long_name, NULL), 0);
	assert_int_equal(pair_remove(folder, ".hidden", NULL), -ENOENT);
}

/* ---- whose it is ---- */

static void folders_of_others_are_refused(void **state)
{
	struct pairs p;
	char link[200];
	struct secret s;

	(void)state;
	assert_int_equal(pairs_check(folder, 1, &err), 0);
	for (unsigned bit = 0; bit < 9; bit++) {
		mode_t mode = 0700 | 1u << bit;
		bool bad = mode & 022;

		assert_int_equal(chmod(folder, mode), 0);
		err.text[0] = '\0';
		assert_int_equal(pairs_open(&p, folder, 4, &remark, &err), bad ? -EPERM : 0);
		if (bad) {
			char expected[400];

			snprintf(expected, sizeof(expected),
				 "others may write to the folder of keys %s (mode %04o): chmod 700 "
				 "it, and pair anew if they may have",
				 folder, mode);
			assert_string_equal(err.text, expected);
		}
		pairs_done(&p);
	}
	assert_int_equal(chmod(folder, 0700), 0);
	snprintf(link, sizeof(link), "%s/link", temporary_folder);
	assert_int_equal(symlink(folder, link), 0);
	assert_int_equal(pairs_open(&p, link, 4, &remark, &err), -ENOTDIR);
	expect(err.text, "cannot open the folder of keys %s: Not a directory", link);
	pairs_done(&p);
	assert_int_equal(symlink("/dev/null", in_folder("installation")), 0);
	assert_int_equal(pairs_installation(folder, true, &s, &err), -ELOOP);
	assert_int_equal(pairs_installation(folder, false, &s, &err), -ELOOP);
	if (geteuid())
		return;
	assert_int_equal(chown(folder, 12345, 12345), 0);
	assert_int_equal(pairs_open(&p, folder, 4, &remark, &err), -EPERM);
	expect(err.text, "the folder of keys %s (mode 0700) belongs to another user", folder);
	assert_int_equal(chmod(temporary_folder, 0755), 0);
	assert_int_equal(seteuid(12345), 0);
	assert_int_equal(pairs_open(&p, folder, 4, &remark, &err), 0);
	pairs_done(&p);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(chown(folder, 0, 0), 0); /* root's is anybody's who can read it */
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(seteuid(12345), 0);
	assert_int_equal(pairs_open(&p, folder, 4, &remark, &err), 0);
	pairs_done(&p);
	assert_int_equal(seteuid(0), 0);
}

static void expect_place(const char *config, const char *home, const char *expected)
{
	char place[PATH_MAX];

	if (config)
		setenv("XDG_CONFIG_HOME", config, 1);
	else
		unsetenv("XDG_CONFIG_HOME");
	if (home)
		setenv("HOME", home, 1);
	else
		unsetenv("HOME");
	assert_int_equal(pairs_place(NULL, "keys", place), 0);
	assert_string_equal(place, expected);
}

static void places_are_found(void **state)
{
	struct passwd *nobody;
	char place[PATH_MAX], at_home[PATH_MAX], usual[PATH_MAX] = "";

	(void)state;
	assert_int_equal(pairs_place("x/y", "keys", place), 0);
	assert_string_equal(place, "x/y");
	if (geteuid())
		skip();
	expect_place("/config", "/root", "/etc/heapcast/keys");
	nobody = getpwnam("nobody");
	if (!nobody)
		skip();
	if (*nobody->pw_dir == '/')
		snprintf(usual, sizeof(usual), "%s/.config/heapcast/keys", nobody->pw_dir);
	assert_int_equal(chown(temporary_folder, nobody->pw_uid, (gid_t)-1), 0);
	snprintf(at_home, sizeof(at_home), "%s/.config/heapcast/keys", temporary_folder);
	assert_int_equal(seteuid(nobody->pw_uid), 0);
	expect_place("/config", temporary_folder, "/config/heapcast/keys");
	expect_place("config", temporary_folder, at_home);
	expect_place("", temporary_folder, at_home);
	expect_place(NULL, temporary_folder, at_home);
	expect_place(NULL, "/", usual); /* another's, as su leaves it */
	expect_place(NULL, "/none/such", usual);
	expect_place(NULL, ".", usual);
	expect_place(NULL, NULL, usual);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(seteuid(12345), 0);
	if (!getpwuid(12345))
		expect_place(NULL, NULL, "");
	assert_int_equal(seteuid(0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_exact),
		TEST(folders_are_made),
		TEST(long_paths_are_refused),
		TEST(names_of_files),
		TEST(names_are_numbered),
		TEST(every_character_is_cleaned),
		TEST(more_than_are_used),
		TEST(bad_keys_are_skipped),
		TEST(old_folders_are_not_read),
		TEST(no_descriptors_change_nothing),
		TEST(facts_are_read),
		TEST(what_cannot_go_is_told),
		TEST(folders_of_others_are_refused),
		TEST(places_are_found),
	};
	struct secret s;

	if (secret_make("0123456789abcdef", 16, "x", &s) == -ENOTSUP) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
