/* Parses /proc/PID/stat. stat.h describes the interface. */
#include "base/proc/stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/proc/file.h"
#include "base/ban.h"

/* Fields, numbered as in proc_pid_stat(5). */
enum {
	STATE = 3, /* the first field after the name */
	PARENT,
	FLAGS = 9,
	MINOR,
	MINOR_OF_CHILDREN,
	MAJOR,
	MAJOR_OF_CHILDREN,
	THREADS = 20,
	START = 22,
	STACK = 28,
	ARGUMENTS = 48,
	EXIT_CODE = 52,
	FIELDS,
};

/* The name is in parentheses and may contain anything, so fields are counted from the last ')'.
 * Emulators write fewer fields; missing ones are 0. */
int proc_stat_parse(const char *line, struct proc_stat *ret)
{
	const char *at = strrchr(line, ')');
	uint64_t field[FIELDS] = {0};
	unsigned count = STATE;
	char state;

	if (!at || at[1] != ' ' || !at[2] || at[3] != ' ')
		return -EBADMSG;
	state = at[2];
	for (at += 3; at && count < FIELDS - 1; at = strchr(at + 1, ' '))
		field[++count] = strtoull(at + 1, NULL, 10);
	if (count < START)
		return -EBADMSG;
	*ret = (struct proc_stat){
		.state = state,
		.parent = (pid_t)field[PARENT],
		.flags = (uint32_t)field[FLAGS],
		.minor_faults = field[MINOR],
		.minor_faults_of_children = field[MINOR_OF_CHILDREN],
		.major_faults = field[MAJOR],
		.major_faults_of_children = field[MAJOR_OF_CHILDREN],
		.threads = (uint32_t)field[THREADS],
		.start_ticks = field[START],
		.stack = field[STACK],
		.arguments = field[ARGUMENTS],
		.exit_code = (int)field[EXIT_CODE],
	};
	return 0;
}

int proc_stat_read(int folder, struct proc_stat *ret)
{
	char line[2048];
	long length = proc_read(folder, "stat", line, sizeof(line));

	if (length <= 0)
		return !length || length == -ENOENT ? -ESRCH : (int)length;
	return proc_stat_parse(line, ret);
}
