#include "link.h"

#include <bsd/string.h>
#include <errno.h>
#include <string.h>

#include "attr.h"

int link_target(struct call *call, const struct node *dir, const struct atlock_name *name, char out[ATLOCK_PATH_MAX])
{
	static const char up[] = "../";
	char path[ATLOCK_PATH_MAX];
	size_t at = 0;

	for (; dir->parent != NULL; dir = dir->parent, at += strlen(up)) {
		if (at + sizeof(up) > ATLOCK_PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(out + at, up, sizeof(up));
	}
	if (atlock_name_print(call->al, name, path, sizeof(path)) < 0 ||
	    strlcpy(out + at, path, ATLOCK_PATH_MAX - at) >= ATLOCK_PATH_MAX - at)
		return -ENAMETOOLONG;
	return 0;
}

int link_found(struct call *call, const struct node *dir, const struct atlock_view *view, const struct kind *kind,
	       struct found *out)
{
	char target[ATLOCK_PATH_MAX];
	int err = link_target(call, dir, &view->name, target);

	if (err < 0)
		return err;
	out->kind = kind;
	attr_link(call, view, strlen(target), &out->st);
	out->life = (struct life){ 0 };
	return 0;
}
