/*
 * A program to attach to that has children: it waits until the file BEGIN is there, makes them, waits for them and ends with
 * status 7. Each of them says "NAME PID" on a line of its own, waits until the file GO is there, and then does work that is known.
 *
 *	followed BEGIN GO fork N	children that go on: number i frees i of the parent's blocks, then makes and frees 10 * i of its own
 *	followed BEGIN GO nest N	one child, which has one, and so on: likewise
 *	followed BEGIN GO thread 1	the child of another thread than the first one
 *	followed BEGIN GO exec CMD...	a child that becomes CMD; after it has waited
 *	followed BEGIN GO vfork CMD...	the same by posix_spawn, without waiting
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define INHERITED 64

extern char **environ;
static void *inherited[INHERITED];
static void *volatile sink;
static const char *go;
static unsigned given_back;

static void say(const char *name)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%s %d\n", name, (int)getpid());

	if (write(1, line, (size_t)length) != length)
		_exit(99);
}

static void wait_for(const char *path)
{
	struct stat st;

	while (stat(path, &st))
		usleep(2000);
}

__attribute__((noinline)) static void pass_in_child(unsigned number)
{
	for (unsigned i = 0; i < 10 * number; i++) {
		sink = malloc(100 + number);
		free(sink);
	}
}

__attribute__((noinline)) static void child(unsigned number)
{
	say("child");
	wait_for(go);
	for (unsigned i = 0; i < number; i++)
		free(inherited[given_back++]);
	pass_in_child(number);
	__asm__ volatile("" ::: "memory"); /* no jump: this frame is looked for */
}

static void reap(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(90);
}

__attribute__((noinline)) static void many(unsigned count)
{
	pid_t pid[64];

	for (unsigned i = 1; i <= count && i < 64; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			child(i);
			_exit(0);
		}
	}
	for (unsigned i = 1; i <= count && i < 64; i++)
		reap(pid[i]);
}

static void nest(unsigned count)
{
	pid_t pid = fork();

	if (pid) {
		reap(pid);
		return;
	}
	if (count > 1)
		nest(count - 1);
	child(count);
	_exit(0);
}

static void *in_thread(void *unused)
{
	many(1);
	return unused;
}

static void thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, NULL) || pthread_join(t, NULL))
		_exit(90);
}

static void become(char **command)
{
	pid_t pid = fork();

	if (!pid) {
		say("child");
		wait_for(go);
		execv(*command, command);
		_exit(98);
	}
	waitpid(pid, NULL, 0);
}

static void spawn(char **command)
{
	pid_t pid;

	if (posix_spawn(&pid, *command, NULL, NULL, command, environ))
		_exit(97);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 4 ? argv[3] : "";
	unsigned count = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;

	if (argc < 5)
		return 96;
	go = argv[2];
	for (unsigned i = 0; i < INHERITED; i++)
		inherited[i] = malloc(300);
	wait_for(argv[1]);
	if (!strcmp(how, "fork"))
		many(count);
	else if (!strcmp(how, "nest"))
		nest(count);
	else if (!strcmp(how, "thread"))
		thread();
	else if (!strcmp(how, "exec"))
		become(argv + 4);
	else if (!strcmp(how, "vfork"))
		spawn(argv + 4);
	_exit(7);
}
