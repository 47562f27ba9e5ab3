/*
 * Names of functions from debug information: the demangled linkage name or, without one, in
 * languages with scopes, the plain name behind the names of the entries around its declaration.
 * dwarf.h describes the interface.
 */
#include "collector/symbols/dwarf.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "collector/symbols/demangle.h"

#include "base/ban.h"

#define SCOPES_MAX 16

uint32_t dwarf_function_name(struct dwarf_scan *s, uint32_t raw)
{
	const char *name = strings_at(s->strings, raw);
	char text[DEMANGLED_MAX];
	uint64_t *known;
	bool is_new;

	if (!name)
		return 0;
	known = map_put(&s->functions, raw, &is_new);
	if (!known)
		return raw;
	if (is_new && demangle_into(name, text)) {
		const char *clone =
			strstr(text, " [clone "); /* suffixes of the compiler: .cold, .isra.0 */

		*known = strings_put(s->strings, text,
				     clone ? (size_t)(clone - text) : strlen(text));
	} else if (is_new) {
		*known = raw;
	}
	return (uint32_t)*known;
}

static uint32_t dwarf_names_put_text(struct dwarf_scan *s, const char *text)
{
	return text ? strings_put(s->strings, text, strlen(text)) : 0;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	return name ? name
		    : dwarf_formstring(
			      dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
}

static bool language_has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_D:
	case DW_LANG_Rust:
		return true;
	default:
		return false;
	}
}

/*
 * Returns the entry of the source declaration: the origin of an inlined function, the declaration
 * of a definition.
 */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die at = *die, next;

	for (unsigned i = 0; i < 8; i++) {
		if (!dwarf_attr(&at, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(&at, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &next))
			break;
		at = next;
	}
	return at;
}

/* Returns what a scope adds to a name, or NULL. */
static const char *scope_name(Dwarf_Die *scope, const char *name)
{
	const char *own = dwarf_diename(scope);

	switch (dwarf_tag(scope)) {
	case DW_TAG_namespace:
		return own ? own : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return own ? own : strcmp(name, "operator()") ? "(anonymous)" : "{lambda}";
	case DW_TAG_subprogram:
		return own;
	default:
		return NULL;
	}
}

/*
 * Builds "outer::inner::name" from the entries around the declaration, because a name without a
 * linkage name lacks the scopes.
 */
static uint32_t search_scopes(struct dwarf_scan *s, Dwarf_Die *declaration, const char *name)
{
	Dwarf_Die *scopes = NULL;
	int count = dwarf_getscopes_die(declaration, &scopes);
	struct buf text = {.limit = DEMANGLED_MAX};
	uint32_t number = 0;

	for (int i = count < SCOPES_MAX ? count : SCOPES_MAX; i-- > 1;) {
		const char *scope = scope_name(&scopes[i], name);

		if (!scope)
			continue;
		buf_string(&text, scope);
		buf_string(&text, "::");
	}
	buf_string(&text, name);
	if (!buf_error(&text))
		number = strings_put(s->strings, (const char *)text.data, text.length);
	buf_done(&text);
	free(scopes);
	return number;
}

static uint32_t scoped_name(struct dwarf_scan *s, Dwarf_Die *die, const char *name)
{
	Dwarf_Die declaration = declaration_of(die);
	uint64_t *known;
	bool is_new;

	known = map_put(&s->scoped, dwarf_dieoffset(&declaration), &is_new);
	if (!known)
		return 0;
	if (is_new && s->unnamed_left) {
		s->unnamed_left--;
		*known = search_scopes(s, &declaration, name);
	}
	return (uint32_t)*known;
}

void dwarf_name_frame(struct dwarf_scan *s, Dwarf_Die *die, struct dwarf_frame *frame)
{
	const char *name = linkage_name(die);

	if (name) {
		frame->raw = dwarf_names_put_text(s, name);
		frame->function = dwarf_function_name(s, frame->raw);
		return;
	}
	name = dwarf_diename(die);
	frame->raw = dwarf_names_put_text(s, name);
	if (name && language_has_scopes(s->unit_die)) {
		frame->function = scoped_name(s, die, name);
		frame->symbol_knows = true;
	}
	if (!frame->function)
		frame->function = frame->raw;
}
