#pragma once
/*
 * Recordings as text, a line a field that is not 0, so that all of one can be compared with a file:
 *
 *        batch.process.pid 4711
 *        batch.thread[0].name "worker"
 *        batch.events.time 2 0 14                        the numbers of a column
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "collector/recording/scan.h"
#include "heapcast.pb-c.h"

static inline bool dump_is_column(const ProtobufCMessageDescriptor *d, const char *field)
{
	static const char *const columns[] = {"Stacks", "Events", "Ledger",
					      "Culled", "Maps",	  "Names"};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!strcmp(d->short_name, columns[i]))
			return strcmp(field, "texts") && strcmp(field, "names") &&
			       strcmp(field, "kind");
	return false;
}

static inline void dump_bytes(FILE *out, const uint8_t *data, size_t length)
{
	fputs(" \"", out);
	for (size_t i = 0; i < length; i++)
		fprintf(out, data[i] < ' ' || data[i] > '~' ? "\\%02x" : "%c", data[i]);
	fputs("\"\n", out);
}

static inline void dump_column(FILE *out, const uint8_t *data, size_t length)
{
	struct reader r = reader_of(data, length);

	while (reader_more(&r))
		fprintf(out, " %llu", (unsigned long long)reader_varint(&r));
	fputs("\n", out);
}

static inline void dump_message(FILE *out, const char *path, const ProtobufCMessage *message);

static inline void dump_value(FILE *out, const char *path, const ProtobufCMessageDescriptor *d,
			      const ProtobufCFieldDescriptor *field, const void *value)
{
	const ProtobufCBinaryData *bytes = value;
	uint64_t number = 0;

	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		const ProtobufCMessage *message = *(ProtobufCMessage *const *)value;

		if (message)
			dump_message(out, path, message);
	} else if (field->type == PROTOBUF_C_TYPE_STRING) {
		const char *text = *(char *const *)value;

		if (*text) {
			fputs(path, out);
			dump_bytes(out, (const uint8_t *)text, strlen(text));
		}
	} else if (field->type == PROTOBUF_C_TYPE_BYTES) {
		if (bytes->len) {
			fputs(path, out);
			(dump_is_column(d, field->name) ? dump_column
							: dump_bytes)(out, bytes->data, bytes->len);
		}
	} else {
		memcpy(&number, value, field->type == PROTOBUF_C_TYPE_UINT64 ? 8 : 4);
		if (number)
			fprintf(out, "%s %llu\n", path, (unsigned long long)number);
	}
}

static inline void dump_message(FILE *out, const char *path, const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *d = message->descriptor;

	for (unsigned i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &d->fields[i];
		const uint8_t *member = (const uint8_t *)message + field->offset;
		size_t count = 1, size = field->type == PROTOBUF_C_TYPE_BYTES
						 ? sizeof(ProtobufCBinaryData)
						 : sizeof(void *);
		bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
		char name[256];

		if (repeated) {
			count = *(const size_t *)(const void *)((const uint8_t *)message +
								field->quantifier_offset);
			member = *(uint8_t *const *)(const void *)member;
		}
		for (size_t k = 0; k < count; k++) {
			snprintf(name, sizeof(name), repeated ? "%s.%s[%zu]" : "%s.%s", path,
				 field->name, k);
			dump_value(out, name, d, field, member + k * size);
		}
	}
	for (unsigned i = 0; i < message->n_unknown_fields; i++)
		fprintf(out, "%s.%u ?\n", path, message->unknown_fields[i].tag);
}

/* All batches of the recording in `fd`, which has nothing else in it. */
static inline void dump_recording(FILE *out, int fd)
{
	uint64_t size = (uint64_t)lseek(fd, 0, SEEK_END);
	struct scan_item item;
	struct scan scan;

	assert_int_equal(scan_init(&scan, fd, 0, NULL), 0);
	while (scan_next(&scan, size, &item) == 1) {
		dump_message(out, "batch", &item.batch->base);
		fputs("\n", out);
	}
	assert_int_equal(scan.offset, size);
	assert_int_equal(scan.damaged_places, 0);
	scan_done(&scan);
}

/* ---- files to compare with ---- */

static bool dump_update; /* write them instead */

static inline char *dump_read(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;

	if (!in)
		fail_msg("there is no %s", path);
	if (getdelim(&text, &room, 0, in) < 0)
		fail_msg("%s is empty", path);
	fclose(in);
	return text;
}

/* `text` must be what is in FOLDER/NAME; is freed. */
static inline void dump_compare(const char *folder, const char *name, char *text)
{
	char path[512], *expected;
	size_t line = 1, i = 0, begin = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (dump_update) {
		FILE *out = fopen(path, "w");

		assert_true(out && fputs(text, out) >= 0);
		fclose(out);
	}
	expected = dump_read(path);
	for (; text[i] && text[i] == expected[i]; i++)
		if (text[i] == '\n') {
			line++;
			begin = i + 1;
		}
	if (text[i] != expected[i])
		fail_msg("%s:%zu: expected: %.*s\nactual: %.*s", path, line,
			 (int)strcspn(expected + begin, "\n"), expected + begin,
			 (int)strcspn(text + begin, "\n"), text + begin);
	free(expected);
	free(text);
}
