/* Parses lines about cgroups and mounts. cgroup.h describes the interface. */
#include "base/proc/cgroup.h"

#include <stddef.h>
#include <string.h>

#include "base/ban.h"

#define MOUNT_ROOT  3 /* fields of mountinfo, from 0 */
#define MOUNT_POINT 4

bool proc_cgroup_parse(char *line, struct proc_cgroup *ret)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path)
		return false;
	*path++ = '\0';
	*ret = (struct proc_cgroup){controllers + 1, path};
	return true;
}

const char *proc_cgroup_main(char *lines)
{
	const char *path = NULL;
	struct proc_cgroup cgroup;

	for (char *rest = lines, *line; (line = strsep(&rest, "\n"));)
		if (proc_cgroup_parse(line, &cgroup) &&
		    (!strcmp(cgroup.controllers, "name=systemd") ||
		     (!*cgroup.controllers && (!path || strcmp(cgroup.path, "/") != 0))))
			path = cgroup.path;
	return path;
}

/* Decodes the kernel's escapes: it writes a blank, a tab, a newline and a backslash as \ and three
 * octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned code = 0, digits = 0;

		while (*text == '\\' && digits < 3 && text[1 + digits] >= '0' &&
		       text[1 + digits] <= '7')
			code = 8 * code + (unsigned)(text[1 + digits++] - '0');
		if (digits == 3 && code && code < 256)
			text += digits;
		else
			code = (unsigned char)*text;
		*to++ = (char)code;
	}
	*to = '\0';
}

/* A variable number of optional fields precedes " - ", so later fields are counted from there. */
bool proc_mount_parse(char *line, struct proc_mount *ret)
{
	char *behind = strstr(line, " - "), *field[MOUNT_POINT + 1], *type, *options;
	unsigned count = 0;

	if (!behind)
		return false;
	*behind = '\0';
	behind += strlen(" - ");
	while (line && count <= MOUNT_POINT)
		field[count++] = strsep(&line, " ");
	type = strsep(&behind, " ");
	strsep(&behind, " "); /* the source */
	options = strsep(&behind, " ");
	if (count <= MOUNT_POINT || !options)
		return false;
	unescape(field[MOUNT_ROOT]);
	unescape(field[MOUNT_POINT]);
	*ret = (struct proc_mount){field[MOUNT_ROOT], field[MOUNT_POINT], type, options};
	return true;
}

bool proc_list_has(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (*list) {
		size_t part = strcspn(list, ",");

		if (length == part && !strncmp(list, word, length))
			return true;
		list += part + (list[part] == ',');
	}
	return false;
}

const char *proc_path_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	while (length && folder[length - 1] == '/')
		length--;
	if (strncmp(path, folder, length) != 0 || (path[length] && path[length] != '/'))
		return NULL;
	return path[length] ? path + length + 1 : path + length;
}
