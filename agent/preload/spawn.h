#pragma once
/*
 * Starting an agent that is nobody's child: started by clone with exit signal 0 and reaped with
 * __WALL, so that no wait() of the program ever sees it; forked once more, so that it belongs to
 * init; in a session of its own; with every descriptor replaced, so that it holds no pipe of the
 * program open.
 */

/* Starts `agent serve --for-pid PID --socket NAME --linger-idle 10s`. 0; -ENOENT: no agent's
 * program was found; -EPERM: this process would be its parent (pid 1, a subreaper). That it runs is
 * seen when it answers. */
int spawn_agent(const char *socket_name);
