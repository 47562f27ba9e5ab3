#pragma once
/*
 * Access control: decides which users' programs the agent may record. The agent's own user and root
 * are always allowed; options name further users and groups. The agent takes a program's user and
 * groups from the kernel: from SO_PEERCRED and SO_PEERGROUPS when the program connected, or from
 * /proc for a program that the agent attaches to. It never trusts what a program says about itself.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err_text;

#define ACCESS_NAMES_MAX 64 /* entries of a list */
#define ACCESS_TOLD_MAX	 32
#define ACCESS_TEXT_MAX	 512

struct access {
	bool everyone;
	uid_t user[ACCESS_NAMES_MAX];
	uint32_t users;
	gid_t group[ACCESS_NAMES_MAX];
	uint32_t groups;
	uid_t told[ACCESS_TOLD_MAX]; /* users whose refusal was already logged */
	uint32_t told_count;
};

/* Parses comma-separated lists of names and numbers. A list may be NULL (empty). "*" in `users`
 * allows every user. Returns 0, or -EINVAL with the unknown entry in `err`. */
int access_parse(struct access *ret_access, const char *users, const char *groups,
		 struct err_text *err);
/* Returns true if users other than the agent's user and root may be recorded. */
static inline bool access_others(const struct access *access)
{
	return access->everyone || access->users || access->groups;
}
/* Returns true if the process at the other end of the connected socket `fd` may be recorded. */
bool access_may(const struct access *access, int fd);
/* Returns true if the process may be recorded, according to its effective ids in /proc. */
bool access_may_process(const struct access *access, pid_t pid);
/* Returns true for the first refusal of this user, so that each user is logged once. Remembers at
 * most ACCESS_TOLD_MAX users and returns false for any further user. */
bool access_tell(struct access *access, uid_t user);
/* Formats the list for a person: "users root, alice (1000); groups video (27)". Returns `out`,
 * which has room for ACCESS_TEXT_MAX bytes. */
const char *access_text(const struct access *access, char *out);
