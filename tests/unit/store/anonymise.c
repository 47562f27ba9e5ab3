/*
 * Other names: every text that a message can hold is filled with a word, those of later versions
 * included, and the word is looked for in what comes out. Offsets are dealt out anew without two of
 * them becoming one; addresses keep their distances.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/columns.h"
#include "collector/rewrite/anonymise_fields.h"
#include "base/ban.h"

#define WORD "Canary bird"

static struct pseudonyms names;

static int setup(void **state)
{
	struct err_text err = {0};
	int r = pseudonyms_init(&names, "salt", 4, &err);

	(void)state;
	if (r < 0)
		print_message("SKIPPED: %s\n", err.text);
	return r;
}

/* ---- messages ---- */

/* Numbers in columns are no text. */
static bool has_columns(const ProtobufCMessageDescriptor *d)
{
	static const char *const columns[] = {"Stacks", "Events", "Ledger",
					      "Culled", "Maps",	  "Names"};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!strcmp(d->short_name, columns[i]))
			return true;
	return false;
}

static void fill(ProtobufCMessage *message);

/* Given back at the end. */
static void *kept[4096];
static size_t kept_count;

static void *keep(void *memory)
{
	assert_true(memory && kept_count < sizeof(kept) / sizeof(kept[0]));
	return kept[kept_count++] = memory;
}

static void *new_message(const ProtobufCMessageDescriptor *d)
{
	ProtobufCMessage *message = keep(calloc(1, d->sizeof_message));

	d->message_init(message);
	fill(message);
	return message;
}

/* One element. */
static void fill_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	uint8_t *member = (uint8_t *)message + field->offset;
	ProtobufCBinaryData bytes = {strlen(WORD), keep(strdup(WORD))};
	void *value = NULL;
	size_t size = sizeof(value);

	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		if (has_columns(field->descriptor))
			return;
		value = new_message(field->descriptor);
	} else if (field->type == PROTOBUF_C_TYPE_STRING) {
		value = keep(strdup(WORD));
	} else if (field->type != PROTOBUF_C_TYPE_BYTES) {
		return;
	}
	if (field->type == PROTOBUF_C_TYPE_BYTES)
		size = sizeof(bytes);
	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		void *list = keep(malloc(size));

		*(size_t *)(void *)((uint8_t *)message + field->quantifier_offset) = 1;
		*(void **)(void *)member = list;
		member = list;
	}
	memcpy(member, field->type == PROTOBUF_C_TYPE_BYTES ? (void *)&bytes : (void *)&value,
	       size);
}

static void fill(ProtobufCMessage *message)
{
	static uint8_t text[] = "\x0b" WORD;
	static ProtobufCMessageUnknownField unknown = {
		.tag = 999,
		.wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
		.len = sizeof(WORD),
		.data = text,
	};

	for (unsigned i = 0; i < message->descriptor->n_fields; i++)
		fill_field(message, &message->descriptor->fields[i]);
	message->n_unknown_fields = 1;
	message->unknown_fields = &unknown;
}

static size_t count_words(const ProtobufCMessage *message)
{
	size_t length = protobuf_c_message_get_packed_size(message), count = 0;
	uint8_t *data = malloc(length), *at = data;

	protobuf_c_message_pack(message, data);
	while ((at = memmem(at, (size_t)(data + length - at), WORD, strlen(WORD)))) {
		at++;
		count++;
	}
	free(data);
	return count;
}

static void no_text_is_left(void **state)
{
	ProtobufCMessage *batch = new_message(&heapcast__batch__descriptor);
	struct anonymise_fields fields = {.names = &names};

	(void)state;
	assert_true(count_words(batch) > 30);
	assert_int_equal(anonymise_message(&fields, batch), 0);
	assert_int_equal(names.error, 0);
	assert_int_equal(count_words(batch), 0);
	/* And what has another name has one. */
	assert_true(((Heapcast__Batch *)batch)->process->host[0] == 'h');
	assert_true(((Heapcast__Batch *)batch)->thread[0]->name.len > 4);
	anonymise_fields_done(&fields);
	while (kept_count)
		free(kept[--kept_count]);
}

static bool keeps_libc(void *context, const char *path)
{
	(void)context;
	return !strcmp(path, "/lib/libc.so.6");
}

static void paths_keep_their_folders(void **state)
{
	struct anonymise_fields fields = {.names = &names, .keeps = keeps_libc};
	static const char *const same[] = {"[heap]", "[vdso]", "/lib/libc.so.6"};
	const char *a = anonymise_path(&fields, "/opt/firm/bin/app", 17),
		   *b = anonymise_path(&fields, "/opt/firm/lib/app", 17),
		   *c = anonymise_path(&fields, "/opt/firm/bin/app (deleted)", 27),
		   *d = anonymise_path(&fields, "[anon:cache of keys]", 20),
		   *e = anonymise_path(&fields, "/firm/libjemalloc.so.2", 22);

	(void)state;
	assert_int_equal(strlen(a), 4 * 11);
	assert_memory_equal(a, b, 22);
	assert_memory_not_equal(a + 22, b + 22, 11);
	assert_string_equal(a + 33, b + 33);
	assert_string_equal(c + 44, " (deleted)");
	assert_true(strncmp(a, c, 33) == 0);
	assert_true(strncmp(d, "[anon:", 6) == 0 && !strstr(d, "cache"));
	assert_string_equal(strrchr(e, '/'), "/libjemalloc.so.2");
	assert_true(!strstr(e, "firm"));
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_string_equal(anonymise_path(&fields, same[i], strlen(same[i])), same[i]);
	anonymise_fields_done(&fields);
}

/* ---- numbers ---- */

static void offsets_are_dealt_out(void **state)
{
	static const uint64_t counts[] = {1, 2, 3, 100, 4096, 65537};
	static bool seen[65537];

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct pseudonym_offsets o;
		uint64_t same = 0;

		memset(seen, 0, sizeof(seen));
		pseudonym_offsets_init(&names, "module", 6, 0x1000, 0x1000 + counts[i], &o);
		for (uint64_t k = 0; k < counts[i]; k++) {
			uint64_t to = pseudonym_offset(&o, 0x1000 + k) - 0x1000;

			assert_true(to < counts[i] && !seen[to]);
			seen[to] = true;
			same += to == k;
		}
		assert_true(counts[i] < 100 || same < 20);
		assert_true(pseudonym_offset(&o, 0x1000 + counts[i]) > 0x1000 + counts[i]);
	}
}

static void addresses_keep_their_distances(void **state)
{
	uint64_t a = pseudonym_address(&names, 0x555555554000),
		 b = pseudonym_address(&names, 0x7ffff7dd0010);

	(void)state;
	assert_int_equal(b - a, 0x7ffff7dd0010 - 0x555555554000);
	assert_int_equal((a - 0x555555554000) % 65536, 0);
	assert_true(a != 0x555555554000);
	assert_int_equal(pseudonym_address(&names, 0), 0);
	assert_true(pseudonym_address(&names, 0xffffffffff600000) == 0xffffffffff600000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_text_is_left),
		cmocka_unit_test(paths_keep_their_folders),
		cmocka_unit_test(offsets_are_dealt_out),
		cmocka_unit_test(addresses_keep_their_distances),
	};

	if (setup(NULL) < 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
