#include "remote_asked.h"

#include "store_types.h"

#include <string.h>

void asked_init(struct asked *asked)
{
	memset(asked, 0, sizeof(*asked));
	pthread_mutex_init(&asked->lock, NULL);
}

void asked_destroy(struct asked *asked)
{
	pthread_mutex_destroy(&asked->lock);
}

void asked_note(struct asked *asked, uint64_t epoch, uint64_t revision, int64_t sent)
{
	pthread_mutex_lock(&asked->lock);
	asked->list[asked->next++ % ASKED] = (struct asked_one){ .epoch = epoch, .revision = revision, .sent = sent };
	pthread_mutex_unlock(&asked->lock);
}

int64_t asked_before(struct asked *asked, uint64_t epoch, uint64_t revision)
{
	int64_t before = STORE_UNKNOWN;

	pthread_mutex_lock(&asked->lock);
	for (size_t i = 0; i < ASKED; i++) {
		const struct asked_one *one = &asked->list[i];

		if (one->epoch == epoch && epoch != 0 && one->revision < revision && one->sent > before)
			before = one->sent;
	}
	pthread_mutex_unlock(&asked->lock);
	return before;
}
