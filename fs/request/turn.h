/* Requests that are answered after the thread that read them has returned. loop.c implements the functions. */
#ifndef TURN_H
#define TURN_H

#include <sys/queue.h>

#include "fs.h"

struct loop;
struct share;

/* A request in progress that another thread than its reader answers. */
struct turn {
	struct loop *loop;
	struct share *share;
};

/* Work for another thread, because the calling one may not wait. It must stay in place until it is done. */
struct errand {
	void (*run)(struct errand *errand);
	STAILQ_ENTRY(errand) link;
};

struct turns {
	/*
	 * The request that the calling thread processes will be answered later, by a thread that then calls answered().
	 * False if too many such requests exist: then it must be answered before its thread returns.
	 */
	bool (*keep)(struct turn *out);
	void (*answered)(const struct turn *turn);

	/*
	 * For a kept request. Once the loop is over, or if no thread is available, the calling thread does the work
	 * itself.
	 */
	void (*send)(const struct turn *turn, struct errand *errand);
};

#endif
