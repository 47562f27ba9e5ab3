/*
 * The store's catalogue, damaged: the input is a row of changes, 2 bytes where and 1 byte what, to
 * a sound one; or, where it begins as SQLite's files do, the catalogue itself. Whatever it is, the
 * store opens, lists its one stream as it is, and does not touch the recording.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/store/builder.h"

#define EVENTS 3
#define SQLITE "SQLite format 3"

static struct builder b;
static struct stream_id id;
static char folder[64], catalogue[96], recording[192];
static uint8_t sound[1 << 16];
static ssize_t sound_length;

static void remove_all(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command) != 0)
		fprintf(stderr, "%s is left\n", folder);
}

static void receive(void)
{
	char *frames = builder_save(&b, b.file.length);
	int fd = open(frames, O_RDONLY | O_CLOEXEC);
	struct stream_position durable;
	struct stream_writer *w = NULL;
	struct scan_item item;
	struct store *store = NULL;
	struct scan scan;
	uint64_t cut;

	must(store_open(folder, STORE_WRITE, &store, NULL) == 0 &&
	     stream_writer_open(store, &id, &w, &cut, NULL) == 0 &&
	     scan_init(&scan, fd, 0, NULL) == 0);
	while (scan_next(&scan, b.file.length, &item) == 1)
		must(stream_writer_append(w, b.file.data + item.offset, item.length, item.batch,
					  NULL) == 0);
	must(stream_writer_sync(w, &durable, NULL) == 0);
	stream_writer_close(w);
	store_close(store);
	scan_done(&scan);
	close(fd);
	unlink(frames);
	free(frames);
}

static void begin(void)
{
	char text[STREAM_ID_TEXT];
	int fd;

	/* Of memory, if there is such a place: each input makes files durable. */
	snprintf(folder, sizeof(folder), "%s/heapcast-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	must(mkdtemp(folder) != NULL);
	atexit(remove_all);
	builder_init(&b, 'c');
	for (uint64_t i = 1; i <= EVENTS; i++)
		builder_malloc(&b, i, 1, 0x1000 * i, 100);
	builder_end(&b, 0);
	memcpy(id.bytes, b.id, sizeof(id.bytes));
	snprintf(catalogue, sizeof(catalogue), "%s/catalogue.sqlite", folder);
	snprintf(recording, sizeof(recording), "%s/streams/%s/recording.heapcast", folder,
		 stream_id_format(text, &id));
	receive();
	fd = open(catalogue, O_RDONLY | O_CLOEXEC);
	sound_length = read(fd, sound, sizeof(sound));
	close(fd);
	must(sound_length > 0 && sound_length < (ssize_t)sizeof(sound));
}

static void put(const uint8_t *data, size_t size)
{
	static uint8_t changed[sizeof(sound)];
	bool whole = size >= sizeof(SQLITE) && !memcmp(data, SQLITE, sizeof(SQLITE));
	size_t length = whole ? size : (size_t)sound_length;
	int fd = open(catalogue, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memcpy(changed, sound, sizeof(sound));
	for (size_t i = 0; !whole && i + 3 <= size; i += 3)
		changed[(data[i] | data[i + 1] << 8) % sound_length] = data[i + 2];
	must(fd >= 0 && write(fd, whole ? data : changed, length) == (ssize_t)length);
	close(fd);
}

static void check_list(enum store_access access)
{
	struct stream_summary *list;
	struct store *store = NULL;
	size_t count;

	must(store_open(folder, access, &store, NULL) == 0);
	must(store_list(store, &list, &count, NULL) == 0 && count == 1);
	must(list->events == EVENTS && list->recording_bytes == b.file.length &&
	     list->pid == 4711 && list->state == STREAM_ENDED &&
	     !strcmp(list->executable, "/usr/bin/example"));
	store_list_free(list, count);
	store_close(store);
}

static void check_writer(void)
{
	struct stream_writer *w = NULL;
	struct store *store = NULL;
	uint64_t cut = 0;
	struct stat st;

	must(store_open(folder, STORE_WRITE, &store, NULL) == 0 &&
	     stream_writer_open(store, &id, &w, &cut, NULL) == 0);
	must(!cut && stream_writer_position(w).next == b.number + 1);
	must(stat(recording, &st) == 0 && (size_t)st.st_size == b.file.length);
	stream_writer_close(w);
	store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!sound_length)
		begin();
	put(data, size);
	check_list(STORE_READ);
	check_list(STORE_WRITE);
	check_writer();
	return 0;
}
