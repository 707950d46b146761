#include "mirror_back.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "take_over.h"

#define READS_MAX 100 /* of a file that changes while it is read */
#define SUM_FIRST UINT64_C(1469598103934665603)

static uint64_t sum_add(uint64_t sum, const char *text)
{
	for (; *text != '\0'; text++)
		sum = (sum ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return sum;
}

/* Reads all records once. 1, or a negative errno. */
static int read_once(struct mirror_back *back, struct atlock_foreign *from, struct atlock_why *why)
{
	struct atlock_foreign_record record = { .key = NULL };
	int rc = atlock_foreign_again(from, why);

	snapshot_free(&back->theirs);
	back->sum = SUM_FIRST;
	while (rc >= 0 && (rc = atlock_foreign_next(from, &record, why)) != 1 && rc >= 0) {
		if (rc != 0 || record.kind >= ATLOCK_FOREIGN_KINDS || record.kind == ATLOCK_FOREIGN_PULL)
			continue;
		back->sum = sum_add(sum_add(back->sum, record.path), record.value);
		/* The record's strings move into the snapshot. */
		if (snapshot_take(&back->theirs, &record) < 0)
			return -ENOMEM;
	}
	atlock_foreign_clear(&record);
	return rc;
}

int mirror_back_read(struct mirror_back *back, struct atlock_foreign *from)
{
	struct atlock_why why = { .text = "" };
	int64_t flushes;
	int64_t before;
	int rc = -EAGAIN;

	for (int i = 0; i < READS_MAX && rc == -EAGAIN; i++)
		rc = read_once(back, from, &why);
	if (rc == -ENOMEM)
		return tool_no_memory(back->tool);
	snapshot_sort(&back->theirs);
	flushes = atlock_foreign_flushes(from, &before);
	back->flushed = back->flushed || (back->flushes >= 0 && flushes > back->flushes);
	back->flushes = before;
	return rc < 0 ? tool_fail_why(back->tool, rc, &why) : EXIT_DONE;
}

static size_t take_one(struct mirror_back *back, const struct atlock_foreign_record *record)
{
	int err = take_over(back->mount, record, back->self);

	if (err == -EPERM && !back->refused) {
		back->refused = true;
		(void)tool_fail(
			back->tool, 0,
			"%s: only administrators take locks for other users: run the mirror as one, or --one-way",
			record->path);
	}
	back->taken += err == 0;
	return err == 0;
}

/* The name has the holder, so a lock that passed on meanwhile stays. */
static size_t release_one(struct mirror_back *back, const struct atlock_foreign_record *record)
{
	char path[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 2];
	bool done;

	snprintf(path, sizeof(path), "%s@%s", record->path, record->who);
	done = unlinkat(back->mount->fd, path, 0) == 0;
	back->released += done;
	return done;
}

/* Whether Atlantis lost what it had: its Redis says so. Of one that does not tell, no lock of several is left. */
static bool is_lost(const struct mirror_back *back, const struct snapshot *last)
{
	size_t known = 0;

	if (back->flushes >= 0)
		return back->flushed;

	for (size_t i = 0; i < last->count; i++)
		known += last->entries[i].there != NULL && last->entries[i].record.kind != ATLOCK_FOREIGN_PULL;
	return back->theirs.count == 0 && known > 1;
}

/*
 * Whether Atlantis released a lock and gave it to another pull request between two looks: it came from there, both sides had it, and only
 * Atlantis' record is another now.
 */
static bool is_passed_on(const struct snapshot_entry *before, const struct snapshot_entry *here,
			 const struct atlock_foreign_record *record)
{
	return before != NULL && before->there != NULL && here != NULL && here->imported &&
	       strcmp(before->there, record->value) != 0 && strcmp(before->record.who, here->record.who) == 0 &&
	       strcmp(here->record.who, record->who) != 0;
}

size_t mirror_back(struct mirror_back *back, const struct snapshot *now, struct snapshot *last, bool lost)
{
	size_t changed = 0;

	lost = lost || is_lost(back, last);
	back->flushed = false;
	for (size_t i = 0; i < back->theirs.count; i++) {
		const struct atlock_foreign_record *record = &back->theirs.entries[i].record;
		const struct snapshot_entry *before = snapshot_find(last, record->path);
		const struct snapshot_entry *here = snapshot_find(now, record->path);

		if (is_passed_on(before, here, record) && release_one(back, &here->record) > 0) {
			changed += 1 + take_one(back, record);
			continue;
		}
		/* What both had and the tree has not any more was released here, and is deleted there, unless that is a file. */
		if (here == NULL && (back->file || before == NULL || before->there == NULL))
			changed += take_one(back, record);
	}
	for (size_t i = 0; i < last->count; i++) {
		struct snapshot_entry *before = &last->entries[i];
		const struct snapshot_entry *here = snapshot_find(now, before->record.path);

		if (before->there == NULL || before->record.kind == ATLOCK_FOREIGN_PULL || here == NULL ||
		    snapshot_find(&back->theirs, before->record.path) != NULL)
			continue;
		if (!lost && here->imported)
			changed += release_one(back, &here->record);
		free(before->there);
		before->there = NULL;
	}
	return changed;
}
