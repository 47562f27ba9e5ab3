/* Whose programs may be recorded: lists of users and groups, and processes at the other end of a
 * socket or in /proc. */
#include "agent/serve/access.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define NOBODY 65534
#define USER   54321
#define GROUP  54322
#define MORE   54323 /* a further group of that user */

static struct access parse(const char *users, const char *groups)
{
	struct err_text err = {{0}};
	struct access a;

	memset(&a, 0xee, sizeof(a));
	assert_int_equal(access_parse(&a, users, groups, &err), 0);
	assert_string_equal(err.text, "");
	assert_int_equal(a.told_count, 0);
	return a;
}

static void expect_fault(const char *users, const char *groups, const char *fault)
{
	struct access a = {.users = 77};
	struct err_text err = {{0}};

	assert_int_equal(access_parse(&a, users, groups, &err), -EINVAL);
	assert_string_equal(err.text, fault);
	assert_int_equal(a.users, 77);
}

static void lists(void **state)
{
	struct access a = parse(NULL, NULL);

	(void)state;
	assert_false(a.everyone || a.users || a.groups || access_others(&a));
	a = parse("", " ,\t,");
	assert_false(a.everyone || a.users || a.groups || access_others(&a));
	a = parse("root, 12345\t,,4294967294", NULL);
	assert_int_equal(a.users, 3);
	assert_int_equal(a.user[0], 0);
	assert_int_equal(a.user[1], 12345);
	assert_int_equal(a.user[2], UINT32_MAX - 1);
	assert_false(a.everyone);
	assert_true(access_others(&a));
	a = parse(NULL, "root,7");
	assert_int_equal(a.groups, 2);
	assert_int_equal(a.group[0], 0);
	assert_int_equal(a.group[1], 7);
	assert_int_equal(a.users, 0);
	assert_true(access_others(&a));
	a = parse("*", NULL);
	assert_true(a.everyone);
	assert_int_equal(a.users, 0);
	assert_true(access_others(&a));
	a = parse("5,*,6", NULL);
	assert_true(a.everyone);
	assert_int_equal(a.users, 2);
	expect_fault("root,4294967295", NULL,
		     "--allow-user takes names or numbers, parted by commas; there is no user "
		     "'4294967295'");
	expect_fault("no-such-user", NULL,
		     "--allow-user takes names or numbers, parted by commas; there is no user "
		     "'no-such-user'");
	expect_fault("1", "*",
		     "--allow-group takes names or numbers, parted by commas; there is no group "
		     "'*'");
	expect_fault("bad-one", "2",
		     "--allow-user takes names or numbers, parted by commas; there is no user "
		     "'bad-one'");
}

/* Names have an end, and so has a list. */
static void longest_lists(void **state)
{
	char list[8 * ACCESS_NAMES_MAX + 8], name[80], fault[256];
	struct access a;
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i < ACCESS_NAMES_MAX; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%u,", 1000 + i);
	a = parse(list, list);
	assert_int_equal(a.users, ACCESS_NAMES_MAX);
	assert_int_equal(a.groups, ACCESS_NAMES_MAX);
	assert_int_equal(a.user[ACCESS_NAMES_MAX - 1], 1000 + ACCESS_NAMES_MAX - 1);
	assert_int_equal(a.group[0], 1000);
	snprintf(list + n, sizeof(list) - n, "7");
	expect_fault(list, NULL, "--allow-user takes 64 names at most");
	expect_fault(NULL, list, "--allow-group takes 64 names at most");
	for (size_t length = 62; length <= 65; length++) { /* 63 letters are told */
		memset(name, 'n', length);
		name[length] = '\0';
		snprintf(fault, sizeof(fault),
			 "--allow-user takes names or numbers, parted by commas; there is no user "
			 "'%.63s'",
			 name);
		expect_fault(name, NULL, fault);
	}
}

static void told_once(void **state)
{
	struct access a = {0};

	(void)state;
	assert_true(access_tell(&a, 0));
	assert_false(access_tell(&a, 0));
	for (unsigned i = 1; i < ACCESS_TOLD_MAX; i++)
		assert_true(access_tell(&a, 100 + i));
	for (unsigned i = 1; i < ACCESS_TOLD_MAX; i++)
		assert_false(access_tell(&a, 100 + i));
	assert_false(access_tell(&a, 99)); /* no room */
	assert_int_equal(a.told_count, ACCESS_TOLD_MAX);
}

static const char *text_of(const struct access *a)
{
	static char text[ACCESS_TEXT_MAX];

	memset(text, 'x', sizeof(text));
	assert_ptr_equal(access_text(a, text), text);
	return text;
}

static void texts(void **state)
{
	struct access a = {.everyone = true};
	char own[128] = "users root (0)", all[ACCESS_TEXT_MAX];
	const struct passwd *me = getpwuid(geteuid());

	(void)state;
	if (getpwuid(USER) || getpwuid(USER + 1) || getgrgid(GROUP) || getgrgid(GROUP + 1)) {
		skip();
		return;
	}
	if (geteuid() && me)
		snprintf(own, sizeof(own), "users root (0), %s (%u)", me->pw_name,
			 (unsigned)geteuid());
	else if (geteuid())
		snprintf(own, sizeof(own), "users root (0), %u", (unsigned)geteuid());
	assert_string_equal(text_of(&a), "every user");
	a.everyone = false;
	assert_string_equal(text_of(&a), own);
	a.users = 2;
	a.user[0] = USER;
	a.user[1] = USER + 1;
	snprintf(all, sizeof(all), "%s, %u, %u", own, USER, USER + 1);
	assert_string_equal(text_of(&a), all);
	a.groups = 3;
	a.group[0] = GROUP;
	a.group[1] = 0;
	a.group[2] = GROUP + 1;
	snprintf(all, sizeof(all), "%s, %u, %u; groups %u, root (0), %u", own, USER, USER + 1,
		 GROUP, GROUP + 1);
	assert_string_equal(text_of(&a), all);
	a.users = ACCESS_NAMES_MAX; /* too long: cut */
	for (unsigned i = 0; i < ACCESS_NAMES_MAX; i++)
		a.user[i] = 4000000000u;
	assert_int_equal(strlen(text_of(&a)), ACCESS_TEXT_MAX - 1);
	assert_memory_equal(text_of(&a), own, strlen(own));
}

/* ---- processes ---- */

/* A process of that user and these groups that has connected, and waits. */
struct peer {
	pid_t pid;
	int fd;
};

static struct peer peer_begin(uid_t user, gid_t group, gid_t more)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct peer p;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", temporary_folder);
	unlink(address.sun_path);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(chmod(address.sun_path, 0666), 0);
	assert_int_equal(listen(listener, 1), 0);
	p.pid = fork();
	if (!p.pid) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (geteuid() == 0) /* the effective ids count: the real ones are root's */
			if (setgroups(1, &more) || setresgid(0, group, 0) || setresuid(0, user, 0))
				_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
			_exit(2);
		pause();
		_exit(0);
	}
	assert_true(p.pid > 0);
	p.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(p.fd >= 0);
	close(listener);
	return p;
}

static void peer_end(const struct peer *p)
{
	kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	close(p->fd);
}

static bool may(const struct peer *p, const char *users, const char *groups)
{
	struct access a = parse(users, groups);
	bool by_socket = access_may(&a, p->fd);

	assert_int_equal(access_may_process(&a, p->pid), by_socket);
	return by_socket;
}

static void own_programs(void **state)
{
	unsigned descriptors = descriptors_open();
	struct access nobody = parse(NULL, NULL);
	struct peer p = peer_begin(geteuid(), getegid(), getegid());

	(void)state;
	assert_true(may(&p, NULL, NULL));
	assert_false(access_may(&nobody, -1));
	assert_false(access_may_process(&nobody, -1)); /* there is none */
	peer_end(&p);
	assert_false(access_may_process(&nobody, p.pid));
	nobody.everyone = true;
	assert_true(access_may_process(&nobody, p.pid));
	assert_false(access_may(&nobody, -1));
	assert_int_equal(descriptors_open(), descriptors);
}

static void other_users_programs(void **state)
{
	struct peer p;

	(void)state;
	if (geteuid()) {
		print_message("only root makes programs of other users\n");
		skip();
		return;
	}
	chmod(temporary_folder, 0777);
	p = peer_begin(USER, GROUP, MORE);
	assert_false(may(&p, NULL, NULL));
	assert_false(may(&p, "54320,54322,54323", "54321,54324"));
	assert_true(may(&p, "7,54321,8", NULL));
	assert_true(may(&p, NULL, "7,54322"));
	assert_true(may(&p, NULL, "54323,7"));
	assert_true(may(&p, "*", NULL));
	assert_int_equal(seteuid(NOBODY), 0); /* an agent that is not root's */
	assert_false(may(&p, NULL, NULL));
	assert_true(may(&p, "54321", NULL));
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(seteuid(USER), 0); /* an agent of that user */
	assert_true(may(&p, NULL, NULL));
	assert_int_equal(seteuid(0), 0);
	peer_end(&p);
	p = peer_begin(0, GROUP, MORE); /* root's, for an agent that is not */
	assert_int_equal(seteuid(NOBODY), 0);
	assert_true(may(&p, NULL, NULL));
	assert_int_equal(seteuid(0), 0);
	peer_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),      cmocka_unit_test(longest_lists),
		cmocka_unit_test(told_once),  cmocka_unit_test(texts),
		TEST_IN_FOLDER(own_programs), TEST_IN_FOLDER(other_users_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
