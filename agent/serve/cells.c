/* Manages counting cells. See cells.h. */
#include "agent/serve/cells.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/serve/agent.h"
#include "base/log.h"
#include "base/ban.h"

#define ANCESTORS_MAX 64

static struct session *session_by_id(struct agent *a, const uint8_t *id)
{
	for (uint32_t i = 0; i < a->budget.slots; i++) {
		struct stream *s = &a->session[i].stream;

		if (stream_state(s) == STREAM_LIVE && !memcmp(s->id, id, STREAM_ID_SIZE))
			return &a->session[i];
	}
	return NULL;
}

/* Returns the session of the nearest recorded process among this process and its ancestors, except
 * `except`; NULL if none is recorded. */
static struct session *session_above(struct agent *a, pid_t pid, const struct session *except)
{
	uint64_t start;

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		for (uint32_t k = 0; k < a->budget.slots; k++) {
			struct session *s = &a->session[k];

			if (s != except && stream_state(&s->stream) == STREAM_LIVE &&
			    s->stream.target.pid == pid)
				return s;
		}
		if (target_identity(pid, &pid, &start) < 0)
			return NULL;
	}
	return NULL;
}

static bool is_told(const struct agent *a, pid_t pid, uint64_t start_ticks)
{
	const struct cell_told *t = &a->cell_told[(uint32_t)pid % CELLS_TOLD];

	return t->pid == pid && t->start_ticks == (uint32_t)start_ticks;
}

static void cells_tell(struct agent *a, struct session *s, const struct unrecorded *u,
		       uint64_t start_ticks)
{
	a->cell_told[u->pid % CELLS_TOLD] =
		(struct cell_told){.pid = (pid_t)u->pid, .start_ticks = (uint32_t)start_ticks};
	if (!s) {
		log_info("%u (%s) was not recorded, nor is any process that it descends from",
			 (unsigned)u->pid, u->name);
		return;
	}
	pthread_mutex_lock(&s->stream.lock);
	stream_tell_unrecorded(&s->stream, u);
	pthread_mutex_unlock(&s->stream.lock);
}

/* ---- cells ---- */

static void cell_close(struct cell *c)
{
	munmap(c->header, RING_HEADER_SIZE);
	close(c->fd);
	*c = (struct cell){0};
}

/* Reports the counts in the cell's page, and frees the cell. The program can write to the page, so
 * the counts are only as honest as the program. */
static void cell_tell(struct agent *a, struct cell *c, struct session *s)
{
	struct ring_losses n = ring_losses_read(&c->header->no_slice);
	struct unrecorded u = {.pid = (uint32_t)c->pid,
			       .counted = true,
			       .events = n.events,
			       .allocations = n.allocations,
			       .frees = n.frees,
			       .bytes = n.bytes};

	memcpy(u.name, c->name, sizeof(u.name));
	cells_tell(a, s, &u, c->start_ticks);
	cell_close(c);
}

static int cell_map(struct cell *c)
{
	void *memory;

	c->fd = memfd_create(RING_MEMORY_NAME "-cell", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->fd < 0)
		return -errno;
	memory = ftruncate(c->fd, RING_HEADER_SIZE) < 0 ||
				 fallocate(c->fd, 0, 0, RING_HEADER_SIZE) < 0 ||
				 fcntl(c->fd, F_ADD_SEALS,
				       F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0
			 ? MAP_FAILED
			 : mmap(NULL, RING_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd,
				0);
	if (memory == MAP_FAILED) {
		close(c->fd);
		return -ENOMEM;
	}
	c->header = memory;
	return 0;
}

static void cells_fill(const struct cell *c, const struct ring_settings *s)
{
	struct ring_header *h = c->header;

	h->magic = RING_MAGIC;
	h->version = RING_VERSION;
	h->size = RING_HEADER_SIZE;
	h->slices_offset = RING_HEADER_SIZE;
	h->modules_offset = RING_HEADER_SIZE;
	h->set_offset = RING_HEADER_SIZE;
	h->data_offset = RING_HEADER_SIZE;
	memcpy(h->stream, c->parent, sizeof(h->stream));
	h->control = 1;
	h->mode = s->mode == RING_OFF ? RING_OFF : RING_FULL;
	h->policy = RING_COUNT;
	h->account.incarnation = 1;
}

static struct cell *cell_of(struct agent *a, pid_t pid, uint64_t start_ticks)
{
	for (unsigned i = 0; i < CELLS_MAX; i++)
		if (a->cell[i].header && a->cell[i].pid == pid &&
		    a->cell[i].start_ticks == start_ticks)
			return &a->cell[i];
	return NULL;
}

static struct cell *cell_new(struct agent *a, const struct target_info *target,
			     const struct session *parent)
{
	struct cell *c = NULL;

	for (unsigned i = 0; i < CELLS_MAX && !c; i++)
		if (!a->cell[i].header)
			c = &a->cell[i];
	if (!c || !a->budget.virtual || cell_map(c) < 0)
		return NULL;
	c->pid = target->pid;
	c->start_ticks = target->start_ticks;
	memcpy(c->parent, parent->stream.id, sizeof(c->parent));
	cells_fill(c, &a->settings.each.ring);
	return c;
}

/* ---- programs that ask ---- */

static struct session *cells_parent_of(struct agent *a, pid_t pid, const struct ring_hello *hello)
{
	struct session *s =
		hello->flags & RING_HELLO_FORKED ? session_by_id(a, hello->parent_stream) : NULL;

	return s ? s : session_above(a, pid, NULL);
}

static void tell_uncounted(struct agent *a, struct session *parent,
			   const struct target_info *target)
{
	struct unrecorded u = {.pid = (uint32_t)target->pid};

	if (is_told(a, target->pid, target->start_ticks))
		return;
	memcpy(u.name, target->comm, sizeof(u.name));
	cells_tell(a, parent, &u, target->start_ticks);
}

void cells_turn_away(struct agent *a, struct handshake_client *client,
		     const struct ring_hello *hello)
{
	struct session *parent = cells_parent_of(a, client->pid, hello);
	struct target_info target;
	struct cell *c = NULL;

	log_info("pid %d asks to be recorded, but there is no memory for it: raise --memory-limit",
		 (int)client->pid);
	if (parent && target_read(client->pid, &target) == 0) {
		c = cell_of(a, target.pid, target.start_ticks);
		if (!c && !is_told(a, target.pid, target.start_ticks)) {
			a->turned_away++;
			c = cell_new(a, &target, parent);
		}
		if (!c)
			tell_uncounted(a, parent, &target);
		else
			memcpy(c->name, target.comm, sizeof(c->name));
	}
	if (!c)
		handshake_answer(client, RING_BUSY);
	else
		handshake_answer_with(client, RING_COUNTED, c->fd, RING_HEADER_SIZE, NULL, 0);
}

void cells_placed(struct agent *a, pid_t pid)
{
	for (unsigned i = 0; i < CELLS_MAX; i++)
		if (a->cell[i].header && a->cell[i].pid == pid)
			cell_tell(a, &a->cell[i], session_by_id(a, a->cell[i].parent));
}

void cells_unready(struct agent *a, struct handshake_client *client, const struct ring_hello *hello)
{
	struct target_info target;

	if (target_read(client->pid, &target) == 0)
		tell_uncounted(a, cells_parent_of(a, client->pid, hello), &target);
}

/* Returns true if a process with this pid is recorded, counted or was reported. The process is
 * gone, so only its pid can be compared. */
static bool cells_is_known(const struct agent *a, pid_t pid)
{
	for (uint32_t i = 0; i < a->budget.slots; i++)
		if (stream_state(&a->session[i].stream) != STREAM_FREE &&
		    a->session[i].stream.target.pid == pid)
			return true;
	for (unsigned i = 0; i < CELLS_MAX; i++)
		if (a->cell[i].header && a->cell[i].pid == pid)
			return true;
	return a->cell_told[(uint32_t)pid % CELLS_TOLD].pid == pid;
}

/* The process is gone, so its ancestors can't be looked up. A fork child names its parent's
 * stream in its request; any other process counts as a descendant of the program that `agent
 * run` started. */
void cells_unheard(struct agent *a, const struct handshake_client *client,
		   const struct ring_hello *hello)
{
	struct session *parent =
		hello->flags & RING_HELLO_FORKED ? session_by_id(a, hello->parent_stream) : NULL;
	struct unrecorded u = {.pid = (uint32_t)client->pid, .name = "?"};

	if (client->pid <= 0 || cells_is_known(a, client->pid))
		return;
	a->unheard++;
	log_info("pid %d asked to be recorded, but ended before the agent, which "
		 "was busy, could answer",
		 (int)client->pid);
	if (!parent && a->only)
		parent = session_above(a, a->only, NULL);
	cells_tell(a, parent, &u, 0);
}

/* ---- ends of counted processes ---- */

static bool is_over(const struct cell *c)
{
	uint64_t start;
	pid_t parent;

	return target_identity(c->pid, &parent, &start) < 0 || start != c->start_ticks;
}

void cells_tick(struct agent *a)
{
	for (unsigned i = 0; i < CELLS_MAX; i++) {
		struct cell *c = &a->cell[i];

		if (c->header && (a->stopping || is_over(c)))
			cell_tell(a, c, session_by_id(a, c->parent));
	}
}

void cells_orphaned(struct session *s)
{
	struct agent *a = s->agent;
	struct session *above = NULL;

	for (unsigned i = 0; i < CELLS_MAX; i++) {
		struct cell *c = &a->cell[i];

		if (!c->header || memcmp(c->parent, s->stream.id, STREAM_ID_SIZE))
			continue;
		if (!above)
			above = session_above(a, s->stream.target.parent, s);
		if (above && !is_over(c))
			memcpy(c->parent, above->stream.id, sizeof(c->parent));
		else
			cell_tell(a, c, s);
	}
}
