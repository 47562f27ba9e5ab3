/* Notes for the user about modules. state.h describes the interface. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "collector/symbols/state.h"
#include "base/ban.h"

#define NOTES_MAX 1000

void symbols_note(struct symbols *s, const struct module *module, const char *text)
{
	const char *name = module->name;
	struct symbols_note *notes, new = {0};

	for (size_t i = 0; i < s->note_count; i++)
		if (!strcmp(s->notes[i].module, name) && !strcmp(s->notes[i].text, text))
			return;
	if (s->note_count == NOTES_MAX)
		return;
	notes = reallocarray(s->notes, s->note_count + 1, sizeof(*notes));
	if (!notes)
		return;
	s->notes = notes;
	new.module = strdup(name);
	new.text = strdup(text);
	new.nameless = module->nameless;
	new.build_id_length = module->build_id_length;
	memcpy(new.build_id, module->build_id, sizeof(new.build_id));
	if (new.module &&new.text) {
		s->notes[s->note_count++] = new;
		return;
	}
	free(new.module);
	free(new.text);
}

void symbols_note_file(struct symbols *s, const struct module *m, const char *path,
		       const char *text)
{
	char line[1024], clean[1024];

	snprintf(line, sizeof(line), "%.500s: %.400s", path, text);
	words_clean(clean, sizeof(clean), line, strlen(line));
	symbols_note(s, m, clean);
}

void symbols_clear_notes(struct symbols *s)
{
	for (size_t i = 0; i < s->note_count; i++) {
		free(s->notes[i].module);
		free(s->notes[i].text);
	}
	free(s->notes);
	s->notes = NULL;
	s->note_count = 0;
}

size_t symbols_notes(const struct symbols *symbols, const struct symbols_note **ret_notes)
{
	*ret_notes = symbols->notes;
	return symbols->note_count;
}
