/* The folder of keys can't be opened: for which errors the keys stay, and for which they go. */
#include <errno.h>
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
	if (WEXITSTATUS(status) == UNFILTERED)
		skip();
	return WEXITSTATUS(status);
}

static void keys_stay_while_an_error_passes(void **state)
{
	static const int pass[] = {EIO, EMFILE, ENFILE, ENOMEM, ESTALE, ETIMEDOUT, EINTR};
	static const int end[] = {ENOTDIR, ELOOP, EACCES, EPERM};
	const uint8_t key[PAIR_KEY_SIZE] = {1};
	struct err_text err = {{0}}, remark = {{0}};
	struct pair_draft draft;
	struct pair_name name;
	struct pairs p;
	char folder[300];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/keys", temporary_folder);
	assert_int_equal(pair_draft_open(&draft, folder, 4, key, "a peer", &err), 0);
	assert_int_equal(pair_draft_keep(&draft, "a", &name, &err), 0);
	pair_draft_close(&draft);
	assert_int_equal(pairs_open(&p, folder, 4, &remark, &err), 0);
	assert_int_equal(p.count, 1);
	for (size_t i = 0; i < sizeof(pass) / sizeof(*pass); i++)
		assert_int_equal(look(&p, pass[i]), KEPT);
	for (size_t i = 0; i < sizeof(end) / sizeof(*end); i++)
		assert_int_equal(look(&p, end[i]), GONE);
	pairs_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keys_stay_while_an_error_passes, temporary_setup,
						temporary_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
