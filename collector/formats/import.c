/* Imports a file: finds its format, and writes the recording to a file or a store. See import.h. */
#include "collector/formats/import.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/writer.h"
#include "collector/formats/foreign.h"
#include "collector/formats/formats.h"
#include "collector/formats/read/importer.h"

#include "base/ban.h"

DEFINE_CLEANUP(source_close, struct source *)
DEFINE_CLEANUP(composer_free, struct composer *)
DEFINE_CLEANUP(new_stream_free, struct new_stream *)
DEFINE_CLEANUP(stream_writer_close, struct stream_writer *)

/* ---- a file ---- */

/* Tries the last format in the table first; formats.c says why. */
static const struct format *format_of_head(const uint8_t *head, size_t length)
{
	const struct format *f = formats;

	while (f->name)
		f++;
	while (f-- > formats)
		if (f->reader && f->reader->is(head, length))
			return f;
	return NULL;
}

static const struct format *find_format(struct importer *im)
{
	char names[FORMAT_NAMES_MAX];
	const struct format *format;
	const char *foreign;
	const uint8_t *head;
	size_t length;

	/* Reading the head also finds out how the file is packed. */
	if (source_head(im->source, &head, &length, im->err) < 0)
		return NULL;
	if (im->options->format)
		return format_to_read(im->options->format);
	foreign = format_foreign(head, length);
	if (foreign) {
		err_set(im->err, -EBADMSG,
			"%s looks like %s, which can't be imported: what can is of %s",
			source_name(im->source), foreign, format_names_read(names, " or "));
		return NULL;
	}
	format = format_of_head(head, length);
	if (!format)
		err_set(im->err, -EBADMSG, "%s is %s: --format takes %s", source_name(im->source),
			length ? "of no format that is known here" : "empty",
			format_names_read(names, " or "));
	return format;
}

static int import_finish(struct importer *im)
{
	Heapcast__End end = HEAPCAST__END__INIT;
	uint64_t done, of;
	int r;

	end.time_ns = im->end_ns;
	if (strlen(im->result->note) > im->noted)
		composer_note(im->composer, im->result->note);
	r = composer_end(im->composer, im->end_ns ? &end : NULL, im->err);
	if (r < 0)
		return r;
	im->result->events = composer_events(im->composer);
	source_done_of(im->source, &done, &of);
	if (im->options->progress)
		im->options->progress(im->options->context, done, done);
	return 0;
}

static int choose_id(const struct stream_id *id, struct stream_id *ret_id, struct err_text *err)
{
	if (id)
		*ret_id = *id;
	else if (getrandom(ret_id->bytes, sizeof(ret_id->bytes), 0) != sizeof(ret_id->bytes))
		return err_set(err, -EIO, "no random number for the stream's id");
	return 0;
}

/* Takes ownership of `taken`. */
static int import_source(struct source *taken, int fd, const struct stream_id *id,
			 const struct import_options *options, struct import_result *ret_result,
			 struct err_text *err)
{
	cleanup(cleanup_source_close) struct source *source = taken;
	cleanup(cleanup_composer_free) struct composer *composer = NULL;
	struct importer im = {
		.options = options, .result = ret_result, .err = err, .fd = fd, .source = source};
	const struct format *format;
	int r;

	*ret_result = (struct import_result){0};
	r = choose_id(id, &ret_result->id, err);
	if (r < 0)
		return r;
	format = find_format(&im);
	if (!format)
		return -EBADMSG;
	ret_result->format = format->name;
	r = format->reader->read(&im);
	composer = im.composer;
	/* The composer's own error says more than the reader's errno. */
	if (r < 0 && !err->text[0] && composer)
		composer_end(composer, NULL, err);
	if (r < 0)
		return err->text[0] ? r
				    : err_set(err, r, "%s: %s", source_name(source), strerror(-r));
	return import_finish(&im);
}

int import_file(const char *path, int fd, const struct stream_id *id,
		const struct import_options *options, struct import_result *ret_result,
		struct err_text *err)
{
	struct source *source;
	struct err_text unused;
	int r;

	if (!err)
		err = &unused;
	err->text[0] = 0;
	r = source_open(path, &source, err);
	return r < 0 ? r : import_source(source, fd, id, options, ret_result, err);
}

/* ---- into a store ---- */

/* Opens and finishes the new stream, which derives its rows and adds it to the catalogue. */
static int finish_stream(struct store *store, const struct stream_id *id, struct err_text *err)
{
	cleanup(cleanup_stream_writer_close) struct stream_writer *writer = NULL;
	uint64_t cut = 0;
	int r = stream_writer_open(store, id, &writer, &cut, err);

	return r ? r : stream_writer_finish(writer, err);
}

static int source_to_store(struct source *source, struct store *store,
			   const struct import_options *options, struct import_result *ret_result,
			   struct err_text *err)
{
	cleanup(cleanup_new_stream_free) struct new_stream *draft = NULL;
	int r = new_stream_new(store, &draft, err);

	if (r < 0) {
		source_close(source);
		return r;
	}
	r = import_source(source, new_stream_fd(draft), new_stream_id(draft), options, ret_result,
			  err);
	if (!r)
		r = new_stream_sync(draft, err);
	if (!r)
		r = new_stream_place(draft, err);
	if (r < 0)
		return r;
	new_stream_close(draft);
	r = finish_stream(store, &ret_result->id, err);
	if (r < 0)
		new_stream_withdraw(draft);
	return r;
}

int import_to_store(const char *path, struct store *store, const struct import_options *options,
		    struct import_result *ret_result, struct err_text *err)
{
	struct source *source;
	int r = source_open(path, &source, err);

	return r < 0 ? r : source_to_store(source, store, options, ret_result, err);
}

int import_fd_to_store(int file, const char *name, struct store *store,
		       const struct import_options *options, struct import_result *ret_result,
		       struct err_text *err)
{
	struct source *source;
	int r = source_open_fd(file, name, &source, err);

	return r < 0 ? r : source_to_store(source, store, options, ret_result, err);
}
