/*
 * Joining the realm: at the start, and whenever the engine answers that it does not know our history. By the leader.
 *
 * In a server process that the realm is open in, the mirror is continued from the history, or filled anew, and the box registered.
 *
 * A server process that the realm is not open in may lack what the one before it had answered: it commits nothing. Each host reports how
 * far its mirror is. When every live host has, or after host_timeout (by then the others have stopped to believe in what they hold), the
 * host that is farthest gives back the entries that the engine lost, and opens the next epoch: revisions and the floor of the numbers leap
 * ahead, so that none of those which are lost all the same is given out again.
 */
#ifndef STORE_REMOTE_HELLO_H
#define STORE_REMOTE_HELLO_H

struct engine;

/* 0, or a negative errno: -EHOSTDOWN if others must report first or the realm is another, -ENOENT if there is none. */
int hello_join(struct engine *engine);

#endif
