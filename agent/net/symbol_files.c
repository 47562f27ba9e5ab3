/*
 * Sends symbol files. See symbol_files.h. The module table consists of records, from the oldest to
 * the newest:
 *
 *    | record length, 2 bytes | build id length, 1 | user, 4 | build id | path |
 */
#include "agent/net/symbol_files.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/stream/batch.h"
#include "agent/core/clock.h"
#include "agent/stream/stream.h"
#include "base/crc32.h"
#include "base/log.h"
#include "proto/frame.h"
#include "base/ban.h"

#define REFUSED(why) HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_##why
#define RECORD_HEAD  7
/* For this time after a file, the collector may ask for the next one before the agent counts as
 * idle. */
#define GRACE_NS      3000000000
#define STANDSTILL_NS 5000000000

static void symbol_files_serve(struct symbol_files *f);

/* ---- the module table ---- */

struct known {
	size_t length;
	uint32_t build_id_length, path_length;
	uid_t uid;
	const uint8_t *build_id, *path;
};

static struct known known_at(const struct symbol_files *f, size_t at)
{
	const uint8_t *p = f->known + at;
	struct known k = {.length = p[0] | (size_t)p[1] << 8, .build_id_length = p[2]};
	uint32_t uid;

	memcpy(&uid, p + 3, sizeof(uid));
	k.uid = uid;
	k.build_id = p + RECORD_HEAD;
	k.path = k.build_id + k.build_id_length;
	k.path_length = (uint32_t)(k.length - RECORD_HEAD - k.build_id_length);
	return k;
}

static void symbol_files_drop(struct symbol_files *f, size_t at, size_t length)
{
	memmove(f->known + at, f->known + at + length, f->known_length - at - length);
	f->known_length -= length;
}

static bool symbol_files_is_module(const struct known *k, const struct module *m, uid_t uid)
{
	return k->uid == uid && k->build_id_length == m->build_id_length &&
	       k->path_length == m->path_length &&
	       !memcmp(k->build_id, m->build_id, m->build_id_length) &&
	       !memcmp(k->path, m->path, m->path_length);
}

/* Adds a module as the newest record. If the table has it already, moves it to the end. */
static void keep(struct symbol_files *f, const struct module *m, uid_t uid)
{
	size_t length = RECORD_HEAD + m->build_id_length + (size_t)m->path_length;
	uint32_t user = uid;
	uint8_t *p;

	for (size_t at = 0; at < f->known_length;) {
		struct known k = known_at(f, at);

		if (symbol_files_is_module(&k, m, uid))
			symbol_files_drop(f, at, k.length);
		else
			at += k.length;
	}
	while (f->known_length + length > SYMBOL_KNOWN)
		symbol_files_drop(f, 0, known_at(f, 0).length);
	p = f->known + f->known_length;
	p[0] = (uint8_t)length;
	p[1] = (uint8_t)(length >> 8);
	p[2] = m->build_id_length;
	memcpy(p + 3, &user, sizeof(user));
	memcpy(p + RECORD_HEAD, m->build_id, m->build_id_length);
	memcpy(p + RECORD_HEAD + m->build_id_length, m->path, m->path_length);
	f->known_length += length;
}

void symbol_files_keep(struct symbol_files *f, const struct stream *s)
{
	for (uint32_t i = 0; i < s->modules.count; i++) {
		const struct module *m = &s->modules.entry[i];

		if (m->build_id_length && m->path_length && m->path[0] == '/')
			keep(f, m, s->target.uid);
	}
}

static struct symbol_place *add_place(struct symbol_files *f, uid_t uid, const uint8_t *path,
				      size_t length)
{
	struct symbol_place *p;

	if (f->places == SYMBOL_PLACES_MAX || length > MODULE_PATH_MAX || memchr(path, 0, length))
		return NULL;
	p = &f->place[f->places++];
	*p = (struct symbol_place){.uid = uid, .build_id_length = f->request.build_id_length};
	memcpy(p->build_id, f->request.build_id, p->build_id_length);
	memcpy(p->path, path, length);
	return p;
}

static bool symbol_files_is_wanted(const struct symbol_files *f, const uint8_t *build_id,
				   uint32_t length)
{
	return length == f->request.build_id_length &&
	       !memcmp(build_id, f->request.build_id, length);
}

/* Adds a place from a stream that still exists. One place from each is enough. */
static void add_live(struct symbol_files *f, struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; s->state != STREAM_FREE && i < s->modules.count; i++) {
		const struct module *m = &s->modules.entry[i];
		struct symbol_place *p;

		if (!symbol_files_is_wanted(f, m->build_id, m->build_id_length))
			continue;
		p = add_place(f, s->target.uid, m->path, m->path_length);
		if (p && s->state == STREAM_LIVE && m->ended_ns == MODULE_THERE) {
			p->pid = s->target.pid;
			p->start = m->start;
		}
		break;
	}
	pthread_mutex_unlock(&s->lock);
}

static void find_places(struct symbol_files *f)
{
	f->places = 0;
	for (uint32_t i = 0; i < f->streams; i++)
		add_live(f, f->stream[i]);
	for (size_t at = 0; at < f->known_length;) {
		struct known k = known_at(f, at);

		if (symbol_files_is_wanted(f, k.build_id, k.build_id_length))
			add_place(f, k.uid, k.path, k.path_length);
		at += k.length;
	}
}

/* ---- the worker ---- */

static void symbol_files_open_file(struct symbol_files *f)
{
	f->found = f->places ? REFUSED(NONE) : REFUSED(UNKNOWN);
	for (uint32_t i = 0; i < f->places; i++) {
		int r = symbol_place_open(&f->place[i], f->policy_then, &f->file);

		f->found = !r || r > f->found ? r : f->found;
		if (!r)
			break;
	}
}

static void symbol_files_read_piece(struct symbol_files *f)
{
	uint64_t left = f->file.size - f->offset;
	size_t want = left < SYMBOL_PIECE ? (size_t)left : SYMBOL_PIECE;

	f->length = 0;
	if (pread(f->file.fd, f->piece, want, (off_t)f->offset) != (ssize_t)want ||
	    symbol_identity(f->file.fd) != f->file.identity)
		return;
	f->length = want;
	f->crc = crc32_add(f->crc, f->piece, want);
}

static void symbol_files_work(uv_work_t *work)
{
	struct symbol_files *f = work->data;

	if (f->file.fd < 0)
		symbol_files_open_file(f);
	else
		symbol_files_read_piece(f);
}

/* ---- the main loop ---- */

static void close_file(struct symbol_files *f)
{
	if (f->file.fd >= 0)
		close(f->file.fd);
	f->file.fd = -1;
	f->opened = f->ready = false;
}

static void symbol_files_end(struct symbol_files *f)
{
	close_file(f);
	f->to = NULL;
	uv_timer_stop(&f->timer);
}

/* Decides at which offset to start, after the worker has opened the file. */
static void symbol_files_begin(struct symbol_files *f)
{
	bool same = f->request.identity == f->file.identity && f->request.offset < f->file.size;

	f->opened = true;
	f->refusal = f->found;
	f->offset = same ? f->request.offset : 0;
	f->crc = same ? f->request.crc : 0;
}

static void worked(uv_work_t *work, int status)
{
	struct symbol_files *f = work->data;

	f->working = false;
	if (f->outdated || !f->to || status < 0) {
		f->outdated = false;
		close_file(f);
	} else if (!f->opened) {
		symbol_files_begin(f);
	} else {
		f->ready = f->length > 0;
		f->refusal = f->length ? REFUSED(NONE) : REFUSED(CHANGED);
	}
	symbol_files_serve(f);
}

/* Does the next step. */
static void symbol_files_serve(struct symbol_files *f)
{
	if (!f->to || f->working)
		return;
	if (f->refusal || f->ready) {
		f->pump(f->to);
		return;
	}
	if (!f->opened) {
		find_places(f);
		f->policy_then = f->policy;
	}
	if (uv_queue_work(f->timer.loop, &f->work, symbol_files_work, worked) == 0)
		f->working = true;
}

static void take_turn(uv_timer_t *timer)
{
	struct symbol_files *f = timer->data;

	f->turn = true;
	if (f->to && (f->ready || f->refusal))
		f->pump(f->to);
}

static bool symbol_files_read_request(struct symbol_request *r, const Heapcast__FileRequest *order)
{
	if (!order->build_id.len || order->build_id.len > sizeof(r->build_id))
		return false;
	*r = (struct symbol_request){.build_id_length = (uint32_t)order->build_id.len,
				     .offset = order->offset,
				     .identity = order->identity,
				     .crc = order->crc};
	memcpy(r->build_id, order->build_id.data, order->build_id.len);
	return true;
}

void symbol_files_ask(struct symbol_files *f, struct link *link, const Heapcast__FileRequest *order)
{
	struct symbol_request request;

	if (!symbol_files_read_request(&request, order)) {
		symbol_files_leave(f, link);
		return;
	}
	if (f->to && f->to != link) {
		f->turned_away = link;
		f->turned_away_request = request;
		return;
	}
	f->request = request;
	f->to = link;
	f->refusal = f->policy == SYMBOLS_NONE ? REFUSED(SWITCHED_OFF) : REFUSED(NONE);
	f->moved_ns = clock_monotonic_ns();
	if (f->working)
		f->outdated = true;
	else
		close_file(f);
	f->ready = f->opened = false;
	uv_timer_start(&f->timer, take_turn, SYMBOL_FILES_TURN_MS, SYMBOL_FILES_TURN_MS);
	if (!f->refusal)
		symbol_files_serve(f); /* on a refusal, the link sends it when it sends next */
}

static long symbol_files_pack(struct packer *p, const struct symbol_request *request, int refusal,
			      const struct symbol_files *f, uint8_t *out, size_t size)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Link m = HEAPCAST__LINK__INIT;
	Heapcast__FilePiece piece = HEAPCAST__FILE_PIECE__INIT;

	piece.build_id = (ProtobufCBinaryData){request->build_id_length,
					       (uint8_t *)(uintptr_t)request->build_id};
	piece.refusal = (Heapcast__FileRefusal)refusal;
	if (!refusal) {
		piece.total = f->file.size;
		piece.identity = f->file.identity;
		piece.offset = f->offset;
		piece.data = (ProtobufCBinaryData){f->length, f->piece};
		piece.crc = f->crc;
	}
	m.file = &piece;
	batch.link = &m;
	if (heapcast__batch__get_packed_size(&batch) > p->message_size)
		return -EMSGSIZE;
	return frame_encode(p->encoder, p->message, heapcast__batch__pack(&batch, p->message), out,
			    size);
}

/* Returns true if the other side has received all but a piece of what the socket was given. */
static bool symbol_files_has_room(int fd)
{
	int waiting = 0;

	return ioctl(fd, SIOCOUTQ, &waiting) < 0 || (size_t)waiting <= frame_bound(SYMBOL_PIECE);
}

long symbol_files_next(struct symbol_files *f, const struct link *link, int fd,
		       struct packer *packer, uint8_t *out, size_t size)
{
	long n;

	if (f->turned_away == link) {
		f->turned_away = NULL;
		return symbol_files_pack(packer, &f->turned_away_request, REFUSED(BUSY), f, out,
					 size);
	}
	if (f->to != link || f->working || (!f->ready && !f->refusal))
		return 0;
	if (!f->refusal && (!f->turn || !symbol_files_has_room(fd)))
		return 0;
	n = symbol_files_pack(packer, &f->request, f->refusal, f, out, size);
	f->moved_ns = clock_monotonic_ns();
	f->turn = f->ready = false;
	f->offset += f->length;
	if (f->refusal || f->offset == f->file.size)
		symbol_files_end(f);
	else
		symbol_files_serve(f);
	return n;
}

void symbol_files_leave(struct symbol_files *f, const struct link *link)
{
	if (f->turned_away == link)
		f->turned_away = NULL;
	if (f->to != link)
		return;
	f->to = NULL;
	uv_timer_stop(&f->timer);
	if (f->working)
		f->outdated = true;
	else
		close_file(f);
}

bool symbol_files_busy(const struct symbol_files *f, uint64_t now_ns)
{
	return f->moved_ns && now_ns - f->moved_ns < (f->to ? STANDSTILL_NS : GRACE_NS);
}

int symbol_files_init(struct symbol_files *f, struct arena *arena, uv_loop_t *loop,
		      struct stream *const *stream, uint32_t streams,
		      void (*pump)(struct link *link))
{
	*f = (struct symbol_files){
		.stream = stream, .streams = streams, .pump = pump, .file = {.fd = -1}};
	f->known = arena_take(arena, SYMBOL_KNOWN);
	f->piece = arena_take(arena, SYMBOL_PIECE);
	if (!f->known || !f->piece)
		return -ENOMEM;
	uv_timer_init(loop, &f->timer);
	f->timer.data = f->work.data = f;
	return 0;
}

void symbol_files_done(struct symbol_files *f)
{
	if (f->known)
		close_file(f);
}
