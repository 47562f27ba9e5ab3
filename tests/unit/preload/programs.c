/* Real programs do under record what they do without: the same output, the same exit status;
 * nothing is lost. */
#include "tests/unit/preload/support/run.h"

#include <stdlib.h>
#include <unistd.h>

/* The program alone: exit status and a hash of what it writes, as ring_agent makes it. */
static int run_alone(const char *const argv[], uint64_t *ret_hash)
{
	uint64_t hash = 14695981039346656037u;
	int fds[2], status;
	char piece[4096];
	ssize_t got;
	pid_t pid;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(fds[1], 1);
		close(fds[0]);
		close(fds[1]);
		execvp(argv[0], (char **)(uintptr_t)argv);
		_exit(127);
	}
	close(fds[1]);
	while ((got = read(fds[0], piece, sizeof(piece))) > 0)
		for (ssize_t i = 0; i < got; i++)
			hash = (hash ^ (uint8_t)piece[i]) * 1099511628211u;
	close(fds[0]);
	waitpid(pid, &status, 0);
	*ret_hash = hash;
	return status;
}

static void same_with_and_without(const char *const argv[], uint64_t at_least)
{
	struct agent_options options = {.small_slices = 32, .big_slices = 16};
	struct agent_result r;
	struct agent_tally t;
	uint64_t hash;
	int status = run_alone(argv, &hash);

	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		print_message("%s is not here\n", argv[0]);
		skip();
	}
	agent_run(&options, argv, &r);
	assert_int_equal(r.status, status);
	assert_true(r.output_hash == hash);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_true(r.read >= at_least);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.twice, 0);
	assert_int_equal(t.orphans, 0);
	print_message("%s: %lu events, %lu truncated stacks, %.2f s\n", argv[0],
		      (unsigned long)r.read, (unsigned long)r.truncated, r.seconds);
	agent_result_done(&r);
}

#define SAME(at_least, ...)                                                                        \
	same_with_and_without((const char *const[]){__VA_ARGS__, NULL}, at_least)

static void sqlite(void **state)
{
	(void)state;
	SAME(20000, "sqlite3", ":memory:",
	     "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c "
	     "where x<20000) insert into t "
	     "select x, hex(x*7919) from c; create index i on t(b); select count(*), sum(a), "
	     "max(b) from t; select a from t "
	     "where b like '3%7' order by b limit 20;");
}

static void python(void **state)
{
	(void)state;
	setenv("PYTHONMALLOC", "malloc", 1);
	setenv("PYTHONHASHSEED", "0", 1);
	SAME(100000, "python3", "-c",
	     "import json,threading,sys\n"
	     "def f(n):\n  return sum(len(json.dumps({str(i):[i]*5})) for i in range(n))\n"
	     "t=[threading.Thread(target=f,args=(2000,)) for _ in range(4)]\n"
	     "[x.start() for x in t];[x.join() for x in t]\n"
	     "print(f(3000)); sys.exit(13)");
	unsetenv("PYTHONMALLOC");
}

static void lua(void **state)
{
	(void)state;
	SAME(20000, "lua5.4", "-e",
	     "local t={} for i=1,20000 do t[i%500]={tostring(i),i} end local s=0 for k,v in "
	     "pairs(t) do s=s+#v[1] end "
	     "print(s) os.exit(3)");
}

static void shell(void **state)
{
	(void)state;
	SAME(10, "sh", "-c",
	     "for i in 1 2 3 4 5; do x=$(echo $i | cat); echo \"$x\"; done; (exit 4) & wait $!; "
	     "echo $?; ls / | wc -l");
}

static void perl(void **state)
{
	(void)state;
	SAME(100, "perl", "-e",
	     "my %h; $h{$_ % 97} .= $_ for 1..20000; print join ',', map { length $h{$_} } sort "
	     "keys %h;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sqlite), cmocka_unit_test(python), cmocka_unit_test(lua),
		cmocka_unit_test(shell),  cmocka_unit_test(perl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
