/* The engine whose stores are realms in a Redis, shared by several hosts. `where` is the whole address (redis_address.h). */
#ifndef STORE_REDIS_STORE_H
#define STORE_REDIS_STORE_H

#include "engine.h"

extern const struct store_engine store_redis;

#endif
