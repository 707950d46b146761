#include "disk.h"

#include <bsd/stdlib.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512
#define BLOCK 4096

struct file {
	unsigned char *bytes; /* what is on disk for sure */
	size_t len;
	const struct tape_op **pending; /* written since the last sync */
	size_t count;
	size_t room;
};

struct disk {
	struct file files[TAPE_FILES];
};

static void file_grow(struct file *file, size_t len)
{
	if (len <= file->len)
		return;
	file->bytes = realloc(file->bytes, len);
	if (file->bytes == NULL)
		err(1, "disk");
	memset(file->bytes + file->len, 0, len - file->len);
	file->len = len;
}

static void file_put(struct file *file, uint64_t at, const void *data, size_t len)
{
	file_grow(file, (size_t)at + len);
	if (len != 0 && file->bytes != NULL)
		memcpy(file->bytes + at, data, len);
}

static void file_path(char *path, size_t len, const char *directory, enum tape_file file)
{
	(void)snprintf(path, len, "%s/%s", directory, tape_names[file]);
}

static void file_read(struct file *file, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", path);
	file_grow(file, (size_t)st.st_size);
	if (read(fd, file->bytes, file->len) != (ssize_t)file->len)
		err(1, "%s", path);
	close(fd);
}

struct disk *disk_new(const char *directory)
{
	struct disk *disk = calloc(1, sizeof(*disk));
	char path[256];

	if (disk == NULL)
		err(1, "disk");
	for (enum tape_file i = TAPE_DATA; i < TAPE_FILES; i++) {
		file_path(path, sizeof(path), directory, i);
		file_read(&disk->files[i], path);
	}
	return disk;
}

void disk_free(struct disk *disk)
{
	for (size_t i = 0; i < TAPE_FILES; i++) {
		free(disk->files[i].bytes);
		free(disk->files[i].pending);
	}
	free(disk);
}

static void file_pend(struct file *file, const struct tape_op *op)
{
	if (file->count == file->room) {
		file->room = file->room == 0 ? 64 : file->room * 2;
		file->pending = reallocarray(file->pending, file->room, sizeof(file->pending[0]));
		if (file->pending == NULL)
			err(1, "disk");
	}
	file->pending[file->count++] = op;
}

void disk_apply(struct disk *disk, const struct tape_op *op)
{
	struct file *file = &disk->files[op->file];

	if (op->kind == TAPE_WRITE)
		file_pend(file, op);
	if (op->kind != TAPE_SYNC)
		return;
	for (size_t i = 0; i < file->count; i++)
		file_put(file, file->pending[i]->at, file->pending[i]->bytes, file->pending[i]->len);
	file->count = 0;
}

/* Puts the sectors of a write that chance keeps, `percent` of them. */
static void op_put(struct file *image, const struct tape_op *op, int percent, unsigned int *seed)
{
	uint64_t end = op->at + op->len;
	uint64_t next;

	if (op->len == 0 && rand_r(seed) % 100 < percent)
		file_grow(image, (size_t)op->at);
	for (uint64_t at = op->at; at < end; at = next) {
		next = (at / SECTOR + 1) * SECTOR;
		next = next < end ? next : end;
		if (rand_r(seed) % 100 < percent)
			file_put(image, at, op->bytes + (at - op->at), (size_t)(next - at));
	}
}

/* Blocks of zeros are left out, so that a file of many takes no time. */
static void image_write(const struct file *image, const char *path)
{
	static const unsigned char zeros[BLOCK];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)image->len) < 0)
		err(1, "%s", path);
	for (size_t at = 0; at < image->len; at += BLOCK) {
		size_t len = image->len - at < BLOCK ? image->len - at : BLOCK;

		if (memcmp(image->bytes + at, zeros, len) != 0 &&
		    pwrite(fd, image->bytes + at, len, (off_t)at) != (ssize_t)len)
			err(1, "%s", path);
	}
	close(fd);
}

void disk_write(const struct disk *disk, enum disk_loss loss, unsigned int *seed, const char *directory)
{
	static const int percents[] = { 10, 50, 90 };
	char path[256];

	for (enum tape_file i = TAPE_DATA; i < TAPE_FILES; i++) {
		const struct file *file = &disk->files[i];
		struct file image = { .bytes = NULL };
		int percent = loss == DISK_LOSES_SOME ? percents[rand_r(seed) % 3] : loss == DISK_LOSES_ALL ? 0 : 100;

		file_put(&image, 0, file->bytes, file->len);
		for (size_t k = 0; k < file->count; k++)
			op_put(&image, file->pending[k], file->pending[k]->through ? 100 : percent, seed);
		file_path(path, sizeof(path), directory, i);
		image_write(&image, path);
		free(image.bytes);
	}
}
