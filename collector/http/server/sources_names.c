/* Resolves the name by which a request calls a recording. See sources.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "collector/http/server/sources_state.h"
#include "collector/catalogue/snapshots.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

static bool is_name(const char *name)
{
	size_t length = strlen(name);

	if (!length || length >= STREAM_ID_TEXT)
		return false;
	for (; *name; name++)
		if (!isdigit((unsigned char)*name) && (*name < 'a' || *name > 'f'))
			return false;
	return true;
}

static void consider(struct naming *naming, const char *id, const char *name)
{
	if (strncmp(id, name, strlen(name)) != 0 || !strcmp(naming->id, id))
		return;
	snprintf(naming->id, sizeof(naming->id), "%s", id);
	naming->matches++;
}

/* Returns the last file. Files come before streams, because whoever started the server named
 * them. */
static struct source *last_file(const struct sources *sources)
{
	for (struct source *s = sources->list; s; s = s->next)
		if (s->is_file)
			return s;
	return NULL;
}

static int name_in_store(struct sources *sources, const char *name, struct naming *naming,
			 struct err_text *err)
{
	struct err_text why = {0};
	enum stream_state state;
	struct stream_id id;
	char text[STREAM_ID_TEXT];
	int r = sources_open_store(sources, &why);

	/* Without a store there may still be files. */
	if (r < 0)
		return r == -ENOENT ? 0 : err_set(err, r, "%s", why.text);
	r = store_find_id(sources->store, name, &id, &state, &why);
	if (!r)
		consider(naming, stream_id_format(text, &id), "");
	else if (r == -EEXIST)
		naming->matches += 2;
	return !r || r == -EEXIST || r == -ENOENT ? 0 : err_set(err, r, "%s", why.text);
}

/* Finds "snapshot:NAME". */
static int find_snapshot(struct sources *sources, const char *name, struct naming *naming,
			 struct err_text *err)
{
	enum stream_state state;
	struct stream_id id;
	char text[STREAM_ID_TEXT];
	int r = sources_open_store(sources, err);

	if (!r)
		r = store_find_id(sources->store, name, &id, &state, err);
	if (!r)
		consider(naming, stream_id_format(text, &id), "");
	return r;
}

int sources_resolve(struct sources *sources, const char *name, struct naming *naming,
		    struct err_text *err)
{
	bool last = !strcmp(name, "last");
	struct source *file = last_file(sources);
	int r;

	if (!strncmp(name, SNAPSHOT_PREFIX, strlen(SNAPSHOT_PREFIX)))
		return find_snapshot(sources, name, naming, err);
	if (!last && !is_name(name))
		return err_set(err, -ENOENT,
			       "no recording is called \"%.40s\": it takes 32 hexadecimal digits, "
			       "the first of them, or \"last\"",
			       name);
	if (last && file) {
		consider(naming, file->id, "");
		return 0;
	}
	for (struct source *s = sources->list; s && !last; s = s->next)
		if (!s->opening)
			consider(naming, s->id, name);
	if (naming->matches == 1 && strlen(name) == STREAM_ID_TEXT - 1)
		return 0;
	r = name_in_store(sources, name, naming, err);
	if (r < 0)
		return r;
	if (!naming->matches)
		return last ? err_set(err, -ENOENT, "there is no recording yet")
			    : err_set(err, -ENOENT, "no recording begins with \"%s\"", name);
	if (naming->matches > 1)
		return err_set(err, -EEXIST,
			       "more than one recording begins with \"%s\": give more digits",
			       name);
	return 0;
}
