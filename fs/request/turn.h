/* Requests that are answered later than the thread that read them returns; the threads' loop has the functions. */
#ifndef TURN_H
#define TURN_H

#include <sys/queue.h>

#include "fs.h"

struct loop;
struct share;

/* A request under way that is not answered by the thread that has read it. */
struct turn {
	struct loop *loop;
	struct share *share;
};

/* Something to be done by another thread than the calling one, which may not wait. It stays where it is until it is done. */
struct errand {
	void (*run)(struct errand *errand);
	STAILQ_ENTRY(errand) link;
};

struct turns {
	/*
	 * The request that the calling thread processes will be answered later, by a thread that then calls answered(). False if
	 * too many are like that: then it must be answered before its thread returns.
	 */
	bool (*keep)(struct turn *out);
	void (*answered)(const struct turn *turn);

	/* For a request that is kept. Once the loop is over, or without a thread to be had, the calling one does it. */
	void (*send)(const struct turn *turn, struct errand *errand);
};

#endif
