/*
 * Places in listings: a byte for the part of the listing that an item is in, then text that finds the item there. A
 * listing reads its starting place once, before it shows anything, and then sets the place of each item that it shows.
 * NULL: the listing starts at the beginning and is not continued. Private to core/.
 */
#ifndef CORE_PLACE_H
#define CORE_PLACE_H

#include <string.h>

#include "atlock.h"
#include "store.h"

/* 0: at the start. */
static inline unsigned char place_part(const struct atlock_place *place)
{
	return place == NULL || place->len == 0 ? 0 : place->data[0];
}

/* Empty unless the place is in this part. */
static inline struct slice place_text(const struct atlock_place *place, unsigned char part)
{
	return place_part(place) == part ? (struct slice){ place->data + 1, place->len - 1U }
					 : (struct slice){ NULL, 0 };
}

/* Appends to the text. */
static inline void place_add(struct atlock_place *place, struct slice text)
{
	if (place == NULL || text.len == 0 || text.len > sizeof(place->data) - place->len)
		return;
	memcpy(place->data + place->len, text.data, text.len);
	place->len = (uint16_t)(place->len + text.len);
}

static inline void place_set(struct atlock_place *place, unsigned char part, struct slice text)
{
	if (place == NULL)
		return;
	place->data[0] = part;
	place->len = 1;
	place_add(place, text);
}

#endif
