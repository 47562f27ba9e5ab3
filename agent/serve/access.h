#pragma once
/*
 * Who may be recorded: the agent's own user and root always, and whom the options name beside them.
 * A program's user and groups are those that the kernel noted when it connected (SO_PEERCRED,
 * SO_PEERGROUPS), or shows in /proc for one that does not ask by itself; never what it says of
 * itself.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err_text;

#define ACCESS_NAMES_MAX 64 /* in a list */
#define ACCESS_TOLD_MAX	 32
#define ACCESS_TEXT_MAX	 512

struct access {
	bool everyone;
	uid_t user[ACCESS_NAMES_MAX];
	uint32_t users;
	gid_t group[ACCESS_NAMES_MAX];
	uint32_t groups;
	uid_t told[ACCESS_TOLD_MAX]; /* users whose refusal was said already */
	uint32_t told_count;
};

/* Takes lists of names and numbers, parted by commas; NULL: none; "*" among the users: everyone. 0;
 * -EINVAL with what is not known. */
int access_parse(struct access *ret_access, const char *users, const char *groups,
		 struct err_text *err);
/* May others than the agent's user and root? */
static inline bool access_others(const struct access *access)
{
	return access->everyone || access->users || access->groups;
}
/* May the process at the other end of the connected socket `fd` be recorded? */
bool access_may(const struct access *access, int fd);
/* The same of a process, by its effective ids in /proc. */
bool access_may_process(const struct access *access, pid_t pid);
/* True for the first refusal of this user, and for no more than ACCESS_TOLD_MAX users. */
bool access_tell(struct access *access, uid_t user);
/* For a person: "users root, alice (1000), group 27". Returns `out`, which has room for
 * ACCESS_TEXT_MAX bytes. */
const char *access_text(const struct access *access, char *out);
