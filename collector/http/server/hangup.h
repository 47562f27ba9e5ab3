#pragma once
/* Detects clients that disconnect while the server computes their answer. libwebsockets does not
 * notice that, because it checks a connection only when it reads or sends. */
struct exchange;

/* Schedules the close of the connection if the client has closed it. The loop calls this while no
 * answer is being sent. */
void hangup_look(struct exchange *x);
