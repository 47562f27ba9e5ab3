/* Opens the daemon's socket: its name, lock and mode. See daemon_socket.h. */
#include "agent/cli/daemon_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/net/handshake.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/ban.h"

#define SYSTEM_FOLDER "/run/heapcast"
#define USER_FOLDER   "heapcast" /* below $XDG_RUNTIME_DIR */
#define FILE_NAME     "agent.sock"
#define LOCK_TRIES    8

void daemon_socket_default(char *out, size_t size)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		snprintf(out, size, SYSTEM_FOLDER "/" FILE_NAME);
	else if (folder && *folder == '/')
		snprintf(out, size, "%s/" USER_FOLDER "/" FILE_NAME, folder);
	else
		snprintf(out, size, "@heapcast-%u", (unsigned)geteuid());
}

/* Creates the folder of the default name. If that fails, bind reports the error. */
static void daemon_socket_make_folder(const char *name)
{
	char folder[DAEMON_SOCKET_NAME_MAX];
	const char *slash = strrchr(name, '/');

	if (!slash)
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - name), name);
	if (mkdir(folder, 0700) == 0 && geteuid() == 0)
		chmod(folder, 0755); /* mkdir applies the umask */
}

/* Returns true if the locked file is still the one at `path`. */
static bool daemon_socket_is_there(int fd, const char *path)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && lstat(path, &there) == 0 && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

/* Returns a locked descriptor; -EADDRINUSE if another process holds the lock; or another negative
 * errno. */
static int daemon_socket_lock(const char *name)
{
	char path[DAEMON_SOCKET_NAME_MAX + 8];

	snprintf(path, sizeof(path), "%s.lock", name);
	for (int i = 0; i < LOCK_TRIES; i++) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), error;

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && daemon_socket_is_there(fd, path))
			return fd;
		error = errno;
		close(fd);
		if (error == EWOULDBLOCK)
			return -EADDRINUSE;
	}
	return -EADDRINUSE;
}

static int daemon_socket_failed(const char *name, int r, struct err_text *err)
{
	if (r == -EADDRINUSE)
		return err_set(err, r,
			       "another agent serves at %s already (--socket names another place)",
			       name);
	if (r == -EEXIST)
		return err_set(err, r, "%s is there and no socket: it is left alone", name);
	if (r == -ENAMETOOLONG)
		return err_set(err, r, "the name of the socket is too long: %s", name);
	if (r == -EACCES || r == -EPERM || r == -ENOENT || r == -EROFS)
		return err_set(err, r, "can't listen at %s: %s (--socket says where)", name,
			       strerror(-r));
	return err_set(err, r, "can't listen at %s: %s", name, strerror(-r));
}

int daemon_socket_open(struct daemon_socket *ret, const char *name, struct err_text *err)
{
	struct daemon_socket s = {.lock_fd = -1};
	struct stat status;
	int fd;

	if (name)
		snprintf(s.name, sizeof(s.name), "%s", name);
	else
		daemon_socket_default(s.name, sizeof(s.name));
	if (name && strlen(name) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return daemon_socket_failed(name, -ENAMETOOLONG, err);
	if (!name)
		daemon_socket_make_folder(s.name);
	if (s.name[0] != '@') {
		s.lock_fd = daemon_socket_lock(s.name);
		if (s.lock_fd < 0)
			return daemon_socket_failed(s.name, s.lock_fd, err);
	}
	fd = handshake_socket(s.name);
	if (fd >= 0 && s.name[0] != '@' && lstat(s.name, &status) == 0) {
		s.device = status.st_dev;
		s.inode = status.st_ino;
	}
	*ret = s;
	if (fd < 0)
		daemon_socket_close(ret);
	return fd < 0 ? daemon_socket_failed(s.name, fd, err) : fd;
}

void daemon_socket_adopt(struct daemon_socket *ret, int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t length = sizeof(address);
	size_t start = offsetof(struct sockaddr_un, sun_path);

	*ret = (struct daemon_socket){.lock_fd = -1, .given = true};
	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0 || length <= start)
		return;
	if (!address.sun_path[0])
		address.sun_path[0] = '@';
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(length - start), address.sun_path);
}

void daemon_socket_admit(const struct daemon_socket *s, const struct access *a)
{
	bool named = access_others(a);
	mode_t mode = named ? 0666 : 0600; /* any user may connect then; credentials decide later */

	if (s->given || s->name[0] == '@' || !s->name[0])
		return;
	if (!a->everyone && !a->users && a->groups == 1 &&
	    lchown(s->name, (uid_t)-1, a->group[0]) == 0)
		mode = 0660;
	chmod(s->name, mode);
}

void daemon_socket_text(const struct daemon_socket *s, char *out, size_t size)
{
	struct stat status;

	if (s->given)
		snprintf(out, size, "%s (passed by the service manager)",
			 *s->name ? s->name : "a socket");
	else if (s->name[0] == '@' || lstat(s->name, &status) < 0)
		snprintf(out, size, "%s", s->name);
	else
		snprintf(out, size, "%s (mode %04o, user %u, group %u)", s->name,
			 (unsigned)status.st_mode & 07777, (unsigned)status.st_uid,
			 (unsigned)status.st_gid);
}

void daemon_socket_close(struct daemon_socket *s)
{
	char path[DAEMON_SOCKET_NAME_MAX + 8];
	struct stat status;

	if (s->inode && lstat(s->name, &status) == 0 && status.st_ino == s->inode &&
	    status.st_dev == s->device)
		unlink(s->name);
	s->inode = 0;
	if (s->lock_fd <= 0)
		return;
	snprintf(path, sizeof(path), "%s.lock", s->name);
	unlink(path);
	close(s->lock_fd);
	s->lock_fd = -1;
}
