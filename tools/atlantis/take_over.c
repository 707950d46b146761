#include "take_over.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void take_over_self(char out[ATLOCK_OWNER_MAX + 1])
{
	const struct passwd *user = getpwuid(geteuid());

	strlcpy(out, user == NULL ? "" : user->pw_name, ATLOCK_OWNER_MAX + 1);
}

bool take_over_given(const struct atlock_foreign_record *record, const char *self)
{
	return record->owner[0] != '\0' && strcmp(record->owner, self) != 0;
}

/* One write to wait/<lock>@<who>; O_NONBLOCK: it does not wait. */
int take_over(const struct mount *mount, const struct atlock_foreign_record *record, const char *self)
{
	char path[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 16];
	bool given = take_over_given(record, self);
	char *text;
	int err;

	snprintf(path, sizeof(path), "wait/%s@%s", record->path, record->who);
	if (asprintf(&text, "%s%s%s%s", given ? "owner=" : "", given ? record->owner : "", given ? "\n" : "",
		     record->text) < 0)
		return -ENOMEM;
	err = mount_write(mount, path, O_NONBLOCK, text);
	free(text);
	return err;
}
