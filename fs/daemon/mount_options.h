/* The configuration file and the command line: atlockfs [-f] [-d] [--config FILE] [-o OPT,...] [--store DIR|URI] MOUNTPOINT */
#ifndef MOUNT_OPTIONS_H
#define MOUNT_OPTIONS_H

#include "fs.h"

struct options {
	bool foreground;
	bool debug;
	bool allow_other;
	unsigned int max_threads;
	bool store_given;            /* by --store or -o store= */
	char store[ATLOCK_PATH_MAX]; /* absolute, or a URI */
	char run_as[64];             /* "": the user who starts it */
	uid_t run_uid;
	gid_t run_gid;
	const char *mountpoint;
	struct atlock_options core;
	struct fuse_args fuse; /* arguments passed on to libfuse */
};

/* 0: go on; 1: answered (--help, --version); -1: a complaint was printed. Free with options_clear(). */
int options_parse(struct options *options, int argc, char **argv);
void options_clear(struct options *options);

#endif
