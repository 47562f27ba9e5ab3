/* Gives a program its ring, and tells it how to patch an allocator that is linked into it. See
 * agent.h, own_allocator.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/serve/agent.h"
#include "agent/serve/own_allocator.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/ban.h"

/* Names the current image of the process: after an exec the stream's target is still the first
 * image. */
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

#define KNOWN 16
/* bytes of a program's file; reading a longer one may take longer than the program waits */
#define LARGE (32 << 20)

/* Identifies a program's file in one state. */
struct program {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
	bool early;
};

static const struct own_allocator nothing;

static struct program program_of(const struct stat *st, bool early)
{
	struct program p;

	memset(&p, 0, sizeof(p)); /* clears padding: the structs are compared byte by byte */
	p.device = st->st_dev;
	p.inode = st->st_ino;
	p.size = st->st_size;
	p.changed = st->st_ctim;
	p.early = early;
	return p;
}

/* Caches programs without an allocator, since a build starts the same programs over and over, and
 * the last program with one, since a browser consists of many processes. */
static const struct own_allocator *find_once(int fd, bool early, struct handshake_client *client)
{
	static struct program without[KNOWN], last;
	static struct own_allocator found; /* the result for `last`; 8 KiB; used by the main loop
					    * only */
	static unsigned next;
	struct program p;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return &nothing;
	p = program_of(&st, early);
	for (unsigned i = 0; i < KNOWN; i++)
		if (!memcmp(&without[i], &p, sizeof(p)))
			return &nothing;
	if (!memcmp(&last, &p, sizeof(p)))
		return &found;
	if (st.st_size > LARGE)
		handshake_wait(client);
	memset(&last, 0, sizeof(last));
	own_allocator_find(fd, early, &found);
	if (found.count || found.refused)
		last = p;
	else
		without[next++ % KNOWN] = p;
	return &found;
}

static const struct own_allocator *look_inside(struct session *s, struct handshake_client *client)
{
	bool early = client->flags & RING_HELLO_EARLY && target_threads(client->pid) == 1;
	cleanup(cleanup_close) int fd = -1;
	const struct own_allocator *own;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)client->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return &nothing;
	own = find_once(fd, early, client);
	s->patches += own->count;
	if (own->reason)
		say_refused(client->pid, own);
	if (own->count)
		log_info("pid %d has an allocator linked into it: %u functions are hooked where "
			 "they begin",
			 (int)client->pid, own->count);
	return own;
}

/* Computes no patches for a fork child, because it inherits its parent's. */
void session_accept(struct session *s, struct handshake_client *client)
{
	bool forked = client->flags & RING_HELLO_FORKED;
	const struct own_allocator *own = forked ? &nothing : look_inside(s, client);
	pid_t pid = client->pid;

	client->follow = s->settings.follow;
	if (handshake_answer_with(client, RING_ACCEPTED, s->ring.ring->fd, s->ring.ring->size,
				  own->entry, own->count) == 0)
		return;
	log_info("pid %d (%s) has not waited for this agent, which was too slow: it will ask again",
		 (int)pid, target_name(&s->stream.target));
}

void session_check_patches(const struct session *s)
{
	const struct ring_header *h = session_ring(s);
	uint32_t patched = h ? __atomic_load_n(&h->patched, __ATOMIC_RELAXED) : 0;

	if (patched < s->patches)
		log_warn("%s has an allocator linked into it, and %u of its %u functions could not "
			 "be hooked where they begin (the system refused, or they are not what "
			 "its file says): what those do is not recorded",
			 target_name(&s->stream.target), s->patches - patched, s->patches);
}
