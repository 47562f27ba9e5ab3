/* Codes as text, and the folder of keys: what is taken, what is refused, what others may name. */
#include "base/secure/pairs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/secure/pair_code.h"
#include "tests/unit/left_behind.h"
#include "tests/unit/temporary.h"

static char folder[128];

static unsigned files_in(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static const char *keys_folder(void)
{
	snprintf(folder, sizeof(folder), "%s/a/b/keys", temporary_folder);
	return folder;
}

/* ---- codes ---- */

static int secret_of(const char *text, struct secret *s, struct err_text *err)
{
	return pair_code_secret(text, strlen(text), s, err);
}

static void codes_are_read_back(void **state)
{
	char code[PAIR_CODE_LETTERS + 1], other[PAIR_CODE_LETTERS + 1], spaced[80];
	struct secret first, again, second;
	size_t n = 0;

	(void)state;
	assert_int_equal(pair_code_make(code), 0);
	assert_int_equal(pair_code_make(other), 0);
	assert_int_equal(strlen(code), 26);
	assert_int_equal(strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), 26);
	assert_int_equal(secret_of(code, &first, NULL), 0);
	assert_int_equal(secret_of(other, &second, NULL), 0);
	for (size_t i = 0; i < 26; i++) {
		char c = code[i];

		spaced[n++] = c >= 'A' ? (char)(c + 'a' - 'A') : c;
		if (i % 5 == 4)
			spaced[n++] = i % 2 ? '-' : ' ';
	}
	spaced[n] = '\0';
	assert_int_equal(secret_of(spaced, &again, NULL), 0);
	assert_memory_equal(&first, &again, sizeof(first));
	assert_memory_not_equal(first.id, second.id, SECRET_ID_SIZE);
	assert_memory_not_equal(first.key, second.key, first.key_length);
}

/* Of RFC 4648's letters: all bits of each one count. */
static void each_letter_counts(void **state)
{
	char code[] = "ABCDEFGHIJKLMNOPQRSTUVWXYA";
	struct secret first, changed;

	(void)state;
	assert_int_equal(secret_of(code, &first, NULL), 0);
	for (size_t i = 0; i < 26; i++) {
		char before = code[i];

		code[i] = i == 25 ? '4' : '7'; /* the last one has three bits */
		assert_int_equal(secret_of(code, &changed, NULL), 0);
		assert_memory_not_equal(first.id, changed.id, SECRET_ID_SIZE);
		code[i] = before;
	}
}

static void nonsense_is_refused(void **state)
{
	static const struct {
		const char *text, *because;
	} texts[] = {
		{"", "it has 0 letters"},
		{"ABC", "it has 3 letters"},
		{"ABCDEFGHIJKLMNOPQRSTUVWXY", "it has 25 letters"},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZA", "it has 27 letters"},
		{"ABCDEFGHIJKLMNOPQRSTUVWXY1", "something else than letters"}, /* no 1 in base32 */
		{"ABCDEFGHIJKLMNOPQRSTUVWXYB", "last letter is wrong"}, /* bits behind the 128th */
		{"ABCDEFGHIJKLMNOPQRSTUVWXY\xc3\xa4", "something else than letters"},
	};
	struct secret s;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err_text err = {{0}};

		assert_int_equal(secret_of(texts[i].text, &s, &err), -EINVAL);
		assert_non_null(strstr(err.text, "no code"));
		assert_non_null(strstr(err.text, texts[i].because));
		if (strlen(texts[i].text) > 3) /* it may be a code but for a typo */
			assert_null(strstr(err.text, texts[i].text));
	}
	assert_int_equal(pair_code_secret("ABCDEFGHIJKLMNOPQRSTUVWXY\0", 26, &s, NULL), -EINVAL);
}

static void make_secret_of(void *context)
{
	static struct secret s;

	pair_code_secret(context, PAIR_CODE_LETTERS, &s, NULL);
}

/* Of a code neither its bits nor the key made of it, also if it is wrong by one letter. */
static void codes_leave_nothing_behind(void **state)
{
	static char code[] = "ABCDEFGHIJKLMNOPQRSTUVWXYA", wrong[] = "ABCDEFGHIJKLMNOPQRSTUVWXYB";
	/* From Python: base64.b32decode("ABCDEFGHIJKLMNOPQRSTUVWXYA======"). */
	static const uint8_t bits[] = {0x00, 0x44, 0x32, 0x14, 0xc7, 0x42, 0x54, 0xb6,
				       0x35, 0xcf, 0x84, 0x65, 0x3a, 0x56, 0xd7, 0xc6};
	struct secret s;

	(void)state;
	assert_int_equal(secret_of(code, &s, NULL), 0);
	assert_false(left_behind(make_secret_of, code, bits, sizeof(bits) - 1));
	assert_false(left_behind(make_secret_of, code, s.key, 16));
	assert_false(left_behind(make_secret_of, wrong, bits, sizeof(bits) - 1));
}

/* ---- the folder ---- */

static void keep(uint8_t filler, const char *wanted, const char *peer, const char *expected)
{
	uint8_t key[PAIR_KEY_SIZE];
	struct err_text err = {{0}};
	struct pair_draft draft;
	int fd;
	struct pair_name name;

	memset(key, filler, sizeof(key));
	if (pair_draft_open(&draft, keys_folder(), PAIRS_AGENT, key, peer, &err) < 0 ||
	    pair_draft_keep(&draft, wanted, &name, &err) < 0)
		fail_msg("%s", err.text);
	fd = draft.folder;
	pair_draft_close(&draft);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(draft.folder, -1); /* closing it again closes nothing else */
	assert_string_equal(name.text, expected);
}

static int open_pairs(struct pairs *p, struct err_text *remark)
{
	*remark = (struct err_text){{0}};
	return pairs_open(p, keys_folder(), PAIRS_AGENT, remark, NULL);
}

static void no_folder_is_no_key(void **state)
{
	struct err_text remark;
	struct pairs p;

	(void)state;
	assert_int_equal(open_pairs(&p, &remark), 0);
	assert_int_equal(p.count, 0);
	assert_false(p.begun);
	pairs_done(&p);
}

static void keys_are_kept(void **state)
{
	struct err_text remark;
	struct pair_facts facts;
	struct secret expected;
	uint8_t key[PAIR_KEY_SIZE];
	struct stat st;
	struct pairs p;
	char path[256];

	(void)state;
	keep(1, "board1", "board1 (10.0.0.7)", "board1");
	keep(2, "board1", "an\nother", "board1-2");
	assert_int_equal(open_pairs(&p, &remark), 0);
	assert_string_equal(remark.text, "");
	assert_int_equal(p.count, 2);
	assert_string_equal(p.name[0].text, "board1");
	assert_string_equal(p.name[1].text, "board1-2");
	memset(key, 1, sizeof(key));
	assert_int_equal(pair_secret(key, &expected), 0);
	assert_memory_equal(p.secret[0].id, expected.id, SECRET_ID_SIZE);
	assert_memory_equal(p.secret[0].key, key, sizeof(key));
	snprintf(path, sizeof(path), "%s/board1.key", folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(pair_facts(folder, "board1-2", &facts), 0);
	assert_string_equal(facts.peer, "an other");
	assert_int_equal(strlen(facts.when), 20);
	assert_int_equal(facts.seen, 0);
	pair_seen(folder, "board1-2");
	assert_int_equal(pair_facts(folder, "board1-2", &facts), 0);
	assert_true(facts.seen > 1000000000);
	pairs_done(&p);
}

/* Whatever a board says it is called, its key is a file in this folder, and can be named on a
 * command line. */
static void names_are_cleaned(void **state)
{
	(void)state;
	keep(1, "../../etc/passwd", "", "etc-passwd");
	keep(2, "--force", "", "force");
	keep(3, ".hidden", "", "hidden");
	keep(4, "", "", "unnamed");
	keep(5, "b\xc3\xb6rd\x1b[2J", "", "b--rd--2J");
	keep(6, "a-name-that-is-longer-than-any-file-of-ours-may-be-called", "",
	     "a-name-that-is-longer-than-any-file-of-ours");
	keep(7, "a-name-that-is-longer-than-any-file-of-ours-may-be-called", "",
	     "a-name-that-is-longer-than-any-file-of-ours-2");
}

/* A name is that of a file in the folder, and no way to one. */
static void names_are_no_paths(void **state)
{
	struct pair_facts facts;
	char path[200];

	(void)state;
	keep(1, "a", "", "a");
	snprintf(path, sizeof(path), "%s/sub", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(pair_facts(folder, "a", &facts), 0);
	assert_int_equal(pair_facts(folder, "sub/../a", &facts), -ENOENT);
	pair_seen(folder, "sub/../a");
	assert_int_equal(pair_remove(folder, "sub/../a", NULL), -ENOENT);
	assert_int_equal(pair_facts(folder, "a", &facts), 0);
	assert_int_equal(facts.seen, 0);
	assert_int_equal(pair_remove(folder, "a", NULL), 0);
	assert_int_equal(pair_facts(folder, "a", &facts), -ENOENT);
}

static void drafts_are_nobodys(void **state)
{
	uint8_t key[PAIR_KEY_SIZE] = {9};
	struct err_text remark;
	struct pair_draft draft;
	struct pairs p;

	(void)state;
	keep(1, "board1", "", "board1");
	assert_int_equal(pair_draft_open(&draft, folder, PAIRS_AGENT, key, "x", NULL), 0);
	assert_int_equal(open_pairs(&p, &remark), 0);
	assert_int_equal(p.count, 1);
	pair_draft_close(&draft);
	pairs_done(&p);
	for (uint8_t i = 2; i <= PAIRS_AGENT; i++) {
		char name[8];

		snprintf(name, sizeof(name), "b%u", i);
		keep(i, name, "", name);
	}
	assert_int_equal(pair_draft_open(&draft, folder, PAIRS_AGENT, key, "x", &remark), -ENOSPC);
	assert_non_null(strstr(remark.text, "16 pairs already"));
}

/* A file that can't be written to its end is told of, and none is left. */
static void disks_are_full(void **state)
{
	static const uint8_t key[PAIR_KEY_SIZE] = {1};
	struct rlimit usual, few;
	struct pair_draft draft;
	struct err_text err = {{0}};
	unsigned before;

	(void)state;
	keep(1, "a", "", "a");
	before = files_in(keys_folder());
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &usual);
	few = (struct rlimit){40, usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	assert_int_equal(pair_draft_open(&draft, keys_folder(), 4, key, "", &err), -EFBIG);
	assert_int_equal(pairs_check(keys_folder(), 4, &err), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_non_null(strstr(err.text, strerror(EFBIG)));
	assert_int_equal(files_in(keys_folder()), before);
	assert_int_equal(pair_draft_open(&draft, keys_folder(), 4, key, "", &err), 0);
	pair_draft_close(&draft);
	assert_int_equal(files_in(keys_folder()), before);
}

static void changes_are_seen(void **state)
{
	struct err_text remark = {{0}};
	struct pairs p;

	(void)state;
	assert_int_equal(open_pairs(&p, &remark), 0);
	assert_int_equal(pairs_look(&p, &remark), 0);
	keep(1, "one", "", "one");
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_int_equal(p.count, 1);
	keep(2, "two", "", "two"); /* within the same tick of the clock, perhaps */
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_int_equal(p.count, 2);
	assert_int_equal(pairs_look(&p, &remark), 0);
	assert_int_equal(pair_remove(folder, "one", NULL), 0);
	assert_int_equal(pair_remove(folder, "one", NULL), -ENOENT);
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_int_equal(p.count, 1);
	assert_string_equal(p.name[0].text, "two");
	assert_int_equal(pair_remove(folder, "../keys/two", NULL), -ENOENT);
	assert_int_equal(pairs_look(&p, &remark), 0);
	assert_string_equal(remark.text, "");
	/* Others may write there: nothing there is believed any more. */
	assert_int_equal(chmod(folder, 0770), 0);
	p.recent = true;
	assert_int_equal(pairs_look(&p, &remark), 1);
	assert_int_equal(p.count, 0);
	assert_non_null(strstr(remark.text, "others may write"));
	pairs_done(&p);
}

static void put_file(const char *name, const char *text, mode_t mode)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void what_is_no_key_is_passed_over(void **state)
{
	char from[256], to[256];
	struct err_text remark;
	struct pairs p;

	(void)state;
	keep(1, "good", "", "good");
	put_file("readme", "not a key", 0644);
	assert_int_equal(open_pairs(&p, &remark), 0);
	assert_int_equal(p.count, 1);
	assert_string_equal(remark.text, "");
	pairs_done(&p);
	put_file("open.key", "pair:000102030405060708090a0b0c0d0e0f\n", 0644);
	assert_int_equal(open_pairs(&p, &remark), 0);
	assert_int_equal(p.count, 1);
	assert_non_null(strstr(remark.text, "can be used by others"));
	pairs_done(&p);
	snprintf(from, sizeof(from), "%s/good.key", folder);
	snprintf(to, sizeof(to), "%s/open.key", folder);
	assert_int_equal(unlink(to), 0);
	assert_int_equal(symlink(from, to), 0); /* never through a link */
	assert_int_equal(open_pairs(&p, &remark), 0);
	assert_int_equal(p.count, 1);
	assert_string_equal(p.name[0].text, "good");
	pairs_done(&p);
}

static void an_installation_stays(void **state)
{
	struct err_text remark;
	struct secret first, again;
	struct pairs p;

	(void)state;
	assert_int_equal(pairs_installation(keys_folder(), false, &first, NULL), -ENOENT);
	assert_int_equal(pairs_installation(folder, true, &first, NULL), 0);
	assert_int_equal(pairs_installation(folder, true, &again, NULL), 0);
	assert_memory_equal(&first, &again, sizeof(first));
	keep(1, "one", "", "one");
	assert_int_equal(open_pairs(&p, &remark), 0);
	assert_true(p.begun);
	assert_int_equal(p.count, 1);
	pairs_done(&p);
	assert_int_equal(pair_remove(folder, "one", NULL), 0);
	assert_int_equal(open_pairs(&p, &remark), 0);
	assert_true(p.begun);
	assert_int_equal(p.count, 0);
	pairs_done(&p);
}

/* Of a path that is too long by its end no folder is made. */
static void long_paths_make_nothing(void **state)
{
	static char path[PATH_MAX + 1];
	size_t at = (size_t)snprintf(path, sizeof(path), "%s/d", temporary_folder), first = at;
	struct err_text err;

	(void)state;
	for (; at < PATH_MAX; at++)
		path[at] = (at - first) % 128 ? 'd' : '/';
	assert_int_equal(pairs_check(path, 1, &err), -ENAMETOOLONG);
	path[first] = '\0';
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_are_read_back),
		cmocka_unit_test(each_letter_counts),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(codes_leave_nothing_behind),
		TEST_IN_FOLDER(no_folder_is_no_key),
		TEST_IN_FOLDER(keys_are_kept),
		TEST_IN_FOLDER(names_are_cleaned),
		TEST_IN_FOLDER(names_are_no_paths),
		TEST_IN_FOLDER(drafts_are_nobodys),
		TEST_IN_FOLDER(disks_are_full),
		TEST_IN_FOLDER(changes_are_seen),
		TEST_IN_FOLDER(what_is_no_key_is_passed_over),
		TEST_IN_FOLDER(an_installation_stays),
		TEST_IN_FOLDER(long_paths_make_nothing),
	};
	struct secret s;

	if (secret_make("0123456789abcdef", 16, "x", &s) == -ENOTSUP) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
