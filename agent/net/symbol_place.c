/* Opens symbol files. See symbol_place.h. */
#include "agent/net/symbol_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/net/elf_file.h"
#include "base/cleanup.h"
#include "base/proc/file.h"
#include "base/proc/maps.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define REFUSED(why) HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_##why
/* A user and group that own nothing: the highest possible number. */
#define NOBODY	     4294967294u
#define DEBUG_FOLDER "usr/lib/debug"
#define GROUPS_MAX   64
#define OPEN_FLAGS   (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define PLACE_TEXT   (2 * MODULE_PATH_MAX + ELF_DEBUGLINK_MAX + 64)

#ifdef SYS_setgroups32 /* where this exists, SYS_setgroups takes only 16-bit numbers */
#define SET_GROUPS SYS_setgroups32
#else
#define SET_GROUPS SYS_setgroups
#endif

/* The state of a search for a file. */
struct search {
	const struct symbol_place *place;
	enum symbol_policy policy;
	gid_t group[GROUPS_MAX]; /* supplementary groups of the agent */
	int groups;		 /* -1: more than `group` has room for */
	bool alone;  /* the kernel could not change the identity, so folders are checked here */
	int refusal; /* the most specific refusal so far */
	struct elf_file file;
	struct symbol_opened best;
};

/* ---- permission ---- */

/* Sets the user that opens files, so that the kernel refuses files which that user may not read.
 * The agent's own user and groups then do not count. Calls the kernel directly, because glibc's
 * setgroups would change all threads. Returns true if the kernel has accepted the identity. */
static bool become(struct search *s, uid_t uid)
{
	bool grouped;

	s->groups = getgroups(GROUPS_MAX, s->group);
	grouped = s->groups < 0 || (s->groups > 0 && syscall(SET_GROUPS, 0, NULL) < 0);
	setfsgid(NOBODY);
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && !grouped;
}

static void become_oneself(const struct search *s)
{
	setfsuid(geteuid());
	setfsgid(getegid());
	if (s->groups > 0)
		syscall(SET_GROUPS, s->groups, s->group);
}

/* Returns true if all users may search every folder down to the open file. */
static bool folders_public(int fd)
{
	char link[32], path[4096];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return false;
	path[n] = '\0';
	for (char *slash = strrchr(path, '/'); slash && slash > path; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (stat(path, &st) || !S_ISDIR(st.st_mode) || !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

static bool may_leave(const struct search *s, int fd, const struct stat *st)
{
	if (s->policy == SYMBOLS_PUBLIC)
		return (st->st_mode & S_IROTH) && (!s->alone || folders_public(fd));
	return !s->place->uid || (st->st_mode & S_IROTH) ||
	       (st->st_uid == s->place->uid && (st->st_mode & S_IRUSR));
}

/* ---- identity ---- */

static uint64_t identity_of(const struct stat *st)
{
	const uint64_t parts[] = {st->st_dev,
				  st->st_ino,
				  (uint64_t)st->st_size,
				  (uint64_t)st->st_mtim.tv_sec,
				  (uint64_t)st->st_mtim.tv_nsec,
				  (uint64_t)st->st_ctim.tv_sec,
				  (uint64_t)st->st_ctim.tv_nsec};
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a, by words */

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		hash = (hash ^ parts[i]) * 0x100000001b3;
		hash ^= hash >> 32;
	}
	return hash ? hash : 1;
}

uint64_t symbol_identity(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : identity_of(&st);
}

static void symbol_place_refuse(struct search *s, int why)
{
	if (why > s->refusal)
		s->refusal = why;
}

/* Keeps the file open if it is the right one, and better than what was found before. Owns
 * `open_fd`. */
static void consider(struct search *s, int open_fd)
{
	cleanup(cleanup_close) int fd = open_fd;
	const struct symbol_place *p = s->place;
	struct elf_file file;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return symbol_place_refuse(s, REFUSED(GONE));
	if (!may_leave(s, fd, &st))
		return symbol_place_refuse(s, REFUSED(PRIVATE));
	if (elf_file_read(fd, &file) < 0 || file.build_id_length != p->build_id_length ||
	    memcmp(file.build_id, p->build_id, p->build_id_length))
		return symbol_place_refuse(s, REFUSED(GONE));
	if ((uint64_t)st.st_size > SYMBOL_FILE_MAX)
		return symbol_place_refuse(s, REFUSED(TOO_LARGE));
	if (file.debuglink[0] && !s->file.debuglink[0])
		memcpy(s->file.debuglink, file.debuglink, sizeof(file.debuglink));
	if (!file.names)
		return symbol_place_refuse(s, REFUSED(STRIPPED));
	if (s->best.fd >= 0 && (s->file.debug_info || !file.debug_info))
		return;
	if (s->best.fd >= 0)
		close(s->best.fd);
	s->file.debug_info = file.debug_info;
	s->best = (struct symbol_opened){take_fd(fd), (uint64_t)st.st_size, identity_of(&st)};
}

/* ---- places ---- */

/* Opens a file below `root`. Symbolic links can't lead out of it. Without openat2 (a kernel before
 * 5.6, or an old seccomp filter) nothing guarantees that, so only files in the agent's own root are
 * opened. */
static int open_below(int root, const char *path, bool own_root)
{
	struct open_how how = {.flags = OPEN_FLAGS,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM) && own_root && *path == '/')
		fd = open(path, OPEN_FLAGS);
	return (int)fd;
}

__attribute__((format(printf, 4, 5))) static void try(struct search *s, int root, bool own_root,
						      const char *format, ...)
{
	char path[PLACE_TEXT];
	va_list args;
	int fd, n;

	va_start(args, format);
	n = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	fd = open_below(root, path, own_root);
	if (fd >= 0)
		consider(s, fd);
	else
		symbol_place_refuse(s, errno == EACCES || errno == EPERM ? REFUSED(PRIVATE)
									 : REFUSED(GONE));
}

/* Tries the separate debug file. A failure does not change `refusal`. */
static void try_debug(struct search *s, int root, bool own_root)
{
	const struct symbol_place *p = s->place;
	const char *slash = strrchr(p->path, '/');
	char id[2 * MODULE_BUILD_ID_MAX + 1];
	int folder = slash ? (int)(slash - p->path) : 0, refusal = s->refusal;

	for (uint32_t i = 0; i < p->build_id_length; i++)
		snprintf(id + 2 * i, 3, "%02x", p->build_id[i]);
	if (!s->file.debug_info)
		try(s, root, own_root, "/" DEBUG_FOLDER "/.build-id/%.2s/%s.debug", id, id + 2);
	if (!s->file.debug_info && s->file.debuglink[0]) {
		try(s, root, own_root, "%.*s/%s", folder, p->path, s->file.debuglink);
		try(s, root, own_root, "%.*s/.debug/%s", folder, p->path, s->file.debuglink);
		try(s, root, own_root, "/" DEBUG_FOLDER "%.*s/%s", folder, p->path,
		    s->file.debuglink);
	}
	s->refusal = refusal;
}

static void try_root(struct search *s, int root, bool own_root)
{
	if (root < 0)
		return;
	if (s->best.fd < 0)
		try(s, root, own_root, "%s", s->place->path);
	try_debug(s, root, own_root);
}

/* Returns an O_PATH descriptor of the mapping that holds the module's start, or -1. */
static int find_mapping(const struct symbol_place *p)
{
	cleanup(cleanup_close) int proc = proc_open(p->pid);
	struct proc_mapping mapping;

	return proc_maps_find(proc, p->start, &mapping)
		       ? proc_open_mapped(proc, mapping.start, mapping.end, O_PATH)
		       : -1;
}

static void try_mapping(struct search *s, int mapping)
{
	char path[32];
	int fd;

	if (mapping < 0 || s->best.fd >= 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", mapping);
	fd = open(path, OPEN_FLAGS);
	if (fd >= 0)
		consider(s, fd);
}

int symbol_place_open(const struct symbol_place *place, enum symbol_policy policy,
		      struct symbol_opened *ret_opened)
{
	cleanup(cleanup_close) int own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(cleanup_close) int root = -1;
	cleanup(cleanup_close) int mapping = -1;
	struct search s = {
		.place = place, .policy = policy, .refusal = REFUSED(GONE), .best = {.fd = -1}};
	char path[32];

	if (place->path[0] != '/')
		return REFUSED(GONE);
	if (place->pid) {
		snprintf(path, sizeof(path), "/proc/%d/root", (int)place->pid);
		root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		mapping = policy == SYMBOLS_ALL ? find_mapping(place) : -1;
	}
	s.alone = !become(&s, policy == SYMBOLS_PUBLIC ? NOBODY : place->uid);
	try_root(&s, root, false);
	try_root(&s, own, true);
	try_mapping(&s, mapping);
	become_oneself(&s);
	if (s.best.fd < 0)
		return s.refusal;
	*ret_opened = s.best;
	return 0;
}
