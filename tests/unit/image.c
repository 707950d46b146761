#include "image.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct image image_read(const char *path)
{
	struct image image = { .bytes = NULL };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	image.len = (size_t)st.st_size;
	image.bytes = malloc(image.len);
	assert_non_null(image.bytes);
	assert_int_equal(read(fd, image.bytes, image.len), image.len);
	close(fd);
	return image;
}

void image_write(const char *path, const struct image *image)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image->bytes, image->len), image->len);
	close(fd);
}
