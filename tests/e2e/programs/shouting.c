/*
 * An agent whose every text is meant for a terminal: escape sequences, ends of lines, bytes that are no character, marks that turn the
 * direction. It listens at 127.0.0.1:PORT, brings one stream that lives, answers each order in the same tone, and goes on until its
 * collector is gone.
 *
 *	shouting PORT
 *	shouting --to PORT     a collector like that: greets the agent there, wants a mark, and goes when it was told what became of it
 *
 * Strings are found by the descriptors of the messages; those texts that the format has as bytes are named here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "proto/columns.h"
#include "proto/message.h"
#include "proto/names.h"
#include "proto/stack_columns.h"
#include "tests/unit/store/builder.h"

#define SHOUT_STRING                                                                               \
	"\x1b[31m\x1b]0;title\a\r\nline\t\x7f\xc2\x9b"                                             \
	"2J\xff\xc3(\xed\xa0\x80\xe2\x80\xae\xe2\x80\xa8\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f."
#define SHOUT_BYTES "/" SHOUT_STRING "\0nul"

static const struct {
	const ProtobufCMessageDescriptor *message;
	const char *field;
} bytes_texts[] = {
	{&heapcast__process__descriptor, "executable"},
	{&heapcast__process__descriptor, "argument"},
	{&heapcast__process__descriptor, "name"},
	{&heapcast__origin__descriptor, "file"},
	{&heapcast__module__descriptor, "path"},
	{&heapcast__thread__descriptor, "name"},
	{&heapcast__mark__descriptor, "text"},
	{&heapcast__unrecorded__descriptor, "name"},
	{&heapcast__stream_state__descriptor, "executable"},
	{&heapcast__stream_state__descriptor, "name"},
	{&heapcast__control__descriptor, "text"},
};
static unsigned shouted;

static bool is_text(const ProtobufCMessageDescriptor *message, const char *field)
{
	for (size_t i = 0; i < sizeof(bytes_texts) / sizeof(bytes_texts[0]); i++)
		if (bytes_texts[i].message == message && !strcmp(bytes_texts[i].field, field))
			return true;
	return false;
}

/* All texts of the message, and of those in it that are there. */
static void shout(ProtobufCMessage *m)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		uint8_t *at = (uint8_t *)m + f->offset;
		bool many = f->label == PROTOBUF_C_LABEL_REPEATED;
		size_t count = many ? *(size_t *)((uint8_t *)m + f->quantifier_offset) : 1;

		for (size_t k = 0; k < count; k++) {
			void *value = many ? *(uint8_t **)at : at;

			if (f->type == PROTOBUF_C_TYPE_STRING) {
				((const char **)value)[k] = SHOUT_STRING;
				shouted++;
			} else if (f->type == PROTOBUF_C_TYPE_BYTES &&
				   is_text(m->descriptor, f->name)) {
				((ProtobufCBinaryData *)value)[k] =
					builder_bytes(SHOUT_BYTES, sizeof(SHOUT_BYTES) - 1);
				shouted++;
			} else if (f->type == PROTOBUF_C_TYPE_MESSAGE &&
				   ((ProtobufCMessage **)value)[k]) {
				shout(((ProtobufCMessage **)value)[k]);
			}
		}
	}
}

static void must(bool true_, const char *what)
{
	if (true_)
		return;
	perror(what);
	exit(1);
}

static void send_message(int fd, const struct builder *b, ProtobufCMessage *m)
{
	uint8_t *message, *frame;
	size_t length, bound;
	long n;

	shout(m);
	length = protobuf_c_message_get_packed_size(m);
	bound = frame_bound(length);
	message = malloc(FRAME_HEADROOM + length);
	frame = malloc(bound);
	must(message && frame, "memory");
	protobuf_c_message_pack(m, message + FRAME_HEADROOM);
	n = frame_encode(b->frames, message + FRAME_HEADROOM, length, frame, bound);
	must(n > 0 && send(fd, frame, (size_t)n, MSG_NOSIGNAL) == n, "send");
	free(message);
	free(frame);
}

static void send_link(int fd, struct builder *b, Heapcast__Link *link)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	batch.link = link;
	send_message(fd, b, &batch.base);
}

static void greet(int fd, struct builder *b)
{
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Hello hello = HEAPCAST__HELLO__INIT;
	Heapcast__StreamState state = HEAPCAST__STREAM_STATE__INIT, *states[] = {&state};

	hello.protocol = PROTOCOL_VERSION;
	hello.id = builder_bytes(b->id, sizeof(b->id));
	hello.window_bytes = 8192;
	state.stream = hello.id;
	state.incarnation = state.first = 1;
	state.next = 2;
	state.pid = 4711;
	link.hello = &hello;
	link.stream = states;
	link.n_stream = 1;
	send_link(fd, b, &link);
}

/* Names of its own, of the place that all allocations have. */
static void name_places(struct names_encoder *e, Heapcast__Names *names)
{
	const struct name_frame frame = {.function = 1, .file = 2, .line = 3};

	names_encoder_clear(e, 1);
	names_encoder_text(e, SHOUT_STRING, strlen(SHOUT_STRING));
	names_encoder_text(e, SHOUT_STRING, strlen(SHOUT_STRING));
	names_encoder_place(e, 1, 0x100, &frame, 1);
	must(names_encoder_fill(e, names) == 0, "names");
}

static void map_places(Heapcast__Maps *maps)
{
	static const uint8_t one[] = {1};
	const ProtobufCBinaryData row = builder_bytes(one, 1);
	static const uint8_t totals[9] = {4, 4, 4};

	maps->time_ns = 5;
	maps->regions = 1;
	maps->whole = true;
	maps->page_shift = 12;
	maps->first_name = 1;
	maps->names = builder_bytes(SHOUT_STRING, sizeof(SHOUT_STRING));
	maps->start = maps->size = maps->flags = maps->offset = maps->device = maps->inode =
		maps->name = row;
	maps->used = maps->rss = maps->pss = row;
	maps->shared_clean = maps->shared_dirty = maps->private_clean = maps->private_dirty = row;
	maps->anonymous = maps->swap = row;
	maps->total = builder_bytes(totals, sizeof(totals));
}

static void bring(int fd, struct builder *b)
{
	static ProtobufCBinaryData arguments[2];
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Origin origin = HEAPCAST__ORIGIN__INIT;
	Heapcast__Module module = HEAPCAST__MODULE__INIT, *modules[] = {&module};
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT, *threads[] = {&thread};
	Heapcast__Mark mark = HEAPCAST__MARK__INIT, label = HEAPCAST__MARK__INIT,
		       *marks[] = {&mark, &label};
	Heapcast__Unrecorded child = HEAPCAST__UNRECORDED__INIT, *children[] = {&child};
	Heapcast__Names names = HEAPCAST__NAMES__INIT;
	Heapcast__Maps maps = HEAPCAST__MAPS__INIT;
	Heapcast__Stacks stacks = HEAPCAST__STACKS__INIT;
	Heapcast__Events events;
	struct names_encoder places = {0};
	struct stacks_encoder encoder;
	struct builder_ledger ledger;
	uint8_t nodes[256];

	batch.stream = builder_bytes(b->id, sizeof(b->id));
	batch.incarnation = 1;
	batch.number = 1;
	process.pid = 4711;
	process.protocol = PROTOCOL_VERSION;
	process.start_wall_ns = 1700000000000000000ull;
	process.argument = arguments;
	process.n_argument = 2;
	process.origin = &origin;
	batch.process = &process;
	module.number = 1;
	module.end = 0x10000;
	batch.module = modules;
	batch.n_module = 1;
	thread.number = 1;
	thread.tid = 4711;
	batch.thread = threads;
	batch.n_thread = 1;
	mark.kind = HEAPCAST__MARK_KIND__MARK_TEXT;
	label.kind = HEAPCAST__MARK_KIND__MARK_LABEL;
	label.thread = 1;
	batch.mark = marks;
	batch.n_mark = 2;
	child.pid = 4712;
	batch.unrecorded = children;
	batch.n_unrecorded = 1;
	name_places(&places, &names);
	batch.names = &names;
	map_places(&maps);
	batch.maps = &maps;
	stacks_encoder_init(&encoder, nodes, sizeof(nodes), 1);
	stacks_encoder_put(&encoder, &(struct stack_node){.module = 1, .offset = 0x100});
	stacks_encoder_put(&encoder,
			   &(struct stack_node){.parent = 1, .module = 1, .offset = 0x200});
	stacks_encoder_fill(&encoder, &stacks);
	batch.stacks = &stacks;
	for (unsigned i = 0; i < 100; i++)
		builder_malloc(b, 10 + i, 1, 0x1000 + 16 * i, 16);
	events_encoder_fill(&b->events, &events);
	batch.events = &events;
	batch.time_ns = batch.watermark_ns = 200;
	builder_ledger(b, &ledger);
	ledger.message.unrecorded = ledger.message.unrecorded_uncounted = 1;
	batch.ledger = &ledger.message;
	send_message(fd, b, &batch.base);
	names_encoder_done(&places);
}

static void reply(int fd, struct builder *b, uint64_t id)
{
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Reply message = HEAPCAST__REPLY__INIT, *replies[] = {&message};

	message.id = id;
	message.status = HEAPCAST__REPLY_STATUS__REPLY_MALFORMED;
	link.reply = replies;
	link.n_reply = 1;
	send_link(fd, b, &link);
}

static struct sockaddr_in place(const char *port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int accept_one(const char *port)
{
	struct sockaddr_in at = place(port);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1, fd;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	must(bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener, 1) == 0,
	     "listen");
	fd = accept(listener, NULL, NULL);
	must(fd >= 0, "accept");
	return fd;
}

/* As a collector. */
static void order(const char *port)
{
	struct sockaddr_in at = place(port);
	Heapcast__Order greeting = HEAPCAST__ORDER__INIT, wish = HEAPCAST__ORDER__INIT;
	Heapcast__Hello hello = HEAPCAST__HELLO__INIT;
	Heapcast__Control control = HEAPCAST__CONTROL__INIT;
	struct builder b;
	struct buf in = {0};
	size_t length;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	builder_init(&b, 0x52);
	must(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "connect");
	hello.protocol = PROTOCOL_VERSION;
	hello.id = builder_bytes(b.id, sizeof(b.id));
	greeting.hello = &hello;
	send_message(fd, &b, &greeting.base);
	control.action = HEAPCAST__ACTION__ACTION_MARK;
	control.id = 1;
	wish.control = &control;
	send_message(fd, &b, &wish.base);
	/* Its greeting, and the reply. */
	for (unsigned frames = 0; frames < 2; frames++) {
		while (frame_length(in.data, in.length, &length, NULL) != 1) {
			ssize_t n = recv(fd, buf_reserve(&in, 4096), 4096, 0);

			must(n > 0, "answer");
			in.length += (size_t)n;
		}
		buf_consume(&in, length);
	}
	buf_done(&in);
	close(fd);
	builder_done(&b);
	printf("%u texts\n", shouted);
}

int main(int argc, char **argv)
{
	struct message_reader *messages = message_reader_new();
	struct buf in = {0};
	struct builder b;
	size_t length;
	int fd;

	if (argc == 3 && !strcmp(argv[1], "--to")) {
		order(argv[2]);
		return 0;
	}
	must(argc == 2, "shouting PORT");
	builder_init(&b, 0x51);
	fd = accept_one(argv[1]);
	greet(fd, &b);
	for (;;) {
		ssize_t n = recv(fd, buf_reserve(&in, 4096), 4096, 0);

		if (n <= 0)
			break;
		in.length += (size_t)n;
		while (frame_length(in.data, in.length, &length, NULL) == 1) {
			ProtobufCMessage *message;
			const Heapcast__Order *order;

			must(message_reader_open(messages, &heapcast__order__descriptor, in.data,
						 length, &message, NULL) == 0,
			     "order");
			order = (const Heapcast__Order *)message;
			if (order->subscribe)
				bring(fd, &b);
			if (order->control)
				reply(fd, &b, order->control->id);
			buf_consume(&in, length);
		}
	}
	printf("%u texts\n", shouted);
	return 0;
}
