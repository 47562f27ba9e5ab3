/*
 * The folder of keys as others may have left it: what lies in there, how many, whose it is; and
 * where it is.
 */
#include "tests/unit/secret/pairs_scene.h"

#include <pwd.h>
#include <sys/resource.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
