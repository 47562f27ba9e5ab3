/* Starts and ends an agent. See start.h. */
#include "collector/cli/live/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/spawn.h"
#include "base/words.h"
#include "collector/cli/live/screen.h"
#include "collector/recording/recording.h"
#include "base/ban.h"

#define LOOK_MS	   50
#define BEGIN_MS   30000 /* limit for waiting for a recording */
#define PATIENT_MS 1000
#define END_MS	   5000
#define TOLD_BYTES 2000
#define OWN_WORDS  8

extern char **environ;

static void look_later(void)
{
	nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
}

static int find_agent(char path[PATH_MAX], struct err_text *err)
{
	if (!program_beside(PROGRAM_AGENT, path))
		return 0;
	return err_set(
		err, -ENOENT,
		"the agent is not installed here: %.300s is missing (package heapcast-agent)",
		path);
}

/* Names the files: as the user chose, or in a temporary folder. */
static int name_files(struct started *s, const char *name, const char *output, struct err_text *err)
{
	const char *tmp = getenv("TMPDIR");
	char folder[PATH_MAX / 2], clean[64];
	size_t n = 0;

	if (output && (strchr(output, '%') || !access(output, F_OK)))
		return err_set(err, -EEXIST,
			       strchr(output, '%') ? "--record names one file, without %%: "
						     "%.200s"
						   : "%.200s is there already: name a new file",
			       output);
	if (output) {
		snprintf(s->path, sizeof(s->path), "%s", output);
		snprintf(s->said, sizeof(s->said), "%.4000s.said", output);
		return 0;
	}
	for (; *name && n < sizeof(clean) - 1; name++)
		clean[n++] = strchr("/% \t\n'\"", *name) || *name < ' ' ? '_' : *name;
	clean[n] = '\0';
	snprintf(folder, sizeof(folder), "%.1000s/heapcast-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(folder))
		return err_set(err, -errno, "can't make a folder %.200s: %s", folder,
			       strerror(errno));
	s->own_folder = true;
	snprintf(s->path, sizeof(s->path), "%s/%s.heapcast", folder, clean);
	snprintf(s->said, sizeof(s->said), "%s/%s.said", folder, clean);
	return 0;
}

static int spawn_agent(struct started *s, const char *agent, const char *const *own,
		       char *const *command, int output)
{
	size_t count = 0, n = 0;
	char **list;
	int r;

	while (command && command[n])
		n++;
	list = calloc(OWN_WORDS + n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (; own[count]; count++)
		list[count] = (char *)(uintptr_t)own[count];
	for (size_t i = 0; i < n; i++)
		list[count++] = command[i];
	r = spawn(&(struct spawn){.program = agent,
				  .arguments = list,
				  .environment = environ,
				  .input = SPAWN_NOTHING,
				  .output = output,
				  .error = output,
				  .own_group = true},
		  &s->agent);
	free(list);
	return r;
}

int start_agent(struct started *s, unsigned long pid, char *const *command, const char *output,
		struct err_text *err)
{
	cleanup(cleanup_close) int said = -1;
	char agent[PATH_MAX], number[32], name[64];
	const char *slash = command ? strrchr(command[0], '/') : NULL;
	int r = find_agent(agent, err);

	snprintf(number, sizeof(number), "%lu", pid);
	snprintf(name, sizeof(name), "pid-%lu", pid);
	s->is_command = command;
	if (!r)
		r = name_files(s, command ? slash ? slash + 1 : command[0] : name, output, err);
	if (r < 0)
		return r;
	said = open(s->said, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (said < 0) {
		r = err_set(err, -errno, "can't write %.200s: %s", s->said, strerror(errno));
		s->said[0] = '\0'; /* the file is not ours */
		return r;
	}
	{
		const char *title = program_title();
		const char *run[] = {title, "run", "-q", "-o", s->path, "--", NULL};
		const char *attach[] = {title, "attach", "-q", "-o", s->path, "-p", number, NULL};

		if (!strcmp(title, "collector"))
			run[0] = attach[0] = "agent";
		r = spawn_agent(s, agent, command ? run : attach, command, said);
	}
	return r < 0 ? err_set(err, r, "can't start %.200s: %s", agent, strerror(-r)) : 0;
}

/* Returns true if the agent has ended. */
static bool has_ended(struct started *s)
{
	if (s->agent && waitpid(s->agent, NULL, WNOHANG) != 0)
		s->agent = 0;
	return !s->agent;
}

static bool is_readable(const char *path)
{
	struct recording *recording = NULL;
	struct err_text err = {0};
	struct stat st;
	bool readable;

	if (stat(path, &st) < 0 || !st.st_size ||
	    recording_open(path, NULL, NULL, &recording, &err) < 0)
		return false;
	readable = recording_process(recording)->name && *recording_process(recording)->name;
	recording_close(recording);
	return readable;
}

/* Prints the end of the agent's log, with each paragraph as one line, and without control
 * characters. */
static void tell(const char *path)
{
	cleanup(cleanup_fclose) FILE *file = fopen(path, "re");
	char line[TOLD_BYTES], clean[TOLD_BYTES];
	long from;

	if (!file || fseek(file, 0, SEEK_END) < 0)
		return;
	from = ftell(file);
	if (fseek(file, from > TOLD_BYTES ? from - TOLD_BYTES : 0, SEEK_SET) < 0)
		return;
	while (fgets(line, sizeof(line), file)) {
		words_clean(clean, sizeof(clean), line, strcspn(line, "\n"));
		program_printf(stderr, "%s\n", clean);
	}
}

int start_wait(struct started *s, struct err_text *err)
{
	bool ended = false;

	for (int ms = 0; ms < BEGIN_MS && !ended; ms += LOOK_MS) {
		ended = has_ended(s);
		if (is_readable(s->path))
			return 0;
		if (screen_signal())
			return -EINTR;
		if (ms == PATIENT_MS)
			program_printf(stderr, "heapcast: waiting until the recording begins\n");
		if (!ended)
			look_later();
	}
	tell(s->said);
	return err_set(err, -EIO, ended ? "nothing was recorded" : "the recording does not begin");
}

void start_forget(const struct started *s)
{
	char folder[PATH_MAX];
	struct stat st;

	if (!*s->path || (!stat(s->path, &st) && st.st_size))
		return;
	unlink(s->path);
	if (*s->said)
		unlink(s->said);
	if (!s->own_folder)
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(s->path, '/') - s->path), s->path);
	rmdir(folder);
}

bool start_end(struct started *s)
{
	if (!has_ended(s))
		kill(s->agent, SIGTERM);
	for (int ms = 0; ms < END_MS && !has_ended(s); ms += LOOK_MS)
		look_later();
	return has_ended(s);
}
