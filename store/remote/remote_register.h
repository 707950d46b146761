/* The host's chain and incarnation. By the leader, with a mirror that continues the realm's history. */
#ifndef STORE_REMOTE_REGISTER_H
#define STORE_REMOTE_REGISTER_H

struct engine;

/*
 * Makes the box this process's: goes on with it if it still is, else begins an incarnation, in the host's chain or, if the host has none or
 * another process has taken that (a copy of the host), in a new one. 0, REMOTE_HELLO or a negative errno.
 */
int register_host(struct engine *engine);

#endif
