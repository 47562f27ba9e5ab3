/*
 * Opens the file of a session: determines its folder, its name, and which file it may replace
 * (file_name.h). The file name pattern comes from the program itself or from the agent's options. A
 * relative pattern starts in the program's working folder if a program started the agent or if the
 * recorded program named the pattern; otherwise in the agent's working folder.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/serve/agent.h"
#include "agent/core/naming.h"
#include "base/log.h"
#include "base/ban.h"

static const char *pattern_of(const struct session_settings *s)
{
	return s->output ? s->output : NAMING_DEFAULT;
}

/* Only the program of `agent run` may replace an existing file, and only if the pattern expands to
 * a fixed name. */
static bool may_replace(const struct session *s)
{
	const struct agent *a = s->agent;

	return a->only && s->stream.target.pid == a->only && s->stream.incarnation == 1 &&
	       naming_is_plain(pattern_of(&s->settings));
}

/* Expands the pattern. A relative pattern starts in `folder`, unless `folder` is empty. */
static int session_file_place(const struct session *s, const char *folder, char *out, size_t size)
{
	const struct agent *a = s->agent;
	const char *pattern = pattern_of(&s->settings);
	const struct ring_header *h = session_ring(s);
	uint32_t incarnation = s->stream.incarnation;
	uint32_t number = h && incarnation > 1 ? h->home.file_number : 0;
	size_t n = 0;
	int r;

	if (*folder && *pattern != '/')
		n = (size_t)snprintf(out, size, "%s%s", folder, strcmp(folder, "/") ? "/" : "");
	if (n >= size)
		return -ENAMETOOLONG;
	r = naming_expand(out + n, size - n, pattern, target_name(&s->stream.target),
			  s->stream.start_wall_ns / 1000000000, s->stream.target.pid,
			  a->recordings - 1);
	if (!r && number)
		r = naming_number(out, size, '-', number);
	return r < 0 || incarnation == 1 ? r : naming_number(out, size, '.', incarnation);
}

/* Gives the file to its owner. If that fails, the recording continues, with a warning. */
static void give_away(const struct session *s, struct err_text *err)
{
	uid_t owner = s->settings.output_owner;

	if (owner == (uid_t)-1 || fchown(s->file.fd, owner, (gid_t)-1) == 0)
		return;
	err_set(err, -errno, "can't give %s to user %u: %s", s->file.path, (unsigned)owner,
		strerror(errno));
	log_warn("%s", err->text);
}

/* Stores the number that was appended to the file name in the ring, for an agent that takes the
 * ring up. If the wanted name is that of a folder, a link or a device, the user is told where the
 * recording is. */
static void note_number(struct session *s, uint32_t number, const char *wanted,
			struct err_text *say)
{
	struct ring_header *h = session_ring(s);
	struct stat st;

	if (!number)
		return;
	if (lstat(wanted, &st) == 0 && !S_ISREG(st.st_mode))
		err_set(say, 0, "%s is no regular file: the recording goes to %s", wanted,
			s->file.path);
	log_warn("%s is taken: the recording of pid %d (%s) goes to %s", wanted,
		 (int)s->stream.target.pid, target_name(&s->stream.target), s->file.path);
	if (h && s->stream.incarnation == 1)
		h->home.file_number = number;
}

static int try_folder(struct session *s, uint64_t first, const char *folder, struct err_text *err)
{
	struct agent *a = s->agent;
	char path[FILE_NAME_MAX] = "", wanted[FILE_NAME_MAX];
	uint32_t number;
	int r = session_file_place(s, folder, path, sizeof(path)), fd;

	if (r < 0)
		return err_set(err, r, "can't write a recording to %s: %s",
			       pattern_of(&s->settings), strerror(-r));
	snprintf(wanted, sizeof(wanted), "%s", path);
	fd = file_name_open(path, may_replace(s), &a->file_number, &number, err);
	if (fd < 0)
		return fd;
	r = file_sink_open(&s->file, fd, path, &s->stream, first, &a->link_packer, a->file_out,
			   a->budget.link_out);
	if (r < 0)
		return err_set(err, r, "can't write a recording to %s: %s", path, strerror(-r));
	give_away(s, err);
	note_number(s, number, wanted, err);
	return 0;
}

static int session_file_find_place(struct session *s, uint64_t first, struct err_text *err)
{
	const struct agent *a = s->agent;
	const char *own = a->settings.folder ? a->settings.folder : "";
	int r;

	if (a->spool.fd >= 0 && a->to_links && !s->settings.output)
		return try_folder(s, first, a->spool.path, err);
	r = try_folder(s, first, *s->folder ? s->folder : own, err);
	if (r == 0 || !*s->folder || *pattern_of(&s->settings) == '/' || s->settings.own_output ||
	    !strcmp(s->folder, own))
		return r;
	log_error("%s", err_get(err, r));
	err->text[0] = '\0';
	return try_folder(s, first, own, err);
}

int session_open_file(struct session *s, uint64_t first, struct err_text *err)
{
	struct err_text own = {{0}};
	int r;

	err = err ? err : &own;
	r = session_file_find_place(s, first, err);
	if (r < 0)
		log_error("%s", err_get(err, r));
	return r;
}

int session_try_file(const struct agent_settings *settings, const char *program,
		     struct err_text *err)
{
	const char *pattern = pattern_of(&settings->each);
	char path[FILE_NAME_MAX] = "";
	int r = naming_expand(path, sizeof(path), pattern, program, (uint64_t)time(NULL), getpid(),
			      0);

	if (r == -EINVAL)
		return err_set(
			err, r,
			"--output takes %%e, %%t, %%p, %%n and %%%% beside other text, not '%s'",
			pattern);
	if (r < 0)
		return err_set(err, r, "can't write a recording to %s: %s", pattern, strerror(-r));
	return file_name_try(path, !settings->many && naming_is_plain(pattern),
			     settings->each.output_owner, err);
}
