/*
 * Tasks that libc knows nothing of, each with known allocations, while their maker waits:
 *
 *	thread     CLONE_VM | CLONE_THREAD: a thread without pthread, with the thread pointer of its maker
 *	process    CLONE_VM alone: another process in the same memory
 *	vfork      CLONE_VM | CLONE_VFORK: it allocates, and exits; then one that execs
 */
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/targets/target.h"

#define BLOCKS 100

static char stack[1 << 18] __attribute__((aligned(64)));
static void *kept[BLOCKS];

static int allocate(void *status)
{
	for (int i = 0; i < BLOCKS; i++) {
		kept[i] = use(malloc(own(100)));
		free(use(malloc(own(200))));
	}
	return *(int *)status;
}

static void give_back(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(kept[i]);
}

static int made(int flags, int *tid)
{
	int status = 3, got;
	int pid = clone(allocate, stack + sizeof(stack), flags, &status, tid, NULL, tid);

	if (pid < 0)
		return 0;
	if (!(flags & CLONE_THREAD))
		return waitpid(pid, &got, 0) == pid && WEXITSTATUS(got) == status;
	while (__atomic_load_n(tid, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, tid, FUTEX_WAIT, pid, NULL, NULL, 0);
	return 1;
}

int main(int argc, char **argv)
{
	const int as_thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	volatile unsigned long good = 0;
	int tid = 1;
	pid_t pid;

	if (argc > 1)
		return 5;
	good += (unsigned long)made(as_thread, &tid);
	give_back();
	good += (unsigned long)made(CLONE_VM | SIGCHLD, &tid);
	give_back();
	good += (unsigned long)made(CLONE_VM | CLONE_VFORK | SIGCHLD, &tid);
	give_back();
	pid = vfork();
	if (!pid) {
		char *const again[] = {argv[0], (char *)"exec", NULL};

		execv(argv[0], again);
		_exit(98);
	}
	waitpid(pid, &tid, 0);
	good += WEXITSTATUS(tid) == 5;
	free(use(malloc(own(300))));
	say("allocations", 3 * 2 * BLOCKS + 1);
	say("frees", 3 * 2 * BLOCKS + 1);
	say("good", good);
	return 0;
}
