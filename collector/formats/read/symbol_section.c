/* Reads the names in front of a heap profile. See symbol_section.h. */
#include "collector/formats/read/symbol_section.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/formats/read/importer.h"
#include "base/ban.h"

void symbol_section_done(struct symbol_section *s)
{
	map_done(&s->texts);
	buf_done(&s->text);
	free(s->binary);
	*s = (struct symbol_section){0};
}

bool symbol_section_begins(const char *line, size_t length)
{
	size_t i = 3;

	if (length < 3 || memcmp(line, "---", 3) != 0)
		return false;
	while (i < length && line[i] == ' ')
		i++;
	return length - i >= 6 && !memcmp(line + i, "symbol", 6);
}

/* Returns the length of the name without the start address that google-pprof appends to functions
 * of the same name: "work<0000000000021320>". */
static size_t without_address(const char *name, size_t length)
{
	size_t digits = 0;

	if (length < 10 || name[length - 1] != '>')
		return length;
	while (digits + 2 < length && isxdigit((unsigned char)name[length - 2 - digits]))
		digits++;
	return digits >= 8 && name[length - 2 - digits] == '<' ? length - digits - 2 : length;
}

/* Finds the end of a name. "--" separates names, but also occurs in C++'s operator--. */
static const char *end_of_name(const char *name)
{
	const char *end = name;

	while ((end = strstr(end, "--")) && end - name >= 8 && !memcmp(end - 8, "operator", 8))
		end += 2;
	return end ? end : name + strlen(name);
}

/* Tells whether this is no name: an address or question marks, which tools write for unknown
 * names. */
static bool is_none(const char *name, size_t length)
{
	return !length || (length == 2 && !memcmp(name, "??", 2)) ||
	       (length > 2 && !memcmp(name, "0x", 2));
}

static void add_names(struct symbol_section *s, const char *names)
{
	while (*names) {
		const char *end = end_of_name(names);
		size_t length = without_address(names, (size_t)(end - names));

		if (!is_none(names, length)) {
			buf_append(&s->text, names, length);
			buf_byte(&s->text, 0);
		}
		names = *end ? end + 2 : end;
	}
	buf_byte(&s->text, 0);
}

static int add_address(struct symbol_section *s, struct importer *im, char *at)
{
	uint64_t address, *place;

	if (!text_hex(&at, &address) || address == MAP_NO_KEY)
		return importer_bad_line(im, "no address with its names");
	if (s->texts.count >= SYMBOL_SECTION_MAX || s->text.length > SYMBOL_SECTION_TEXT)
		return importer_bad_line(im, "more names than are taken");
	place = map_put(&s->texts, address, NULL);
	if (place)
		*place = s->text.length;
	add_names(s, at + strspn(at, " \t"));
	return place && !buf_error(&s->text) ? 0 : err_set(im->err, -ENOMEM, "no memory to import");
}

int symbol_section_read(struct symbol_section *s, struct importer *im)
{
	size_t length;
	char *line;
	int r;

	while ((r = importer_line(im, &line, &length)) == 1) {
		while (length && strchr("\r \t", line[length - 1]))
			line[--length] = 0;
		if (!strncmp(line, "---", 3))
			return 0;
		if (!strncmp(line, "binary=", 7) && !s->binary) {
			s->binary = strdup(line + 7);
			if (!s->binary)
				return err_set(im->err, -ENOMEM, "no memory to import");
		} else if (!strncmp(line, "0x", 2)) {
			r = add_address(s, im, line);
			if (r < 0)
				return r;
		}
	}
	return r ? r
		 : err_set(im->err, -EBADMSG, "%s ends within its names", source_name(im->source));
}

unsigned symbol_section_frames(const struct symbol_section *s, uint64_t address,
			       struct composer_frame *frames)
{
	const uint64_t *place = address == MAP_NO_KEY ? NULL : map_get(&s->texts, address);
	const char *name = place ? (const char *)s->text.data + *place : "";
	unsigned count = 0;

	for (; *name && count < NAMES_FRAMES_MAX; name += strlen(name) + 1)
		frames[count++] = (struct composer_frame){.function = name};
	for (unsigned i = 0; i < count / 2; i++) {
		struct composer_frame swap = frames[i];

		frames[i] = frames[count - 1 - i];
		frames[count - 1 - i] = swap;
	}
	return count;
}
