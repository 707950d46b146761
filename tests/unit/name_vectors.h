/* Names and what they mean: data for the tests of anything that reads, writes or migrates names. */
#ifndef TESTS_NAME_VECTORS_H
#define TESTS_NAME_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "atlock.h"

/* A path, and either its one spelling, parts and who, or the error it gives and a word that `why` must contain. */
struct name_vector {
	const char *path;
	const char *says;
	const char *spelling; /* NULL: as `path` */
	const char *repo;     /* NULL: below global/ */
	const char *dir;
	const char *workspace;
	const char *project; /* NULL: unnamed */
	const char *who;     /* NULL: nobody */
	int err;
	bool wanders; /* has "." or ".." components: named only by its path, not from parts */
};

extern const struct name_vector name_vectors[];
extern const size_t name_vectors_count;

/* Atlantis' four-part key of a lock, and the three-part one if it has one. */
struct legacy_vector {
	const char *repo;
	const char *dir;
	const char *workspace;
	const char *project;
	const char *four;
	const char *three; /* NULL: it cannot say a project */
	const char *path;
};

extern const struct legacy_vector legacy_vectors[];
extern const size_t legacy_vectors_count;

#endif
