/*
 * Numbers by which the kernel names nodes and open files. A number is never given twice, so one that is stale or made
 * up finds nothing.
 *
 *	err = numbers_add(numbers, node, &node->slot)
 *	id = numbers_id(numbers, node->slot)		what the kernel is told
 *	node = numbers_get(numbers, id)			NULL: no longer, or never, in the table
 *	numbers_remove(numbers, node->slot)
 *
 * numbers_get() and numbers_id() take no lock and may be called by any thread; numbers_id() only for a slot in use. The
 * caller serialises the other two. An item must not be freed while another thread may still look up its number; the
 * kernel never sends a number that it has forgotten or released.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdint.h>

struct numbers;

struct numbers *numbers_new(void);
void numbers_free(struct numbers *numbers);

/* 0 or -ENOMEM. */
int numbers_add(struct numbers *numbers, void *item, uint32_t *out);
void numbers_remove(struct numbers *numbers, uint32_t at);

uint64_t numbers_id(const struct numbers *numbers, uint32_t at);
void *numbers_get(const struct numbers *numbers, uint64_t id);

#endif
