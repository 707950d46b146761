/* A new file of a store. */
#ifndef STORE_FILE_NEW_H
#define STORE_FILE_NEW_H

/* Makes an empty file, in place of one of that name, that is written in place where the file system offers the choice. Descriptor or -errno. */
int file_new(int dir, const char *name);

#endif
