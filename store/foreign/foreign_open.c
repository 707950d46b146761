#include "foreign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int foreign_open(struct foreign **out, const char *uri, unsigned int flags, char error[FOREIGN_ERROR_MAX])
{
	const char *scheme = strstr(uri, "://");

	if (strncmp(uri, "redis://", strlen("redis://")) == 0)
		return redis_atlantis_open(out, uri, flags, error);
	if (scheme != NULL) {
		snprintf(error, FOREIGN_ERROR_MAX, "%.*s:// is not understood: give a file, or redis://host:port/db",
			 (int)(scheme - uri), uri);
		return -EINVAL;
	}
	return bolt_open(out, uri, flags, error);
}

void foreign_close(struct foreign *foreign)
{
	if (foreign != NULL)
		foreign->type->close(foreign);
}

int foreign_next(struct foreign *foreign, struct foreign_item *out)
{
	return foreign->type->next(foreign, out);
}

int foreign_again(struct foreign *foreign)
{
	return foreign->type->again(foreign);
}

bool foreign_changed(struct foreign *foreign)
{
	return foreign->type->changed == NULL || foreign->type->changed(foreign);
}

static int refuse_file(struct foreign *foreign)
{
	return foreign_fail(foreign, -EROFS, "a Bolt file is only read: write to a Redis, or print JSON lines");
}

int foreign_get(struct foreign *foreign, enum foreign_kind kind, const char *key, struct slice *out)
{
	return foreign->type->get == NULL ? refuse_file(foreign) : foreign->type->get(foreign, kind, key, out);
}

int foreign_enqueue(struct foreign *foreign, const char *key, const char *member, double score)
{
	return foreign->type->enqueue == NULL ? refuse_file(foreign)
					      : foreign->type->enqueue(foreign, key, member, score);
}

int foreign_change(struct foreign *foreign, const struct foreign_item *item, const struct slice *old)
{
	return foreign->type->change == NULL ? refuse_file(foreign) : foreign->type->change(foreign, item, old);
}
