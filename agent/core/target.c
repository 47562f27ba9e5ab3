/* Reads /proc and pidfds. See target.h. */
#include "agent/core/target.h"

#include <dirent.h>
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/elf/elf.h"
#include "base/proc/cgroup.h"
#include "base/proc/file.h"
#include "base/proc/stat.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

/* include/uapi/linux/pidfd.h of Linux 6.15; older headers lack it. */
struct pidfd_exit_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define PIDFD_GET_EXIT_INFO _IOWR(0xff, 11, struct pidfd_exit_info)
#define PIDFD_EXIT_KNOWN    (1u << 3)

#define UNKNOWN	    "unknown" /* processor */
#define COMM_LENGTH 15	      /* longest name that the kernel keeps */
/* A name with one of these characters counts as a title ("nginx: worker process"), not as a file
 * name. */
#define TITLE	   " :()[]"
#define PAGE_LEAST 4096
#define PAGE_MOST  (1u << 20)

static int read_stat(pid_t pid, struct proc_stat *ret)
{
	cleanup(cleanup_close) int proc = proc_open(pid);

	return proc < 0 ? proc : proc_stat_read(proc, ret);
}

int target_identity(pid_t pid, pid_t *ret_parent, uint64_t *ret_start)
{
	struct proc_stat stat;

	if (read_stat(pid, &stat) < 0)
		return -ESRCH;
	*ret_parent = stat.parent;
	*ret_start = stat.start_ticks;
	return 0;
}

static bool target_is_same(pid_t pid, const char *name)
{
	struct stat theirs, own;
	char path[64], ours[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	snprintf(ours, sizeof(ours), "/proc/self/%s", name);
	return stat(path, &theirs) == 0 && stat(ours, &own) == 0 && theirs.st_dev == own.st_dev &&
	       theirs.st_ino == own.st_ino;
}

bool target_sees_files(pid_t pid)
{
	/* (Of "/" an emulator that runs this agent says what its folder of libraries is.) */
	return target_is_same(pid, "ns/mnt") && target_is_same(pid, "root");
}

uint32_t target_threads(pid_t pid)
{
	struct proc_stat stat;

	return read_stat(pid, &stat) < 0 ? 0 : stat.threads;
}

static const char *machine_name(unsigned machine, unsigned bits, bool big)
{
	switch (machine) {
	case EM_X86_64:
		return bits == 64 ? "x86_64" : "x32";
	case EM_386:
		return "i686";
	case EM_AARCH64:
		return "aarch64";
	case EM_ARM:
		return "arm";
	case EM_MIPS:
		return bits == 64 ? (big ? "mips64" : "mips64el") : (big ? "mips" : "mipsel");
	case EM_RISCV:
		return bits == 64 ? "riscv64" : "riscv32";
	case EM_PPC64:
		return big ? "ppc64" : "ppc64le";
	default:
		return UNKNOWN;
	}
}

static void read_machine(int proc, struct target_info *info)
{
	cleanup(cleanup_close) int fd = proc_open_file(proc, "exe");
	struct elf elf;

	info->architecture = UNKNOWN;
	info->pointer_bits = sizeof(void *) * 8;
	if (fd < 0 || elf_open_file(&elf, fd) < 0)
		return;
	info->big_endian = elf.big;
	info->pointer_bits = elf.wide ? 64 : 32;
	info->architecture = machine_name(elf.machine, info->pointer_bits, info->big_endian);
}

/* ---- the name ---- */

static const char *target_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Returns true if `comm` is the beginning of `name`. The kernel's name is the beginning of the file
 * name that was executed, unless the program has changed it. */
static bool agrees(const char *name, const char *comm)
{
	return *name && !strncmp(name, comm, COMM_LENGTH) &&
	       strnlen(name, COMM_LENGTH) == strlen(comm);
}

/* Returns the name of a script, or NULL. The kernel's name then is the script's, and the script's
 * path is the argument after the interpreter and at most one option. */
static const char *script_of(const struct target_info *info)
{
	const char *end = info->arguments + info->arguments_length, *argument = info->arguments;

	for (unsigned i = 0; i < 2; i++) {
		argument += strnlen(argument, (size_t)(end - argument));
		if (argument == end || ++argument == end)
			return NULL;
		if (agrees(target_last_part(argument), info->comm))
			return target_last_part(argument);
	}
	return NULL;
}

static void set_name(struct target_info *info)
{
	char called[sizeof(info->name)], file[sizeof(info->name)];
	const char *argument = target_last_part(info->arguments), *script = script_of(info), *name;
	char *deleted;

	snprintf(called, sizeof(called), "%s",
		 argument + (*argument == '-')); /* a login shell's argv[0] starts with '-' */
	snprintf(file, sizeof(file), "%s", target_last_part(info->executable));
	deleted = strstr(file, " (deleted)");
	if (deleted)
		*deleted = '\0';
	if (agrees(called, info->comm))
		name = called;
	else if (script)
		name = script;
	else if (*called && !agrees(file, info->comm) && !strpbrk(called, TITLE))
		name = called;
	else
		name = *file ? file : *info->comm ? info->comm : "unknown";
	snprintf(info->name, sizeof(info->name), "%s", name);
}

static int target_read_name(int proc, const char *file, char ret_name[16])
{
	char name[32];

	if (proc_read(proc, file, name, sizeof(name)) <= 0)
		return -ESRCH;
	name[strcspn(name, "\n")] = '\0';
	snprintf(ret_name, 16, "%s", name);
	return 0;
}

static void read_cgroup(int folder, char out[TARGET_CGROUP_MAX])
{
	const char *path;
	char text[4096];

	*out = '\0';
	if (proc_read(folder, "cgroup", text, sizeof(text)) <= 0)
		return;
	path = proc_cgroup_main(text);
	if (path && strlen(path) < TARGET_CGROUP_MAX)
		snprintf(out, TARGET_CGROUP_MAX, "%s", path);
}

int target_read(pid_t pid, struct target_info *ret)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	struct target_info info = {.pid = pid};
	struct proc_stat stat;
	struct stat st;
	ssize_t n;

	if (proc < 0 || proc_stat_read(proc, &stat) < 0)
		return -ESRCH;
	info.parent = stat.parent;
	info.start_ticks = stat.start_ticks;
	if (fstat(proc, &st) == 0)
		info.uid = st.st_uid;
	n = readlinkat(proc, "exe", info.executable, sizeof(info.executable) - 1);
	info.executable[n > 0 ? n : 0] = '\0';
	n = proc_read(proc, "cmdline", info.arguments, sizeof(info.arguments));
	info.arguments_length = n > 0 ? (uint32_t)n : 0;
	target_read_name(proc, "comm", info.comm);
	read_cgroup(proc, info.cgroup);
	read_machine(proc, &info);
	info.page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	set_name(&info);
	*ret = info;
	return 0;
}

void target_believe(struct target_info *info, const struct target_said *said)
{
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__; /* as the agent itself */
	const char *name = machine_name(said->machine, said->pointer_bits, big);

	if (!said->machine || (said->pointer_bits != 32 && said->pointer_bits != 64))
		return;
	if (strcmp(name, UNKNOWN) != 0) {
		info->emulated = strcmp(info->architecture, UNKNOWN) != 0 &&
				 strcmp(info->architecture, name) != 0;
		info->architecture = name;
	}
	info->pointer_bits = said->pointer_bits;
	info->big_endian = big;
	if (said->page_size >= PAGE_LEAST && said->page_size <= PAGE_MOST &&
	    !(said->page_size & (said->page_size - 1)))
		info->page_size = said->page_size;
}

void target_folder(pid_t pid, char *out, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
	n = readlink(path, out, size);
	if (n < 0 || (size_t)n >= size || out[0] != '/')
		n = 0; /* unreadable, truncated, or outside of the agent's root */
	out[n] = '\0';
}

int target_thread_name(pid_t pid, pid_t tid, char ret_name[16])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	return target_read_name(-1, path, ret_name);
}

/* Returns true if the process's environment has `text` as a whole entry, including the final
 * NUL. */
static bool environment_has(pid_t pid, const char *text)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	cleanup(cleanup_close) int fd = proc < 0 ? proc : proc_open_file(proc, "environ");
	char piece[4096];
	size_t kept = 0, length = strlen(text) + 1;
	ssize_t n;

	if (fd < 0 || length > sizeof(piece) / 2)
		return false;
	while ((n = read(fd, piece + kept, sizeof(piece) - kept)) > 0) {
		kept += (size_t)n;
		if (memmem(piece, kept, text, length))
			return true;
		n = (ssize_t)(kept < length ? kept : length);
		memmove(piece, piece + kept - n, (size_t)n);
		kept = (size_t)n;
	}
	return false;
}

bool target_variable(pid_t pid, const char *name, char *out, size_t size)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	int fd = proc < 0 ? proc : proc_open_file(proc, "environ");
	cleanup(cleanup_fclose) FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	cleanup(cleanup_free) char *entry = NULL;
	size_t room = 0, length = strlen(name);

	if (fd >= 0 && !file)
		close(fd);
	while (file && getdelim(&entry, &room, '\0', file) > 0)
		if (!strncmp(entry, name, length) && entry[length] == '=')
			return (size_t)snprintf(out, size, "%s", entry + length + 1) < size;
	return false;
}

uint32_t target_count_with(const char *variable)
{
	DIR *proc = opendir("/proc");
	uint32_t count = 0;
	pid_t pid;

	while (proc && (pid = proc_next(proc)))
		count += pid != getpid() && environment_has(pid, variable);
	if (proc)
		closedir(proc);
	return count;
}

bool target_thread_exists(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
	return access(path, F_OK) == 0;
}

struct target_end target_end_of_status(int status, int source)
{
	struct target_end end = {.kind = HEAPCAST__END_KIND__END_EXITED,
				 .status = (uint32_t)WEXITSTATUS(status),
				 .source = source};

	if (WIFSIGNALED(status)) {
		end.kind = HEAPCAST__END_KIND__END_SIGNALLED;
		end.status = (uint32_t)WTERMSIG(status);
		end.core_dumped = WCOREDUMP(status);
	}
	return end;
}

/* The kernel shows a zombie's status in `stat` only to root and to the process's user; others read
 * 0. */
int target_end_by_pidfd(int pidfd, pid_t pid, uid_t uid, struct target_end *ret)
{
	struct pidfd_exit_info info = {.mask = PIDFD_EXIT_KNOWN};
	struct proc_stat stat;

	if (pidfd >= 0 && ioctl(pidfd, PIDFD_GET_EXIT_INFO, &info) == 0 &&
	    info.mask & PIDFD_EXIT_KNOWN) {
		*ret = target_end_of_status(info.exit_code, HEAPCAST__END_SOURCE__END_SOURCE_PIDFD);
		return 0;
	}
	if (read_stat(pid, &stat) == 0 && stat.state == 'Z' &&
	    (geteuid() == 0 || geteuid() == uid)) {
		*ret = target_end_of_status(stat.exit_code, HEAPCAST__END_SOURCE__END_SOURCE_PROC);
		return 0;
	}
	return -EAGAIN;
}

int target_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

const char *target_name(const struct target_info *info)
{
	return info->name;
}
