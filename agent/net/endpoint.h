#pragma once
/* Parses the options for the addresses where the agent listens and dials. All functions return 0,
 * or -EINVAL with the reason. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct err_text;

/* Parses --listen ADDR:PORT. Without an address the family is 0, without a port the port is 0. */
int endpoint_listen(const char *text, struct sockaddr_storage *ret_address, uint16_t *ret_port,
		    struct err_text *err);
/* Parses --collector HOST:PORT. If `text` is NULL, the host is empty. */
int endpoint_collector(const char *text, char *host, size_t size, uint16_t *ret_port,
		       struct err_text *err);
/* Checks --collector HOST:PORT,...: every item of the list. NULL is valid. */
int endpoint_collectors(const char *list, struct err_text *err);
/* Gets the listening address for --interface. For lo that is an address of this machine only. For
 * other interfaces the family is 0 (all addresses) and *ret_narrow is set: the listener then must
 * refuse connections to addresses of other interfaces. */
int endpoint_interface(const char *interface, struct sockaddr_storage *ret_address,
		       bool *ret_narrow, struct err_text *err);
