/*
 * Fork children that go on without exec, each with allocations that are known: a line
 * "NAME PID allocations frees inherited" a process, so that a test finds its recording by the pid.
 *
 *	forks prefork|nested|thread|handler|daemon|raw|busy|iterating|sequence|outlive [COUNT]
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tests/targets/target.h"

#define INHERITED 10

static void *inherited[INHERITED];
static unsigned given_back;

static void tell(const char *name, unsigned allocations, unsigned frees, unsigned of_parent)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "%s %d %u %u %u\n", name, (int)getpid(),
			      allocations, frees, of_parent);

	if (length < 0 || write(1, line, (size_t)length) < 0)
		_exit(99);
}

/* Frames that a test looks for. */
__attribute__((noinline)) static void *keep_in_child(void)
{
	return use(malloc(child_size(200)));
}

__attribute__((noinline)) static void pass_in_child(void)
{
	free(use(malloc(child_size(100))));
}

__attribute__((noinline)) static void keep_in_parent(void)
{
	for (int i = 0; i < INHERITED; i++)
		inherited[i] = use(malloc(own(300)));
}

/* `keep` blocks stay, `pass` go at once, and as many of the parent's as asked. */
static void child_work(const char *name, unsigned keep, unsigned pass, unsigned of_parent)
{
	for (unsigned i = 0; i < keep; i++)
		keep_in_child();
	for (unsigned i = 0; i < pass; i++)
		pass_in_child();
	for (unsigned i = 0; i < of_parent; i++)
		free(inherited[given_back++]);
	tell(name, keep + pass, pass, of_parent);
}

static int reap(pid_t pid, int status)
{
	int got;

	return waitpid(pid, &got, 0) == pid && WIFEXITED(got) && WEXITSTATUS(got) == status;
}

static pid_t worker(unsigned number)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	child_work("worker", 10 * number, 100 * number, number);
	_exit((int)number);
}

/* A server: all memory is the parent's, each worker has some of its own. */
static void prefork(unsigned workers)
{
	pid_t pid[64];
	unsigned good = 0;

	for (unsigned i = 1; i <= workers && i < 64; i++)
		pid[i] = worker(i);
	for (unsigned i = 1; i <= workers && i < 64; i++)
		good += reap(pid[i], (int)i);
	if (good != workers)
		_exit(90);
}

/* One after another, so that a place for one is enough. */
static void one_by_one(unsigned workers)
{
	for (unsigned i = 0; i < workers; i++)
		if (!reap(worker(3), 3))
			_exit(90);
}

static void nested(unsigned depth)
{
	pid_t pid = depth ? fork() : -1;

	if (pid < 0)
		return;
	if (!pid) {
		child_work("child", depth, 10 * depth, depth);
		nested(depth - 1);
		_exit((int)depth);
	}
	if (!reap(pid, (int)depth))
		_exit(90);
}

static void *in_thread(void *unused)
{
	free(use(malloc(own(500))));
	return reap(worker(2), 2) ? unused : (void *)1;
}

static void thread(void)
{
	void *result;
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, NULL) || pthread_join(t, &result) || result)
		_exit(90);
}

/* The handler comes in the middle of hooks; the child allocates in it (what no program should, and
 * some do), goes back into the hook that was interrupted, and on. */
static volatile sig_atomic_t is_child, left;
static volatile unsigned passed;

static void fork_here(int number)
{
	pid_t pid;

	(void)number;
	if (!left || is_child)
		return;
	left--;
	pid = fork();
	if (!pid)
		is_child = 1;
	else if (pid < 0)
		_exit(91);
}

static void handler(unsigned children)
{
	const struct itimerval every = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
	unsigned good = 0;

	left = (int)children;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (left && !is_child)
		pass_in_child(), passed++;
	if (is_child) { /* its timer is not inherited */
		child_work("worker", 5, 50, 0);
		_exit(4);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	for (unsigned i = 0; i < children; i++) {
		int status;

		good += wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 4;
	}
	if (good != children)
		_exit(92);
}

static void become_daemon(void)
{
	pid_t pid = fork();

	if (pid) {
		if (!reap(pid, 0))
			_exit(90);
		return;
	}
	setsid();
	if (fork())
		_exit(0);
	usleep(300000); /* its parents are gone */
	child_work("daemon", 7, 70, 3);
	_exit(0);
}

static void raw(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid) {
		child_work("raw", 4, 40, 2);
		_exit(6);
	}
	if (!reap(pid, 6))
		_exit(90);
}

/* Other threads allocate, and load and unload a library, so that the recorder asks the loader for
 * modules all the time, while this one forks: none may leave a lock behind in the child. */
static volatile int over;

static void *allocate_on(void *unused)
{
	while (!over)
		free(use(malloc(own(64))));
	return unused;
}

static void *load_on(void *unused)
{
	while (!over) {
		void *library = dlopen("libm.so.6", RTLD_NOW);

		if (library)
			dlclose(library);
	}
	return unused;
}

static void busy(unsigned children)
{
	pthread_t t[4];

	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, i ? allocate_on : load_on, NULL))
			_exit(93);
	one_by_one(children);
	over = 1;
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* Another thread is in the loader, and stays there for longer than a fork takes. */
static int visit_slowly(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info;
	(void)size;
	(void)context;
	over = 1;
	usleep(300000);
	return 1;
}

static void *iterate(void *unused)
{
	dl_iterate_phdr(visit_slowly, NULL);
	return unused;
}

static void iterating(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, iterate, NULL))
		_exit(93);
	while (!over)
		sched_yield();
	one_by_one(1);
	pthread_join(t, NULL);
}

static void outlive(unsigned seconds)
{
	if (fork())
		return;
	for (unsigned i = 0; i < 10 * seconds; i++) {
		usleep(100000);
		keep_in_child();
	}
	tell("late", 10 * seconds, 0, 0);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 3;

	keep_in_parent();
	if (!strcmp(how, "prefork"))
		prefork(count);
	else if (!strcmp(how, "sequence"))
		one_by_one(count);
	else if (!strcmp(how, "nested"))
		nested(count);
	else if (!strcmp(how, "thread"))
		thread();
	else if (!strcmp(how, "handler"))
		handler(count);
	else if (!strcmp(how, "daemon"))
		become_daemon();
	else if (!strcmp(how, "raw"))
		raw();
	else if (!strcmp(how, "busy"))
		busy(count);
	else if (!strcmp(how, "iterating"))
		iterating();
	else if (!strcmp(how, "outlive"))
		outlive(count);
	tell("parent", INHERITED, 0, 0);
	return 0;
}
