/* Anonymises single fields. anonymise_fields.h describes the interface. */
#include "collector/rewrite/anonymise_fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ban.h"

#define PID_MAX	  ((uint64_t)1 << 22)
#define UID_LEAST 1000
#define UIDS	  50000

enum treatment {
	KEEP, /* columns, and words of a small vocabulary */
	DROP,
	WORD, /* a pseudonym with the prefix */
	PATH,
	ID, /* 16 bytes */
	BUILD_ID,
	PLAIN, /* kept only if it looks like a version number or the name of a machine */
	NUMBER_OF_PROCESS,
	NUMBER_OF_USER,
	ADDRESS,
	WALL,
};

/*
 * X(message, field, treatment, prefix): all texts and bytes that are not dropped, and the numbers
 * that are changed.
 */
#define FIELDS(X)                                                                                  \
	X(Batch, stream, ID, "")                                                                   \
	X(Batch, wall_ns, WALL, "")                                                                \
	X(Process, pid, NUMBER_OF_PROCESS, "")                                                     \
	X(Process, parent_pid, NUMBER_OF_PROCESS, "")                                              \
	X(Process, uid, NUMBER_OF_USER, "")                                                        \
	X(Process, executable, PATH, "")                                                           \
	X(Process, argument, WORD, "arg-")                                                         \
	X(Process, host, WORD, "host-")                                                            \
	X(Process, cgroup, PATH, "")                                                               \
	X(Process, architecture, PLAIN, "")                                                        \
	X(Process, start_wall_ns, WALL, "")                                                        \
	X(Process, agent_version, PLAIN, "")                                                       \
	X(Process, agent, ID, "")                                                                  \
	X(Process, parent_stream, ID, "")                                                          \
	X(Origin, format, PLAIN, "")                                                               \
	X(Origin, file, PATH, "")                                                                  \
	X(Origin, wall_ns, WALL, "")                                                               \
	X(Module, path, PATH, "")                                                                  \
	X(Module, build_id, BUILD_ID, "")                                                          \
	X(Module, bias, ADDRESS, "")                                                               \
	X(Module, start, ADDRESS, "")                                                              \
	X(Module, end, ADDRESS, "")                                                                \
	X(Thread, tid, NUMBER_OF_PROCESS, "")                                                      \
	X(Thread, name, WORD, "t-")                                                                \
	X(Mark, text, WORD, "text-")                                                               \
	X(Mark, by, WORD, "by-")                                                                   \
	X(Part, collector, ID, "")                                                                 \
	X(Part, host, WORD, "host-")                                                               \
	X(Unrecorded, pid, NUMBER_OF_PROCESS, "")                                                  \
	X(Unrecorded, name, WORD, "p-")                                                            \
	X(Stacks, parent, KEEP, "")                                                                \
	X(Stacks, module, KEEP, "")                                                                \
	X(Stacks, offset, KEEP, "")                                                                \
	X(Ledger, thread, KEEP, "")                                                                \
	X(Ledger, thread_produced, KEEP, "")                                                       \
	X(Ledger, thread_delivered, KEEP, "")                                                      \
	X(Ledger, thread_lost, KEEP, "")                                                           \
	X(Ledger, thread_not_sampled, KEEP, "")                                                    \
	X(Ledger, thread_culled, KEEP, "")                                                         \
	X(Culled, thread, KEEP, "")                                                                \
	X(Culled, stack, KEEP, "")                                                                 \
	X(Culled, lifetime, KEEP, "")                                                              \
	X(Culled, blocks, KEEP, "")                                                                \
	X(Culled, size, KEEP, "")                                                                  \
	X(Culled, size_range, KEEP, "")                                                            \
	X(Culled, bytes_over, KEEP, "")                                                            \
	X(Culled, first, KEEP, "")                                                                 \
	X(Culled, last, KEEP, "")                                                                  \
	X(Culled, weight, KEEP, "")                                                                \
	X(Culled, reallocated, KEEP, "")

static const struct rule {
	const ProtobufCMessageDescriptor *message;
	const char *field;
	enum treatment treatment;
	const char *prefix;
} rules[] = {
#define DESCRIPTOR_Batch		     &heapcast__batch__descriptor
#define DESCRIPTOR_Process		     &heapcast__process__descriptor
#define DESCRIPTOR_Origin		     &heapcast__origin__descriptor
#define DESCRIPTOR_Module		     &heapcast__module__descriptor
#define DESCRIPTOR_Thread		     &heapcast__thread__descriptor
#define DESCRIPTOR_Mark			     &heapcast__mark__descriptor
#define DESCRIPTOR_Part			     &heapcast__part__descriptor
#define DESCRIPTOR_Unrecorded		     &heapcast__unrecorded__descriptor
#define DESCRIPTOR_Stacks		     &heapcast__stacks__descriptor
#define DESCRIPTOR_Ledger		     &heapcast__ledger__descriptor
#define DESCRIPTOR_Culled		     &heapcast__culled__descriptor
#define X(message, field, treatment, prefix) {DESCRIPTOR_##message, #field, treatment, prefix},
	FIELDS(X)
#undef X
};

static const struct rule left_out = {.treatment = DROP};

static const struct rule *rule_of(const ProtobufCMessageDescriptor *message,
				  const ProtobufCFieldDescriptor *field)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].message == message && !strcmp(rules[i].field, field->name))
			return &rules[i];
	return &left_out;
}

/* ---- texts ---- */

void anonymise_fields_clear(struct anonymise_fields *f)
{
	while (f->text_count)
		free(f->texts[--f->text_count]);
}

void anonymise_fields_done(struct anonymise_fields *f)
{
	anonymise_fields_clear(f);
	free(f->texts);
	f->texts = NULL;
	f->text_capacity = 0;
}

/* Takes ownership of `text`. Returns NULL if memory is short. */
static char *anonymise_fields_hold(struct anonymise_fields *f, char *text)
{
	if (!text || array_reserve(&f->texts, &f->text_capacity, (uint64_t)f->text_count + 1,
				   sizeof(*f->texts)) < 0) {
		free(text);
		return NULL;
	}
	f->texts[f->text_count++] = text;
	return text;
}

/* Returns true for names that the kernel gives to memory without a file. */
static bool is_kernels(const char *name)
{
	static const char *const names[] = {
		"[heap]",    "[stack]",	  "[vdso]",    "[vvar]",	"[vsyscall]",
		"[vectors]", "[sigpage]", "[uprobes]", "[vvar_vclock]", "linux-vdso.so.1"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * Queries recognize a program's allocator by these names (query/match/glibc_heap.h), so the last
 * component of such a path is kept.
 */
static bool tells_allocator(const char *name)
{
	static const char *const begins[] = {"libc.so.6", "libc-2.", "libjemalloc", "libtcmalloc",
					     "libmimalloc"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return strlen(name) < 32;
	return false;
}

static char *other_region(struct anonymise_fields *f, const char *name, size_t length)
{
	char word[PSEUDONYM_SIZE], *text;

	pseudonym_word(f->names, "anon:", name, length, word);
	return asprintf(&text, "[%s]", word) < 0 ? NULL : text;
}

/* The kernel appends this to the name of a deleted file. */
static const char deleted[] = " (deleted)";

static char *other_path(struct anonymise_fields *f, const char *path, size_t length)
{
	size_t end = sizeof(deleted) - 1;
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	char *folder, *text;

	if (path[0] == '[')
		return other_region(f, path, length);
	if (length > end && !strcmp(path + length - end, deleted))
		last = path + length - end;
	else if (!tells_allocator(last))
		return pseudonym_path(f->names, path, length);
	folder = pseudonym_path(f->names, path, (size_t)(last - path));
	if (!folder || asprintf(&text, "%s%s", folder, last) < 0)
		text = NULL;
	free(folder);
	return text;
}

const char *anonymise_path(struct anonymise_fields *f, const char *path, size_t length)
{
	char *copy = anonymise_fields_hold(f, strndup(path, length));

	if (!copy || is_kernels(copy) || (f->keeps && f->keeps(f->context, copy)))
		return copy;
	return anonymise_fields_hold(f, other_path(f, copy, strlen(copy)));
}

/* ---- values ---- */

/*
 * Returns true if the text looks like a version or machine name: at most 16 lower-case letters,
 * digits and ".", "_", "-".
 */
static bool is_plain(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", text[i]))
			return false;
	return length <= 16;
}

static int other_text(struct anonymise_fields *f, const struct rule *rule,
		      ProtobufCBinaryData *text)
{
	char word[PSEUDONYM_SIZE];
	const char *other = "";

	if (rule->treatment == WORD)
		other = anonymise_fields_hold(f,
					      strdup(pseudonym_word(f->names, rule->prefix,
								    text->data, text->len, word)));
	else if (rule->treatment == PATH && text->len)
		other = anonymise_path(f, (const char *)text->data, text->len);
	else if (rule->treatment == PLAIN && is_plain((const char *)text->data, text->len))
		return 0;
	if (!other)
		return -ENOMEM;
	text->data = (uint8_t *)(uintptr_t)other;
	text->len = strlen(other);
	return 0;
}

/* Replaces bytes in place, with the same length. */
static int other_bytes(struct anonymise_fields *f, const struct rule *rule,
		       ProtobufCBinaryData *bytes)
{
	if (rule->treatment == KEEP)
		return 0;
	if (rule->treatment == ID && bytes->len == 16)
		pseudonym_id(f->names, bytes->data);
	else if (rule->treatment == BUILD_ID)
		pseudonym_build_id(f->names, bytes->data, bytes->len, bytes->data);
	else
		return other_text(f, rule, bytes);
	return 0;
}

static void other_u32(struct anonymise_fields *f, const struct rule *rule, uint32_t *number)
{
	uint8_t bytes[4] = {(uint8_t)*number, (uint8_t)(*number >> 8), (uint8_t)(*number >> 16),
			    (uint8_t)(*number >> 24)};

	if (rule->treatment == NUMBER_OF_PROCESS && *number)
		*number = (uint32_t)(1 + pseudonym_number(f->names, "pid", bytes, 4) % PID_MAX);
	else if (rule->treatment == NUMBER_OF_USER)
		*number =
			(uint32_t)(UID_LEAST + pseudonym_number(f->names, "uid", bytes, 4) % UIDS);
}

static void other_u64(struct anonymise_fields *f, const struct rule *rule, uint64_t *number)
{
	if (rule->treatment == ADDRESS)
		*number = pseudonym_address(f->names, *number);
	else if (rule->treatment == WALL && *number)
		*number += f->names->wall_offset_ns;
}

/* ---- messages ---- */

static int other_value(struct anonymise_fields *f, const struct rule *rule, ProtobufCType type,
		       void *value)
{
	ProtobufCBinaryData text;
	char **string = value;
	int r;

	switch (type) {
	case PROTOBUF_C_TYPE_BYTES:
		return other_bytes(f, rule, value);
	case PROTOBUF_C_TYPE_STRING:
		text = (ProtobufCBinaryData){strlen(*string), (uint8_t *)*string};
		r = other_text(f, rule, &text);
		*string = (char *)text.data;
		return r;
	case PROTOBUF_C_TYPE_UINT32:
		other_u32(f, rule, value);
		return 0;
	case PROTOBUF_C_TYPE_UINT64:
		other_u64(f, rule, value);
		return 0;
	case PROTOBUF_C_TYPE_MESSAGE:
		return *(ProtobufCMessage **)value
			       ? anonymise_message(f, *(ProtobufCMessage **)value)
			       : 0;
	default:
		return 0;
	}
}

static size_t anonymise_fields_size_of(ProtobufCType type)
{
	return type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData) : sizeof(void *);
}

/* Repeated numbers would need a treatment of their own, but the messages have none. */
static int other_field(struct anonymise_fields *f, ProtobufCMessage *message,
		       const ProtobufCFieldDescriptor *field)
{
	const struct rule *rule = rule_of(message->descriptor, field);
	uint8_t *member = (uint8_t *)message + field->offset;
	size_t count;
	int r = 0;

	if (field->label != PROTOBUF_C_LABEL_REPEATED)
		return other_value(f, rule, field->type, member);
	if (field->type != PROTOBUF_C_TYPE_BYTES && field->type != PROTOBUF_C_TYPE_STRING &&
	    field->type != PROTOBUF_C_TYPE_MESSAGE)
		return 0;
	count = *(size_t *)(void *)((uint8_t *)message + field->quantifier_offset);
	for (size_t i = 0; !r && i < count; i++)
		r = other_value(f, rule, field->type,
				*(uint8_t **)(void *)member +
					i * anonymise_fields_size_of(field->type));
	return r;
}

bool anonymise_keeps(struct anonymise_fields *f, const Heapcast__Module *module)
{
	char *path = module->path.len ? strndup((const char *)module->path.data, module->path.len)
				      : NULL;
	bool keeps = path && f->keeps && f->keeps(f->context, path);

	free(path);
	return keeps;
}

/* Sizes of segments can identify a program or library, and so can its fingerprint. */
static void forget_segments(Heapcast__Module *module)
{
	module->print = module->print ? module->number : 0;
	module->n_segment = 0;
}

/* The reason for which a flight recorder was sent is one of our own words. */
static bool keeps_text(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const Heapcast__Mark *mark = (const Heapcast__Mark *)message;

	return message->descriptor == &heapcast__mark__descriptor &&
	       mark->kind == HEAPCAST__MARK_KIND__MARK_DELIVERY && !strcmp(field->name, "text") &&
	       is_plain((const char *)mark->text.data, mark->text.len);
}

int anonymise_message(struct anonymise_fields *f, ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *d = message->descriptor;
	bool kept = false;
	int r = 0;

	message->n_unknown_fields = 0;
	if (d == &heapcast__module__descriptor) {
		kept = anonymise_keeps(f, (Heapcast__Module *)message);
		if (!kept)
			forget_segments((Heapcast__Module *)message);
	}
	for (unsigned i = 0; !r && i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &d->fields[i];

		if (kept && !strcmp(field->name, "build_id"))
			continue;
		if (!keeps_text(message, field))
			r = other_field(f, message, field);
	}
	return r;
}
