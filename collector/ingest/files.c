/*
 * Symbol files from agents. Requests wait in a list. A link is asked for one file at a time, and
 * agents are asked one after the other until one has the file.
 *
 *   wanted -> asked -> pieces, each checked -> complete -> worker: durable, ELF file, build id
 *          -> moved into place
 *
 * If a link breaks, the received bytes stay, and the next link to an agent with the same file
 * continues there. Agents are untrusted: the file's name is ours, its size is bounded by what the
 * agent stated, by FILE_BYTES_MAX and by half of the disk's free space, all files together by
 * FILES_BYTES_MAX, and a file is accepted only if it has the requested build id.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/crc32.h"
#include "collector/ingest/state.h"
#include "base/ban.h"

#define PIECE_MAX	(16u << 10)
#define FILE_BYTES_MAX	(512ull << 20)
#define FILES_BYTES_MAX (4ull << 30) /* maximum per run */
#define TRANSFERS_MAX	1024
#define SILENT_MS	60000 /* events have priority, so an answer may take long */
#define NOBODY_MS	30000 /* time for the agent to return */
#define BUSY_MS		2000
#define RESTARTS_MAX	3 /* restarts because the file changes during the transfer */

static bool same_file(const struct ingest_file *a, const struct ingest_file *b)
{
	return a->build_id_length == b->build_id_length &&
	       !memcmp(a->build_id, b->build_id, a->build_id_length);
}

static struct transfer *transfer_find(const struct ingest *ingest, const struct ingest_file *file)
{
	struct transfer *t = ingest->files.transfers;

	while (t && !same_file(&t->file, file))
		t = t->next;
	return t;
}

/* ---- the end of a transfer ---- */

/* Discards the received bytes. */
static void drop_bytes(struct transfer *t)
{
	if (t->fd >= 0)
		close(t->fd);
	if (t->path)
		unlink(t->path);
	free(t->path);
	t->ingest->files.bytes -= t->total;
	t->path = NULL;
	t->fd = -1;
	t->total = t->received = t->identity = 0;
	t->crc = 0;
}

static void transfer_free(struct transfer *t)
{
	struct transfer **at = &t->ingest->files.transfers;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->ingest->files.count--;
	drop_bytes(t);
	free(t);
}

static void conclude(struct transfer *t, bool complete, const char *text)
{
	struct ingest_file file = t->file;
	struct ingest *ingest = t->ingest;

	transfer_free(t);
	ingest_tell(ingest, &(struct ingest_event){.kind = INGEST_FILE,
						   .file = &file,
						   .complete = complete,
						   .text = text});
}

/* Tells the agent to stop sending. */
static void stop_asking(struct transfer *t)
{
	struct link *link = t->link;

	t->link = NULL;
	if (link)
		order_file(link, NULL);
}

static void files_fail(struct transfer *t, const char *text)
{
	stop_asking(t);
	conclude(t, false, text);
}

/* ---- a complete file ---- */

static void files_check(uv_work_t *work)
{
	struct transfer *t = work->data;

	t->work_error = fsync(t->fd) ? -errno
				     : t->ingest->files.came(t->ingest->context, &t->file, t->path,
							     &t->work_text);
}

static void checked(uv_work_t *work, int status)
{
	struct transfer *t = work->data;
	struct ingest *ingest = t->ingest;
	char text[sizeof(t->work_text)];

	t->working = false;
	if (status < 0)
		t->work_error = status;
	snprintf(text, sizeof(text), "%s",
		 t->work_error < 0 ? err_get(&t->work_text, t->work_error) : t->work_text.text);
	if (!t->work_error)
		ingest->files.bytes += t->total; /* keeps the bytes in the total, from which
						  * transfer_free subtracts them */
	conclude(t, !t->work_error, text);
	ingest_released(ingest);
}

static void start_check(struct transfer *t)
{
	t->link = NULL;
	if (uv_queue_work(t->ingest->loop, &t->work, files_check, checked) < 0) {
		conclude(t, false, "no thread to check it with");
		return;
	}
	t->working = true;
	t->ingest->pending++;
}

/* ---- pieces ---- */

static const char *refusal_text(Heapcast__FileRefusal refusal)
{
	static const char *const texts[] = {
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_UNKNOWN] =
			"no program that an agent here has recorded had a module with this build "
			"id",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_GONE] =
			"on the agent's host the file is gone, or another one is in its place",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_SWITCHED_OFF] =
			"the agent gives no files away (--send-symbols no)",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_PRIVATE] =
			"not every user of the agent's host may read the file: 'agent "
			"--send-symbols yes' gives what the program's own user may read",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_TOO_LARGE] =
			"the file is too large: agents give files of at most 512 MiB",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_STRIPPED] =
			"the file was stripped of everything that names code, and there is no "
			"debug "
			"file for it on the agent's host",
		[HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_CHANGED] =
			"the file was changed again and again while it was sent",
	};
	size_t i = (size_t)refusal;

	return i < sizeof(texts) / sizeof(texts[0]) && texts[i] ? texts[i] : "the agent refused it";
}

static void files_refused(struct transfer *t, struct link *link, Heapcast__FileRefusal refusal)
{
	t->link = NULL;
	if (refusal == HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_BUSY) {
		t->not_before_ms = uv_now(t->ingest->loop) + BUSY_MS;
		return;
	}
	if (refusal == HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_CHANGED &&
	    t->restarts++ < RESTARTS_MAX) {
		drop_bytes(t);
		return;
	}
	/* Another agent's reason says more than "unknown". */
	if (!t->why || refusal != HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_UNKNOWN)
		t->why = refusal_text(refusal);
	memcpy(t->tried[t->tries++ % TRANSFER_TRIES], link->agent, STREAM_ID_SIZE);
}

/*
 * Creates a hidden file in the store's folder, so that it can be renamed into place. Returns NULL
 * or the reason of failure.
 */
static const char *begin_file(struct transfer *t, uint64_t total)
{
	struct files *files = &t->ingest->files;
	struct statvfs disk;

	if (total > FILE_BYTES_MAX)
		return "the agent says that the file has more than 512 MiB";
	if (files->bytes + total > FILES_BYTES_MAX)
		return "agents have sent 4 GiB of symbol files: no more in this run";
	if (mkdir(files->folder, 0700) && errno != EEXIST)
		return "the folder for symbol files can't be made";
	if (statvfs(files->folder, &disk) || total > (uint64_t)disk.f_bavail * disk.f_frsize / 2)
		return "it would take more than half of the free space on the disk";
	if (asprintf(&t->path, "%s/" INGEST_FILE_PREFIX "XXXXXX", files->folder) < 0) {
		t->path = NULL;
		return "out of memory";
	}
	t->fd = mkostemp(t->path, O_CLOEXEC);
	if (t->fd < 0) {
		free(t->path);
		t->path = NULL;
		return "no file for it can be made in the folder of symbol files";
	}
	t->total = total;
	files->bytes += total;
	return NULL;
}

/*
 * Returns 0, -EPROTO if the piece cannot belong to the requested file, or 1 if the transfer has
 * failed and was freed.
 */
static int put_piece(struct transfer *t, const Heapcast__FilePiece *p, struct err_text *err)
{
	const char *why;

	if (!p->data.len || p->data.len > PIECE_MAX || !p->total || !p->identity ||
	    p->offset > p->total || p->data.len > p->total - p->offset)
		return err_set(err, -EPROTO, "a piece of a file that makes no sense");
	if (t->received && !p->offset && p->identity != t->identity)
		drop_bytes(t); /* the file has changed since the link broke */
	if (!t->path && !p->offset) {
		why = begin_file(t, p->total);
		if (why) {
			files_fail(t, why);
			return 1;
		}
		t->identity = p->identity;
	}
	if (!t->path || p->offset != t->received || p->total != t->total ||
	    p->identity != t->identity)
		return err_set(err, -EPROTO, "pieces of a file that do not fit together");
	if (crc32_add(t->crc, p->data.data, p->data.len) != p->crc)
		return err_set(err, -EPROTO, "a piece of a file with a wrong checksum");
	if (pwrite(t->fd, p->data.data, p->data.len, (off_t)p->offset) != (ssize_t)p->data.len) {
		files_fail(t, "the disk takes no more");
		return 1;
	}
	t->crc = p->crc;
	t->received += p->data.len;
	return 0;
}

int files_piece(struct link *link, const Heapcast__FilePiece *piece, struct err_text *err)
{
	struct ingest_file file = {.build_id_length = (uint32_t)piece->build_id.len};
	struct transfer *t;
	int r;

	if (piece->build_id.len > sizeof(file.build_id))
		return err_set(err, -EPROTO, "a piece of a file that nobody can have asked for");
	if (piece->build_id.len)
		memcpy(file.build_id, piece->build_id.data, piece->build_id.len);
	t = transfer_find(link->ingest, &file);
	if (!t || t->link != link || t->working)
		return 0; /* the piece was in flight when the request was cancelled */
	t->heard_ms = uv_now(link->ingest->loop);
	if (piece->refusal) {
		files_refused(t, link, piece->refusal);
		return 0;
	}
	r = put_piece(t, piece, err);
	if (r < 0)
		t->link = NULL;
	if (r < 0)
		memcpy(t->tried[t->tries++ % TRANSFER_TRIES], link->agent, STREAM_ID_SIZE);
	if (r == 0 && t->received == t->total)
		start_check(t);
	return r < 0 ? r : 0;
}

void files_link_gone(struct link *link)
{
	for (struct transfer *t = link->ingest->files.transfers; t; t = t->next) {
		if (t->link != link)
			continue;
		t->link = NULL;
		t->began_ms = uv_now(link->ingest->loop); /* from now on it waits for an agent */
	}
}

/* ---- requests ---- */

static bool was_tried(const struct transfer *t, const struct link *link)
{
	for (unsigned i = 0; i < t->tries && i < TRANSFER_TRIES; i++)
		if (!memcmp(t->tried[i], link->agent, STREAM_ID_SIZE))
			return true;
	return false;
}

static bool is_asked(const struct link *link)
{
	for (const struct transfer *t = link->ingest->files.transfers; t; t = t->next)
		if (t->link == link)
			return true;
	return false;
}

/* Asks the next agent. Returns true if an agent can be asked, now or later. */
static bool files_ask(struct transfer *t, uint64_t now_ms)
{
	bool any = false;

	for (struct link *l = t->ingest->links; l; l = l->next) {
		if (l->state != LINK_OPEN || was_tried(t, l))
			continue;
		any = true;
		if (now_ms < t->not_before_ms || is_asked(l))
			continue;
		t->link = l;
		t->heard_ms = now_ms;
		order_file(l, t);
		return true;
	}
	return any;
}

static void transfer_tick(struct transfer *t, uint64_t now_ms)
{
	if (t->working)
		return;
	if (t->link && now_ms - t->heard_ms > SILENT_MS) {
		memcpy(t->tried[t->tries++ % TRANSFER_TRIES], t->link->agent, STREAM_ID_SIZE);
		t->why = t->why ? t->why : "the agent does not answer: it may be too old for that";
		stop_asking(t);
	}
	if (t->link || files_ask(t, now_ms))
		return;
	if (t->why)
		conclude(t, false, t->why);
	else if (now_ms - t->began_ms > NOBODY_MS)
		conclude(t, false, "its agent is gone");
}

int ingest_fetch(struct ingest *ingest, const struct ingest_file *file)
{
	struct transfer *t;
	bool anybody = false;

	if (!ingest->files.folder)
		return -ENOTSUP;
	if (transfer_find(ingest, file))
		return 0;
	for (const struct link *l = ingest->links; l; l = l->next)
		anybody |= l->state == LINK_OPEN;
	if (!anybody || ingest->stopping)
		return -ENOTCONN;
	t = ingest->files.count < TRANSFERS_MAX ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return -EBUSY;
	*t = (struct transfer){.next = ingest->files.transfers,
			       .ingest = ingest,
			       .file = *file,
			       .fd = -1,
			       .began_ms = uv_now(ingest->loop)};
	t->work.data = t;
	ingest->files.transfers = t;
	ingest->files.count++;
	files_ask(t, uv_now(ingest->loop));
	return 0;
}

bool ingest_fetching(const struct ingest *ingest, const struct ingest_file *file,
		     uint64_t *ret_received, uint64_t *ret_total)
{
	const struct transfer *t = transfer_find(ingest, file);

	if (!t)
		return false;
	*ret_received = t->received;
	*ret_total = t->total;
	return true;
}

uint32_t ingest_files(const struct ingest *ingest)
{
	return ingest->files.count + (ingest->files.candidates || ingest->files.looking);
}

/* ---- start and end ---- */

/* Removes the remains of a collector that was killed. */
static void remove_halves(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, INGEST_FILE_PREFIX, strlen(INGEST_FILE_PREFIX)))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

void files_init(struct ingest *ingest, const struct ingest_options *options)
{
	ingest->files = (struct files){.folder = options->files,
				       .of_modules = options->files && options->fetch_modules,
				       .wanted = options->file_wanted,
				       .came = options->file_came};
	ingest->files.look.data = ingest;
	if (options->files)
		remove_halves(options->files);
}

void files_done(struct ingest *ingest)
{
	while (ingest->files.transfers)
		transfer_free(ingest->files.transfers);
	files_modules_done(ingest);
}

void files_tick(struct ingest *ingest, uint64_t now_ms)
{
	if (ingest->stopping)
		return;
	for (struct transfer *t = ingest->files.transfers, *next; t; t = next) {
		next = t->next;
		transfer_tick(t, now_ms);
	}
	files_modules_tick(ingest);
}
