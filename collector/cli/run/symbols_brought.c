/* Takes binaries out of a recording. See symbols_brought.h. What the recording says about a file is
 * not trusted. Once the file is complete, only its own content counts. */
#include "collector/cli/run/symbols_brought.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "collector/cli/build_id.h"
#include "collector/cli/command.h"
#include "collector/cli/progress.h"
#include "collector/recording/brought_file.h"
#include "collector/recording/file.h"
#include "collector/rewrite/brought.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

#define BYTES_MAX  (4ull << 30) /* limit for one recording */
#define FAILED_MAX 20		/* after this many bad files the rest is skipped */

bool symbols_is_recording(const char *path)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char bytes[RECORDING_FILE_HEAD];
	ssize_t n = fd < 0 ? 0 : pread(fd, bytes, sizeof(bytes), 0);

	return n > 0 && recording_file_is(bytes, (size_t)n);
}

/* Receives a complete file. Returns what symbols_store_receive returns. */
static int symbols_brought_receive(const char *folder, const char *temporary, int fd,
				   const struct brought_file *file, struct err_text *err)
{
	const struct symbol_module module = {.build_id = file->build_id,
					     .build_id_length = file->build_id_length};
	struct err_text why = {0};
	int r;

	if (fsync(fd))
		return err_set(err, -errno, "writing: %s", strerror(errno));
	r = symbols_store_receive(folder, temporary, &module, &why);
	if (r == -ENOEXEC)
		return err_set(err, r, "it is no ELF file");
	if (r == -ENODATA)
		return err_set(err, r, "it has no build id, or nothing that names code");
	if (r == -EKEYREJECTED)
		return err_set(err, r, "the build id in it is another one");
	if (r < 0)
		*err = why;
	return r;
}

static int symbols_brought_take(struct brought *brought, const char *folder,
				const struct brought_file *file, struct err_text *err)
{
	cleanup(cleanup_free) char *temporary = NULL;
	cleanup(cleanup_close) int fd = -1;
	int r;

	if (file->size > BROUGHT_FILE_MAX)
		return brought_read(brought, -1, err);
	r = fd = symbols_store_begin(folder, file->size, &temporary, err);
	if (fd < 0) {
		brought_read(brought, -1, NULL);
		return r;
	}
	r = brought_read(brought, fd, err);
	if (!r)
		r = symbols_brought_receive(folder, temporary, fd, file, err);
	if (r < 0)
		unlink(temporary);
	return r;
}

static void say_failed(const char *path, const struct brought_file *file, const char *why)
{
	char id[BUILD_ID_TEXT];

	program_printf(stderr, "collector symbols: %s: the binary %s is not taken: %s\n", path,
		       build_id_format(id, file->build_id, file->build_id_length), why);
}

static int symbols_brought_take_all(struct brought *b, const char *folder, size_t *added,
				    size_t *known, size_t *failed, struct err_text *err)
{
	size_t failures = 0;
	uint64_t bytes = 0;
	struct brought_file file;
	int r;

	while ((r = brought_next(b, &file, err)) == 1) {
		struct err_text why = {0};

		if (failures == FAILED_MAX)
			return err_set(err, -EBADMSG, "%s: no more of it is looked at", b->path);
		bytes += file.size <= BROUGHT_FILE_MAX ? file.size : 0;
		if (bytes > BYTES_MAX)
			return err_set(err, -EFBIG, "%s: more than 4 GiB of binaries", b->path);
		r = symbols_brought_take(b, folder, &file, &why);
		*added += r == 0;
		*known += r == 1;
		if (r >= 0)
			continue;
		say_failed(b->path, &file, err_get(&why, r));
		failures++;
	}
	*failed += failures;
	return r;
}

void symbols_add_brought(const char *folder, const char *path, size_t *added, size_t *known,
			 size_t *failed)
{
	static char reading[] = "reading the recording";
	size_t before = *added + *known + *failed;
	struct brought brought;
	struct err_text err = {0};
	int r = brought_open(&brought, path, &err);

	brought.progress = progress_show;
	brought.context = reading;
	if (!r)
		r = symbols_brought_take_all(&brought, folder, added, known, failed, &err);
	if (!r && *added + *known + *failed == before)
		r = err_set(&err, -ENODATA,
			    "%s brings no binaries along: 'collector pack --with-binaries' puts "
			    "them in",
			    path);
	if (r < 0) {
		program_printf(stderr, "collector symbols: %s\n", err_get(&err, r));
		++*failed;
	}
	brought_close(&brought);
}
