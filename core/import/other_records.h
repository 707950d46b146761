/*
 * Records of other systems than Atlantis itself, and what they are in the tree: the enhanced lock manager's, which are JSON in a Redis,
 * and items of DynamoDB tables, those of a lease service and of the guard of shared databases. Private to core/.
 */
#ifndef CORE_OTHER_RECORDS_H
#define CORE_OTHER_RECORDS_H

#include <stdint.h>

#include "atlock/import.h"

struct json_t;

/*
 * Fills in a record of the enhanced manager. `key` is "namespace:path:workspace"; `ttl` is what is left of the key, in milliseconds, or
 * -1; `waits`: it is in the queue. -EINVAL with `why` if it cannot be in the tree.
 */
int enhanced_record(const struct json_t *value, const char *key, int64_t ttl, bool waits,
		    struct atlock_foreign_record *record, struct atlock_why *why);

/* Fills in a record from an item of a scan: {"lockName":{"S":"..."},...}. */
int dynamo_record(const struct json_t *item, struct atlock_foreign_record *record, struct atlock_why *why);

#endif
