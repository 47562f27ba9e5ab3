/* Imports files that come over HTTP. See import.h. */
#include "collector/http/server/import.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/spawn.h"
#include "collector/answers/answer.h"
#include "collector/http/server/exchange.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources_state.h"
#include "collector/recording/names.h"

#include "base/ban.h"

#define IMPORTS_MAX 4 /* imports at the same time */
#define ANSWER_MAX  16384
#define AGAIN_MS    50
#define DISK_LEAST  (64u << 20) /* left free: the catalogue and names need files, too */

static const struct route_parameter import_parameters[] = {
	PARAMETER_BY("name", NULL, "text", "name of the file, for messages and for people"),
	PARAMETER_BY("format", NULL, TAKES_FORMATS,
		     "format of the file; by default its content tells it"),
	PARAMETER_BY("unit", NULL, "bytes, blocks or a word", "unit of the numbers, for collapsed"),
	{0},
};

#define ANSWER_OF struct import_told
static const struct answer_field import_fields[] = {
	ROW("file", file, NULL,
	    "name of the file; of several that make one stream: all, with commas"),
	ROW_AS("id", id, ANSWER_TEXT, NULL, "id of the recording, for /data/ID"),
	ROW("format", format, NULL, "format of the file; heapcast: it was a recording already"),
	ROW("tool", tool, NULL, "the tool that wrote it; empty: unknown"),
	ROW("note", note, NULL, "what to know about the numbers; empty: nothing"),
	ROW("events", events, "events", "events that were imported"),
	{0},
};
#undef ANSWER_OF
const struct answer import_answer = {"imported", import_fields};

static int import_refuse(struct exchange *x, int status, const char *text)
{
	x->status = status;
	return err_set(&x->err, -EINVAL, "%s", text);
}

/* ---- the body ---- */

uint64_t import_bytes_max(const struct sources *sources)
{
	const char *data = sources_data(sources);
	uint64_t most = sources->options.import_bytes, half;
	struct statvfs disk;

	if (!data || statvfs(data, &disk) < 0)
		return 0;
	half = (uint64_t)disk.f_bavail * disk.f_frsize / 2; /* the recording needs room, too */
	return most && most < half ? most : half;
}

static bool may_begin(struct sources *sources)
{
	bool room;

	pthread_mutex_lock(&sources->lock);
	room = sources->imports < IMPORTS_MAX;
	sources->imports += room;
	pthread_mutex_unlock(&sources->lock);
	return room;
}

static void upload_done(struct exchange *x)
{
	if (x->upload < 0)
		return;
	close(x->upload);
	x->upload = -1;
	pthread_mutex_lock(&x->sources->lock);
	x->sources->imports--;
	pthread_mutex_unlock(&x->sources->lock);
}

/* Opens an unnamed file, which disappears by itself. */
static int open_nameless(const char *folder)
{
	int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	char path[4096];

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	if (snprintf(path, sizeof(path), "%s/upload-XXXXXX", folder) >= (int)sizeof(path))
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int cannot_keep(struct exchange *x, int error)
{
	x->status = error == ENOSPC || error == EDQUOT ? 507 : 500;
	return err_set(&x->err, -error, "the file can't be kept in %s: %s",
		       sources_data(x->sources), strerror(error));
}

int upload_begin(struct exchange *x, uint64_t bytes)
{
	uint64_t most = import_bytes_max(x->sources);
	char text[32];

	if (!sources_data(x->sources))
		return import_refuse(
			x, 409,
			"a file that is imported becomes a stream of a data folder, and none was "
			"there when this was started: mkdir DIR, then collector serve --data DIR");
	if (bytes > most) {
		x->status = 413;
		return err_set(&x->err, -EMSGSIZE,
			       "a file may have %s at most here: --keep-size says so, or what is "
			       "left of the disk",
			       format_size(text, (double)most));
	}
	if (!may_begin(x->sources))
		return import_refuse(x, 503,
				     "other files are being imported: try again in a moment");
	x->upload = open_nameless(sources_data(x->sources));
	x->upload_end = upload_done;
	if (x->upload < 0) {
		int error = errno;

		pthread_mutex_lock(&x->sources->lock);
		x->sources->imports--;
		pthread_mutex_unlock(&x->sources->lock);
		return cannot_keep(x, error);
	}
	/* Reserves the space, so that two imports cannot both count on it. Some file systems cannot
	 * do that. */
	if (bytes && fallocate(x->upload, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) < 0 &&
	    errno != EOPNOTSUPP && errno != ENOSYS)
		return cannot_keep(x, errno);
	return 0;
}

int upload_add(struct exchange *x, const void *data, size_t length)
{
	const char *at = data;

	while (length) {
		ssize_t n = write(x->upload, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return cannot_keep(x, n < 0 ? errno : ENOSPC);
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

/* ---- the process ---- */

struct importing {
	struct sources *sources;
	pid_t pid; /* 0: the process has been reaped */
	int fd;	   /* its standard output */
	size_t length;
	char said[ANSWER_MAX];
};

/* Reaps workers that have ended, and puts `pid` into a free slot (0: only reaps). A worker that is
 * writing may take a while to die, and the loop does not wait for it. */
static void let_die(struct sources *sources, pid_t pid)
{
	pthread_mutex_lock(&sources->lock);
	for (size_t i = 0; i < sizeof(sources->dying) / sizeof(sources->dying[0]); i++) {
		pid_t *dying = &sources->dying[i];

		if (*dying && waitpid(*dying, NULL, WNOHANG) != 0)
			*dying = 0;
		if (!*dying) {
			*dying = pid;
			pid = 0;
		}
	}
	pthread_mutex_unlock(&sources->lock);
}

static void importing_free(void *work)
{
	struct importing *i = work;

	if (i->pid) {
		kill(i->pid,
		     SIGKILL); /* nobody waits for it any more; the next import removes its draft */
		let_die(i->sources, i->pid);
	}
	cleanup_close(&i->fd);
	free(i);
}

static uint64_t memory_max(const struct sources *sources)
{
	struct sysinfo machine;

	if (sources->options.import_memory || sysinfo(&machine) < 0)
		return sources->options.import_memory;
	return (uint64_t)machine.totalram * machine.mem_unit / 4;
}

/* Reads the file's name, a text for people that is never used as a path. Everything up to the last
 * slash is the path on the client's machine. */
static int import_read_name(struct exchange *x, char ret_name[IMPORT_NAME_MAX + 1])
{
	const char *name = asked_get(&x->request, "name"),
		   *slash = name ? strrchr(name, '/') : NULL;

	name = slash ? slash + 1 : name;
	if (!name || !*name)
		name = "file";
	if (strlen(name) > IMPORT_NAME_MAX) {
		snprintf(x->parameter, sizeof(x->parameter), "name");
		return err_set(&x->err, -EINVAL, "a name has %u bytes at most", IMPORT_NAME_MAX);
	}
	snprintf(ret_name, IMPORT_NAME_MAX + 1, "%s", name);
	names_make_showable(ret_name, strlen(ret_name));
	return 0;
}

static int check_parameters(struct exchange *x)
{
	for (size_t i = 0; i < x->request.parameter_count; i++) {
		const char *name = x->request.parameters[i].name;
		const struct route_parameter *p = import_parameters;

		while (p->name && strcmp(p->name, name) != 0)
			p++;
		if (p->name || !*name)
			continue;
		snprintf(x->parameter, sizeof(x->parameter), "%s", name);
		return err_set(&x->err, -EINVAL, "no parameter is called \"%.60s\" here", name);
	}
	return 0;
}

static char *text_or_none(const struct exchange *x, const char *name)
{
	static char none[] = "-";
	const char *value = asked_get(&x->request, name);

	return value && *value ? (char *)(uintptr_t)value : none;
}

static int import_start(struct exchange *x, struct importing *i, char *name)
{
	char disk[24], memory[24], program[] = "heapcast-import", command[] = IMPORT_WORKER,
				   ends[] = "--";
	cleanup(cleanup_free) char *data = strdup(sources_data(x->sources));
	cleanup(cleanup_free) char **environment = spawn_environment();
	cleanup(cleanup_close) int output = -1;
	char *arguments[] = {program,
			     command,
			     ends,
			     data,
			     disk,
			     memory,
			     name,
			     text_or_none(x, "format"),
			     text_or_none(x, "unit"),
			     NULL};
	uint64_t most = import_bytes_max(x->sources);
	int pipe_ends[2], r;

	snprintf(disk, sizeof(disk), "%llu",
		 (unsigned long long)(most > DISK_LEAST ? most : DISK_LEAST));
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)memory_max(x->sources));
	if (!data || !environment || lseek(x->upload, 0, SEEK_SET) < 0)
		return -ENOMEM;
	if (pipe2(pipe_ends, O_CLOEXEC) < 0)
		return -errno;
	i->fd = pipe_ends[0];
	output = pipe_ends[1];
	if (fcntl(i->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	r = spawn(&(struct spawn){.program = "/proc/self/exe",
				  .arguments = arguments,
				  .environment = environment,
				  .input = x->upload,
				  .output = output,
				  .error = SPAWN_SAME},
		  &i->pid);
	return r < 0 ? err_set(&x->err, r, "the process that imports does not start: %s",
			       strerror(-r))
		     : 0;
}

static int import_begin(struct exchange *x)
{
	struct importing *i = calloc(1, sizeof(*i));
	char name[IMPORT_NAME_MAX + 1];
	int r;

	if (x->upload < 0) {
		free(i);
		return import_refuse(x, 400, "a file to import comes as the body of the request");
	}
	if (!i)
		return -ENOMEM;
	i->fd = -1;
	i->sources = x->sources;
	let_die(x->sources, 0);
	x->work = i;
	x->work_free = importing_free;
	r = check_parameters(x);
	if (!r)
		r = import_read_name(x, name);
	return r < 0 ? r : import_start(x, i, name);
}

/* Reads what has arrived. Returns 1 at the end. */
static int read_some(struct importing *i)
{
	for (;;) {
		ssize_t n = read(i->fd, i->said + i->length, sizeof(i->said) - 1 - i->length);

		if (n > 0)
			i->length += (size_t)n;
		else if (!n)
			return 1;
		else if (errno != EINTR)
			return errno == EAGAIN ? 0 : 1;
	}
}

static int died(struct exchange *x, int status)
{
	x->status = 422;
	if (WIFSIGNALED(status))
		return err_set(&x->err, -EFBIG,
			       "the process that read the file was ended by signal %d (%s): the "
			       "file may take more memory than is allowed",
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	return err_set(&x->err, -EIO, "the process that read the file said nothing");
}

/* Passes on the worker's answer, or its "STATUS sentence". */
static int import_tell(struct exchange *x, struct importing *i, int status)
{
	char *sentence = strchr(i->said, ' ');
	uint64_t code;

	if (WIFEXITED(status) && !WEXITSTATUS(status) && i->said[0] == '{') {
		buf_append(&x->out, i->said, i->length);
		return buf_error(&x->out);
	}
	if (!WIFEXITED(status) || !sentence)
		return died(x, status);
	*sentence++ = '\0';
	sentence[strcspn(sentence, "\n")] = '\0';
	x->status = !parse_u64(i->said, &code) && code >= 400 && code < 600 ? (int)code : 500;
	return err_set(&x->err, -EBADMSG, "%s", sentence);
}

static int import_step(struct exchange *x)
{
	struct importing *i;
	int r = x->work ? 0 : import_begin(x), status = 0;

	if (r < 0)
		return r;
	i = x->work;
	if (!read_some(i)) {
		x->again_ms = AGAIN_MS;
		return -EAGAIN;
	}
	while (waitpid(i->pid, &status, 0) < 0 && errno == EINTR)
		;
	i->pid = 0;
	upload_done(x);
	return import_tell(x, i, status);
}

const struct route import_route = {
	.path = "/import",
	.about = "imports a file of another tool, or a recording, as a stream",
	.method = ROUTE_FILE,
	.parameters = import_parameters,
	.answer = &import_answer,
	.step = import_step,
};
