/* Parses addresses in options. See endpoint.h. */
#include "agent/net/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "agent/net/dialer.h"
#include "base/error.h"
#include "base/parse.h"
#include "proto/discovery.h"
#include "proto/discovery_net.h"
#include "base/ban.h"

static bool numeric_address(const char *host, struct sockaddr_storage *ret)
{
	const struct addrinfo hints = {
		.ai_family = AF_INET6, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
	struct sockaddr_in four = {.sin_family = AF_INET};
	struct addrinfo *six = NULL;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, host, &four.sin_addr) == 1) {
		memcpy(ret, &four, sizeof(four));
		return true;
	}
	if (!strchr(host, ':') || getaddrinfo(host, NULL, &hints, &six))
		return false;
	memcpy(ret, six->ai_addr, six->ai_addrlen);
	freeaddrinfo(six);
	return true;
}

int endpoint_listen(const char *text, struct sockaddr_storage *ret_address, uint16_t *ret_port,
		    struct err_text *err)
{
	char host[256], full[300];

	snprintf(full, sizeof(full), "%s%s", *text == ':' ? "0.0.0.0" : "", text);
	if (parse_endpoint(full, host, sizeof(host), ret_port) < 0 ||
	    !numeric_address(host, ret_address))
		return err_set(err, -EINVAL,
			       "--listen takes ADDR:PORT with a numeric address, not '%s'", text);
	if (*text == ':')
		*ret_address = (struct sockaddr_storage){0};
	return 0;
}

int endpoint_collector(const char *text, char *host, size_t size, uint16_t *ret_port,
		       struct err_text *err)
{
	*host = '\0';
	if (text && parse_endpoint(text, host, (unsigned)size, ret_port) < 0)
		return err_set(err, -EINVAL, "--collector takes HOST[:PORT], not '%s'", text);
	/* Collectors accept agents on TCP at the same number. */
	if (!*ret_port)
		*ret_port = DISCOVERY_UDP_PORT;
	return 0;
}

int endpoint_collectors(const char *list, struct err_text *err)
{
	char text[300], host[256];
	unsigned items = 0;

	if (!list)
		return 0;
	if (strlen(list) >= DIAL_LIST)
		return err_set(err, -EINVAL, "--collector takes %d bytes at most, not %zu",
			       DIAL_LIST - 1, strlen(list));
	for (const char *at = list; *at; at += strcspn(at, ",")) {
		uint16_t port = 0;
		size_t length;
		int r;

		at += strspn(at, ", \t");
		length = strcspn(at, ",");
		while (length && strchr(" \t", at[length - 1]))
			length--;
		if (!length)
			break;
		snprintf(text, sizeof(text), "%.*s", (int)length, at);
		r = endpoint_collector(text, host, sizeof(host), &port, err);
		if (r < 0)
			return r;
		items++;
	}
	return items ? 0 : err_set(err, -EINVAL, "--collector takes HOST[:PORT], not '%s'", list);
}

int endpoint_interface(const char *interface, struct sockaddr_storage *ret_address,
		       bool *ret_narrow, struct err_text *err)
{
	if (!discovery_interface_address(interface, ret_address))
		return err_set(err, -EINVAL,
			       "there is no interface '%s' with an address that is up (ip address "
			       "shows all)",
			       interface);
	*ret_narrow = !discovery_is_loopback(ret_address);
	if (*ret_narrow)
		*ret_address = (struct sockaddr_storage){0};
	return 0;
}
