#pragma once
/*
 * Serves programs when an agent that libheapcast.so started can't do what the user's settings
 * demand. Nobody reads the agent's standard error, and the program that started it waits. So the
 * agent listens all the same and makes each program that asks print why it is not recorded
 * (RING_SAY). It exits when no program has asked for a while. Other programs with the same settings
 * use this agent, and need not start one.
 */
struct err_text;

/* Returns the name of the socket if libheapcast.so started the agent; otherwise NULL. */
const char *complaint_socket(int argc, char **argv);
/* Serves at `socket` until no program asks any more. `fd` is a socket that listens there already,
 * or -1. */
void complaint_serve(const char *socket, int fd, const struct err_text *why);
