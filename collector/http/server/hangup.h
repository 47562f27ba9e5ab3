#pragma once
/* Clients that hang up while their answer is being made: libwebsockets looks at a connection only
 * when it reads or sends. */
struct exchange;

/* Has its connection closed, soon, if the other side has closed it. On the loop, while no answer is
 * being sent. */
void hangup_look(struct exchange *x);
