/* Messages to agents: frames of the message Orders. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/ingest/state.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "base/ban.h"

struct sending {
	uv_write_t request;
	struct link *link;
	uint8_t data[];
};

static void on_written(uv_write_t *request, int status)
{
	struct sending *s = (struct sending *)request;

	if (status < 0 && status != UV_ECANCELED)
		link_close(s->link, "%s", uv_strerror(status));
	free(s);
}

int link_write_raw(struct link *link, const void *data, size_t length)
{
	struct sending *s = malloc(sizeof(*s) + length);
	uv_buf_t buf;
	int r;

	if (!s)
		return -ENOMEM;
	s->link = link;
	memcpy(s->data, data, length);
	buf = uv_buf_init((char *)s->data, (unsigned)length);
	r = uv_write(&s->request, (uv_stream_t *)&link->tcp, &buf, 1, on_written);
	if (r < 0)
		free(s);
	return r;
}

/* Encodes an order as a frame. The caller frees it. */
static int orders_encode(struct link *link, const Heapcast__Order *order, uint8_t **ret_frame,
			 size_t *ret_length)
{
	size_t length = heapcast__order__get_packed_size(order), bound = frame_bound(length);
	uint8_t *frame = malloc(bound), *message = malloc(FRAME_HEADROOM + length);
	long n = -ENOMEM;

	if (frame && message) {
		heapcast__order__pack(order, message + FRAME_HEADROOM);
		n = frame_encode(link->ingest->encoder, message + FRAME_HEADROOM, length, frame,
				 bound);
	}
	free(message);
	if (n <= 0) {
		free(frame);
		return (int)n;
	}
	*ret_frame = frame;
	*ret_length = (size_t)n;
	return 0;
}

static void send_order(struct link *link, const Heapcast__Order *order)
{
	uv_stream_t *stream = (uv_stream_t *)&link->tcp;
	uint8_t *frame = NULL;
	size_t length = 0;
	int r;

	if (link->state == LINK_CLOSING || link->state == LINK_GOODBYE)
		return;
	if (uv_stream_get_write_queue_size(stream) > WRITE_QUEUE_MAX) {
		link_close(link, "it does not read what we send");
		return;
	}
	r = orders_encode(link, order, &frame, &length);
	if (!r)
		r = link_write(link, frame, length);
	free(frame);
	if (r < 0)
		link_close(link, "%s", uv_strerror(r));
}

static ProtobufCBinaryData orders_bytes_of(const uint8_t *id)
{
	return (ProtobufCBinaryData){.len = STREAM_ID_SIZE, .data = (uint8_t *)(uintptr_t)id};
}

void order_hello(struct link *link)
{
	Heapcast__Order order;
	Heapcast__Hello hello;
	char host[256] = "", version[] = HEAPCAST_VERSION;

	heapcast__order__init(&order);
	heapcast__hello__init(&hello);
	gethostname(host, sizeof(host) - 1);
	hello.protocol = PROTOCOL_VERSION;
	hello.id = orders_bytes_of(link->ingest->id);
	hello.host = host;
	hello.version = version;
	order.hello = &hello;
	send_order(link, &order);
}

void order_subscribe(struct link *link, const struct stream_id *id, struct stream_position position)
{
	Heapcast__Order order;
	Heapcast__Subscribe subscribe;

	heapcast__order__init(&order);
	heapcast__subscribe__init(&subscribe);
	subscribe.stream = orders_bytes_of(id->bytes);
	subscribe.incarnation = position.incarnation;
	subscribe.next = position.next;
	order.subscribe = &subscribe;
	send_order(link, &order);
}

void order_file(struct link *link, const struct transfer *t)
{
	Heapcast__Order order;
	Heapcast__FileRequest request;

	heapcast__order__init(&order);
	heapcast__file_request__init(&request);
	if (t) {
		request.build_id.len = t->file.build_id_length;
		request.build_id.data = (uint8_t *)(uintptr_t)t->file.build_id;
		request.offset = t->received;
		request.identity = t->identity;
		request.crc = t->crc;
	}
	order.file = &request;
	send_order(link, &order);
}

void order_control(struct link *link, const struct given *given, const struct ingest_order *o)
{
	Heapcast__Order order;
	Heapcast__Control control;

	heapcast__order__init(&order);
	heapcast__control__init(&control);
	control.id = given->id;
	control.stream = orders_bytes_of(given->stream.bytes);
	control.action = (Heapcast__Action)o->action;
	control.mode = (Heapcast__Mode)o->mode;
	control.value = o->value;
	if (o->text) {
		control.text.len = strlen(o->text);
		control.text.data = (uint8_t *)(uintptr_t)o->text;
	}
	order.control = &control;
	send_order(link, &order);
}

void order_ack(struct link *link, const struct stream_id *id, struct stream_position durable)
{
	Heapcast__Order order;
	Heapcast__Ack ack;

	heapcast__order__init(&order);
	heapcast__ack__init(&ack);
	ack.stream = orders_bytes_of(id->bytes);
	ack.incarnation = durable.incarnation;
	ack.number = durable.next - 1;
	order.ack = &ack;
	send_order(link, &order);
}

void order_refusal(struct link *link, int error)
{
	Heapcast__Order order;

	if (link->told_refusal)
		return;
	link->told_refusal = true;
	heapcast__order__init(&order);
	order.refusal = disk_has_no_room(error) ? HEAPCAST__DISK_REFUSAL__DISK_REFUSAL_NO_ROOM
						: HEAPCAST__DISK_REFUSAL__DISK_REFUSAL_FAILED;
	send_order(link, &order);
}
