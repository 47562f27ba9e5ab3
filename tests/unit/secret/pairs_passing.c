/* Where the system fails: for which errors of opening keys stay, and for which they go; and how a
 * key gets its name where there are no hard links. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/secure/pairs.h"
#include "tests/unit/temporary.h"
#include "tests/unit/without_keys.h"

static int link_error; /* of each linkat from now on */

/* The library's. */
int linkat(int from, const char *old, int to, const char *new, int flags)
{
	if (!link_error)
		return (int)syscall(SYS_linkat, from, old, to, new, flags);
	errno = link_error;
	return -1;
}

static char folder[128];

static int setup(void **state)
{
	int r = temporary_setup(state);

	snprintf(folder, sizeof(folder), "%s/keys", temporary_folder);
	return r;
}

static int keep(const char *wanted, struct pair_name *ret)
{
	static uint8_t key[PAIR_KEY_SIZE];
	struct err_text err = {{0}};
	struct pair_draft draft;
	int r;

	key[0]++;
	assert_int_equal(pair_draft_open(&draft, folder, 40, key, "a peer", &err), 0);
	r = pair_draft_keep(&draft, wanted, ret, &err);
	pair_draft_close(&draft);
	return r;
}

static bool is_there(const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s.key", folder, name);
	return access(path, F_OK) == 0;
}

enum { KEPT = 10, GONE, UNFILTERED, OTHER };

/* From here on, the kernel answers every opening with this error. */
static int opening_fails(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
#ifdef SYS_open
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 1),
#else
		BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
#endif
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

/* In a process of its own: a filter stays. */
static int look(struct pairs *p, int error)
{
	struct err_text remark = {{0}};
	int status, changed;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (opening_fails(error) < 0)
			_exit(UNFILTERED);
		p->recent = true;
		changed = pairs_look(p, &remark);
		if (!changed && p->count == 1)
			_exit(*remark.text ? KEPT : OTHER);
		_exit(changed == 1 && p->count == 0 ? GONE : OTHER);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == UNFILTERED) {
		puts("SKIPPED: this system filters no system calls");
		skip();
	}
	return WEXITSTATUS(status);
}

static void keys_stay_while_an_error_passes(void **state)
{
	static const int pass[] = {EIO, EMFILE, ENFILE, ENOMEM, ESTALE, ETIMEDOUT, EINTR};
	static const int end[] = {ENOTDIR, ELOOP, EACCES, EPERM};
	struct err_text err = {{0}}, remark = {{0}};
	struct pair_name name;
	struct pairs p;

	(void)state;
	skip_without_keys();
	assert_int_equal(keep("a", &name), 0);
	assert_int_equal(pairs_open(&p, folder, 4, &remark, &err), 0);
	assert_int_equal(p.count, 1);
	for (size_t i = 0; i < sizeof(pass) / sizeof(*pass); i++)
		assert_int_equal(look(&p, pass[i]), KEPT);
	for (size_t i = 0; i < sizeof(end) / sizeof(*end); i++)
		assert_int_equal(look(&p, end[i]), GONE);
	pairs_done(&p);
}

/* A file system that has no hard links, or another reason why there is none. */
static void names_without_links(void **state)
{
	static const struct {
		int error;
		bool kept;
	} cases[] = {{EPERM, true},   {EOPNOTSUPP, true}, {ENOSYS, true}, {EEXIST, false},
		     {ENOSPC, false}, {EMLINK, false},	  {EIO, false},	  {ENOENT, false}};
	struct pair_name name;

	(void)state;
	assert_int_equal(keep("there", &name), 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		link_error = cases[i].error;
		assert_int_equal(keep("new", &name), cases[i].kept ? 0 : -cases[i].error);
		assert_int_equal(is_there("new"), cases[i].kept);
		assert_true(is_there("there"));
		if (!cases[i].kept)
			continue;
		assert_int_equal(keep("there", &name), 0); /* none is replaced */
		assert_string_equal(name.text, "there-2");
		assert_int_equal(pair_remove(folder, "there-2", NULL), 0);
		assert_int_equal(pair_remove(folder, "new", NULL), 0);
	}
	link_error = 0;
}

/* As many keys as are used at most: as long as they stay, nothing is new. */
static void as_many_as_are_used(void **state)
{
	struct err_text err = {{0}}, remark = {{0}};
	struct pair_name name;
	struct pairs p;

	(void)state;
	skip_without_keys();
	for (size_t count = 1; count <= 9; count++) {
		assert_int_equal(keep("a", &name), 0);
		assert_int_equal(pairs_open(&p, folder, count, &remark, &err), 0);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(p.count, count);
			p.recent = true;
			assert_int_equal(pairs_look(&p, &remark), 0);
		}
		assert_string_equal(remark.text, "");
		pairs_done(&p);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, temporary_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(keys_stay_while_an_error_passes),
		TEST(names_without_links),
		TEST(as_many_as_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
