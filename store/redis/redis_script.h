/*
 * The scripts that a realm is kept by. Its hash has, beside the fields "k<key>" with the version (8) and the value,
 *
 *	mid       the realm's id
 *	mepoch    the epoch, in decimal
 *	mrev      the revision (8), as all numbers below little-endian
 *	mtag      the tag (8)
 *	mprocess  run_id of the server process that the epoch is open in
 *	mreports  run_id, then chain (2), epoch (8), revision (8) and tag (8) of each report
 *	mrestore  which dump it is restored from, until that is done; there is no id as long
 *	t<key>    when the server wrote the box with this key last, in seconds since 1970 in decimal: for people
 *
 * and its stream an entry with the id <revision>-0 for each entry of the history, in the field "e".
 *
 * The epoch stands in the text of the two that are loaded, so a server process that the epoch was not opened in does not have them. They
 * begin with a line that makes Redis refuse them where writing is refused, also the one that only looks: a master that has lost its place
 * must not be believed. A server that is out of memory may be: the flag "allow-oom" lets through what takes no more of it (REDIS_FULL).
 */
#ifndef STORE_REDIS_SCRIPT_H
#define STORE_REDIS_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

/* With "%s" where the flags and where the epoch goes. KEYS: hash, stream. See redis_realm.c for the arguments. */
#define REDIS_USUAL ""
#define REDIS_FULL " flags=allow-oom"
extern const char redis_commit_script[];
extern const char redis_barrier_script[];

/* Sent whole each time. */
extern const char redis_hello_script[];
extern const char redis_append_script[];
extern const char redis_create_script[];
extern const char redis_restore_script[];
extern const char redis_restored_script[];

#endif
