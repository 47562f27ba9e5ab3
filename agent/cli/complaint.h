#pragma once
/*
 * An agent that libheapcast.so has started and that can't do what the user's settings say: it has
 * no standard error, and the program that has started it waits. So it listens all the same, has
 * each program that asks say why it is not recorded (RING_SAY), and ends when nobody has asked for
 * a while; other programs with the same settings come to it, and need not start one.
 */
struct err_text;

/* Was this the way that the library starts an agent? The name of its socket; NULL: no. */
const char *complaint_socket(int argc, char **argv);
/* Serves there until nobody asks any more. `fd` listens there already, or is -1. */
void complaint_serve(const char *socket, int fd, const struct err_text *why);
