/* A file as it is at one moment, to be put back later, whole or damaged. */
#ifndef TESTS_UNIT_IMAGE_H
#define TESTS_UNIT_IMAGE_H

#include <stddef.h>

struct image {
	unsigned char *bytes; /* freed by whoever has it */
	size_t len;
};

struct image image_read(const char *path);
void image_write(const char *path, const struct image *image);

#endif
