/*
 * Tells a service manager how we are, by the protocol of sd_notify(3): one datagram a message to the socket that $NOTIFY_SOCKET
 * names. Without that variable nothing is sent. $WATCHDOG_USEC asks for a sign of life that often: it is sent unless
 * `health` is failing, so that a daemon that hangs or lost its store is started anew.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include "fs.h"

struct notify_watchdog;

/* "READY=1", "STOPPING=1", .... */
void notify_send(const char *text);

/* Starts the signs of life; NULL if nobody wants any. */
struct notify_watchdog *notify_watchdog_start(struct fs *fs);
void notify_watchdog_stop(struct notify_watchdog *watchdog);

#endif
