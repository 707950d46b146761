/*
 * Reports the daemon's state to a service manager, by the protocol of sd_notify(3): one datagram per message to the
 * socket that $NOTIFY_SOCKET names. Without that variable nothing is sent. $WATCHDOG_USEC asks for a keep-alive message
 * that often: it is sent unless `health` is failing, so that a daemon that hangs or lost its store is restarted.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include "fs.h"

struct notify_watchdog;

/* "READY=1", "STOPPING=1", .... */
void notify_send(const char *text);

/* Starts the keep-alive messages; NULL if none are asked for. */
struct notify_watchdog *notify_watchdog_start(struct fs *fs);
void notify_watchdog_stop(struct notify_watchdog *watchdog);

#endif
