/* A program is given its ring, and told what to do to an allocator that is linked into it. See agent.h, own_allocator.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/streamer/agent.h"
#include "agent/streamer/own_allocator.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/ban.h"

/* The program of this image: of a process that has called exec it is not the one that the stream began with. */
static void say_refused(pid_t pid, const struct own_allocator *own)
{
	char name[16] = "the program", others[32] = "";

	target_thread_name(pid, pid, name);
	if (own->refused > 1)
		snprintf(others, sizeof(others), " and %u more", own->refused - 1);
	log_warn("%s has an allocator linked into it of which not all is recorded: %s%s can't be "
		 "hooked (%s); link it with the allocator's shared library, or with libc's",
		 name, own->function, others, own->reason);
}

/* Programs that were looked at, and have nothing of the kind: a build starts the same ones over and over. */
#define KNOWN 16

static struct known {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
} known[KNOWN];

static bool is_known(const struct known *k)
{
	for (unsigned i = 0; i < KNOWN; i++)
		if (!memcmp(&known[i], k, sizeof(*k)))
			return true;
	return false;
}

static void find_once(int fd, bool early, struct own_allocator *own)
{
	static unsigned next;
	struct known k;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	memset(&k, 0, sizeof(k));
	k.device = st.st_dev;
	k.inode = st.st_ino;
	k.size = st.st_size;
	k.changed = st.st_ctim;
	if (is_known(&k))
		return;
	own_allocator_find(fd, early, own);
	if (!own->count && !own->refused)
		known[next++ % KNOWN] = k;
}

static void look_inside(struct session *s, const struct handshake_client *client,
			struct own_allocator *own)
{
	bool early = client->flags & RING_HELLO_EARLY && target_threads(client->pid) == 1;
	cleanup(cleanup_close) int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)client->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	find_once(fd, early, own);
	s->patches += own->count;
	if (own->reason)
		say_refused(client->pid, own);
	if (own->count)
		log_info("pid %d has an allocator linked into it: %u functions are hooked where "
			 "they begin",
			 (int)client->pid, own->count);
}

/* A fork child has what its parent has. */
void session_accept(struct session *s, struct handshake_client *client)
{
	static struct own_allocator own; /* 8 KiB; one loop */

	own.count = own.refused = 0;
	own.reason = NULL;
	if (!(client->flags & RING_HELLO_FORKED))
		look_inside(s, client, &own);
	handshake_answer_with(client, RING_ACCEPTED, s->stream.source.ring->fd,
			      s->stream.source.ring->size, own.entry, own.count);
}

void session_check_patches(const struct session *s)
{
	uint32_t patched =
		__atomic_load_n(&s->stream.source.ring->header->patched, __ATOMIC_RELAXED);

	if (patched < s->patches)
		log_warn("%s has an allocator linked into it, and %u of its %u functions could not "
			 "be hooked where they begin (the system refused, or they are not what "
			 "its file says): what those do is not recorded",
			 target_name(&s->stream.target), s->patches - patched, s->patches);
}
