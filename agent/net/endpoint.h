#pragma once
/* Where the agent listens and dials, as options say it. All return 0, or -EINVAL with the
 * reason. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct err_text;

/* --listen ADDR:PORT; no family and 0 where they are not given. */
int endpoint_listen(const char *text, struct sockaddr_storage *ret_address, uint16_t *ret_port,
		    struct err_text *err);
/* --collector HOST:PORT (text NULL: none, an empty host). */
int endpoint_collector(const char *text, char *host, size_t size, uint16_t *ret_port,
		       struct err_text *err);
/* Where --interface has it listen: anywhere (no family), if it turns away who comes to another
 * one's address; on this machine only, if it is lo. */
int endpoint_interface(const char *interface, struct sockaddr_storage *ret_address,
		       bool *ret_narrow, struct err_text *err);
