/* Pull requests inside core/: their records, and the parser of what is written into their files. Private to core/. */
#ifndef CORE_PULL_STORE_H
#define CORE_PULL_STORE_H

#include "meta.h"
#include "op.h"
#include "pull_name.h"

#define PULL_HEAD_MAX 128      /* bytes of a head commit */
#define PULL_POLICY_MAX 4096   /* bytes of a project's policy status */
#define PULL_PROJECTS_MAX 4096 /* projects of a pull request */

/* Loads its record: 0, or 1 and an empty record to fill in. */
int pull_load(struct op *op, const struct atlock_pull_name *pull, struct record_pull *out);

/* The next project after `from`; moves `from` on: 0 or 1. Start with record_key_project() of an empty project. */
int pull_project_next(struct op *op, const struct atlock_pull_name *pull, struct record_key *from,
		      struct slice *project, struct record_project *out);

/* One line of projects.tsv. */
struct pull_result {
	struct atlock_name lock;
	size_t line; /* its line number */
	enum atlock_project_status status;
	bool has_policy;
	struct slice policy; /* points into `text` */
};

/* A parsed write. */
struct pull_change {
	enum atlock_pull_text what;
	char head[PULL_HEAD_MAX + 1]; /* "": the write does not name it */
	struct pull_result *results;
	size_t count;
	bool replace;
	char *text; /* copy of what was written, without secrets */
	char *meta; /* key=value lines */
	size_t meta_len;
};

/* Parses what is written into a file; free it in any case. -EINVAL with the line's number, -EDQUOT, -ENOMEM. */
int pull_change_parse(const struct atlock_pull_name *pull, enum atlock_pull_text what, const char *text, size_t len,
		      struct pull_change *out, struct atlock_why *why);
void pull_change_free(struct pull_change *change);

/* Parses a status word, with white space around it. -EINVAL; `place` begins the refusal. */
int pull_status_parse(const char *word, size_t len, const char *place, enum atlock_project_status *out,
		      struct atlock_why *why);

#endif
