/* The engine that keeps a store in one LMDB environment on a local disk. */
#ifndef STORE_LMDB_STORE_H
#define STORE_LMDB_STORE_H

#include "engine.h"

extern const struct store_engine store_lmdb;

#endif
