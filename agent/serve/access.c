/* Lists of allowed users and groups, and the credentials of the process at the other end of a
 * socket. See access.h. */
#include "agent/serve/access.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/proc/file.h"
#include "base/proc/lines.h"
#include "base/ban.h"

#define NAME_MAX_LENGTH 64
#define PEER_GROUPS_MAX 1024
#define STATUS_LINE_MAX (1u << 20) /* 65,536 groups of ten digits */

/* asm-generic/socket.h has it since Linux 4.13; older headers lack it. */
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

static int access_number_of(const char *name, uint32_t *ret)
{
	uint64_t number;

	if (parse_u64(name, &number) < 0 || number >= UINT32_MAX)
		return -EINVAL; /* UINT32_MAX is the invalid id, (uid_t)-1 */
	*ret = (uint32_t)number;
	return 0;
}

static int user_of(const char *name, uint32_t *ret)
{
	const struct passwd *entry = getpwnam(name);

	if (!entry)
		return access_number_of(name, ret);
	*ret = entry->pw_uid;
	return 0;
}

static int access_group_of(const char *name, uint32_t *ret)
{
	const struct group *entry = getgrnam(name);

	if (!entry)
		return access_number_of(name, ret);
	*ret = entry->gr_gid;
	return 0;
}

/* Copies the next name of the list to `name`. Returns false at the end of the list. */
static bool next_name(const char **list, char *name, size_t size)
{
	size_t length;

	*list += strspn(*list, ", \t");
	length = strcspn(*list, ", \t");
	if (!length)
		return false;
	snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), *list);
	*list += length;
	return true;
}

static int parse_list(uint32_t *out, uint32_t *ret_count, bool *everyone, const char *list,
		      int (*lookup)(const char *, uint32_t *), const char *kind,
		      struct err_text *err)
{
	char name[NAME_MAX_LENGTH];

	while (next_name(&list, name, sizeof(name))) {
		if (everyone && !strcmp(name, "*")) {
			*everyone = true;
			continue;
		}
		if (*ret_count == ACCESS_NAMES_MAX)
			return err_set(err, -EINVAL, "--allow-%s takes %d names at most", kind,
				       ACCESS_NAMES_MAX);
		if (lookup(name, &out[*ret_count]) < 0)
			return err_set(err, -EINVAL,
				       "--allow-%s takes names or numbers, parted by commas; there "
				       "is no %s '%s'",
				       kind, kind, name);
		++*ret_count;
	}
	return 0;
}

int access_parse(struct access *ret, const char *users, const char *groups, struct err_text *err)
{
	struct access a = {0};
	int r = 0;

	if (users)
		r = parse_list(a.user, &a.users, &a.everyone, users, user_of, "user", err);
	if (!r && groups)
		r = parse_list(a.group, &a.groups, NULL, groups, access_group_of, "group", err);
	if (!r)
		*ret = a;
	return r;
}

static bool has(const uint32_t *list, uint32_t count, uint32_t wanted)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i] == wanted)
			return true;
	return false;
}

/* Kernels before 4.13 lack SO_PEERGROUPS and report only the main group. */
static bool has_group(const struct access *a, int fd, gid_t main_group)
{
	gid_t group[PEER_GROUPS_MAX];
	socklen_t length = sizeof(group);

	if (has(a->group, a->groups, main_group))
		return true;
	if (!a->groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, group, &length) < 0)
		return false;
	for (uint32_t i = 0; i < length / sizeof(*group); i++)
		if (has(a->group, a->groups, group[i]))
			return true;
	return false;
}

bool access_may(const struct access *a, int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return false;
	if (a->everyone || peer.uid == 0 || peer.uid == geteuid())
		return true;
	return has(a->user, a->users, peer.uid) || has_group(a, fd, peer.gid);
}

/* Returns true if a line "Uid:", "Gid:" (real, effective, saved, file system) or "Groups:" of
 * /proc/PID/status has a user or group that may. */
static bool permits(const struct access *a, const char *line)
{
	const char *user = proc_value(line, "Uid"), *group = proc_value(line, "Gid"),
		   *groups = proc_value(line, "Groups");
	uint64_t n;

	if (user && proc_number(&user, &n) && proc_number(&user, &n))
		return n == 0 || n == geteuid() || has(a->user, a->users, (uint32_t)n);
	if (group && proc_number(&group, &n) && proc_number(&group, &n))
		return has(a->group, a->groups, (uint32_t)n);
	while (groups && proc_number(&groups, &n))
		if (has(a->group, a->groups, (uint32_t)n))
			return true;
	return false;
}

bool access_may_process(const struct access *a, pid_t pid)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	cleanup(cleanup_close) int fd = proc_open_file(proc, "status");
	cleanup(cleanup_free) char *memory = malloc(STATUS_LINE_MAX);
	bool may = a->everyone;
	struct proc_lines lines;
	const char *line;

	if (!memory)
		return may;
	proc_lines_begin(&lines, fd, memory, STATUS_LINE_MAX);
	while (!may && (line = proc_lines_next(&lines, NULL)))
		may = permits(a, line);
	return may;
}

bool access_tell(struct access *a, uid_t user)
{
	if (has(a->told, a->told_count, user) || a->told_count == ACCESS_TOLD_MAX)
		return false;
	a->told[a->told_count++] = user;
	return true;
}

static size_t access_add(char *out, size_t n, const char *before, const char *name, uint32_t number)
{
	int more = 0;

	if (n < ACCESS_TEXT_MAX && name)
		more = snprintf(out + n, ACCESS_TEXT_MAX - n, "%s%s (%u)", before, name, number);
	else if (n < ACCESS_TEXT_MAX)
		more = snprintf(out + n, ACCESS_TEXT_MAX - n, "%s%u", before, number);
	return n + (size_t)more;
}

static size_t add_user(char *out, size_t n, const char *before, uid_t user)
{
	const struct passwd *entry = getpwuid(user);

	return access_add(out, n, before, entry ? entry->pw_name : NULL, user);
}

const char *access_text(const struct access *a, char *out)
{
	size_t n;

	snprintf(out, ACCESS_TEXT_MAX, "every user");
	if (a->everyone)
		return out;
	n = add_user(out, 0, "users ", 0);
	if (geteuid() != 0)
		n = add_user(out, n, ", ", geteuid());
	for (uint32_t i = 0; i < a->users; i++)
		n = add_user(out, n, ", ", a->user[i]);
	for (uint32_t i = 0; i < a->groups; i++) {
		const struct group *entry = getgrgid(a->group[i]);

		n = access_add(out, n, i ? ", " : "; groups ", entry ? entry->gr_name : NULL,
			       a->group[i]);
	}
	return out;
}
