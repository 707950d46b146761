#include "attr_of.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call_user.h"

void attr_custom(const struct atlock_dir *dir, struct stat *st)
{
	*st = (struct stat){
		.st_mode = S_IFDIR | (dir->mode & 07777U),
		.st_nlink = 2 + dir->subdirs,
		.st_uid = dir->uid,
		.st_gid = dir->gid,
		.st_blksize = 4096,
	};
	st->st_atim = attr_time(dir->atime);
	st->st_mtim = attr_time(dir->mtime);
	st->st_ctim = attr_time(dir->ctime);
}

int attr_lock(struct call *call, const struct atlock_view *view, bool sized, struct stat *st)
{
	size_t len = 0;
	char *text = sized ? caller_text(call, view, &len) : NULL;

	if (sized && text == NULL)
		return -ENOMEM;
	free(text);
	*st = (struct stat){
		.st_mode = S_IFREG | (view->mode & 0777U),
		.st_nlink = 1,
		.st_uid = view->uid,
		.st_gid = view->gid,
	};
	attr_size(st, len);
	attr_times(st,
		   atlock_wall(call->al, view->renewed_at > view->acquired_at ? view->renewed_at : view->acquired_at));
	return 0;
}

void attr_new_lock(struct call *call, const struct atlock_caller *caller, mode_t mode, int64_t acquired_at,
		   struct stat *st)
{
	*st = (struct stat){
		.st_mode = S_IFREG | (mode & 0777U),
		.st_nlink = 1,
		.st_uid = caller->uid,
		.st_gid = caller->gid,
	};
	attr_size(st, 0);
	attr_times(st, atlock_wall(call->al, acquired_at));
}

void attr_free_lock(struct call *call, struct stat *st)
{
	attr_file(call->fs, 0644, 0, st);
	st->st_uid = call->ctx->uid;
	st->st_gid = call->ctx->gid;
}

int attr_ticket(struct call *call, const struct atlock_name *name, const struct atlock_ticket *ticket, struct stat *st)
{
	size_t len = 0;
	char *text = atlock_ticket_text(call->al, name, ticket, &len);

	if (text == NULL)
		return -ENOMEM;
	free(text);
	*st = (struct stat){ .st_mode = S_IFREG | 0644, .st_nlink = 1, .st_uid = ticket->uid, .st_gid = ticket->gid };
	attr_size(st, len);
	attr_times(st, atlock_wall(call->al, ticket->since));
	return 0;
}

/* A file of owners/: belongs to the owner of the URL. Frees `text`, of which only the length is used. */
static int attr_owned(struct call *call, char *text, size_t len, mode_t mode, int64_t since, struct stat *st)
{
	if (text == NULL)
		return -ENOMEM;
	free(text);
	st->st_mode = S_IFREG | mode;
	st->st_nlink = 1;
	attr_size(st, len);
	attr_times(st, atlock_wall(call->al, since));
	return 0;
}

int attr_ownership(struct call *call, const struct atlock_ownership *ownership, struct stat *st)
{
	size_t len = 0;
	char *text = atlock_ownership_text(call->al, ownership, &len);

	*st = (struct stat){ .st_uid = ownership->uid, .st_gid = ownership->gid };
	return attr_owned(call, text, len, 0444, ownership->since, st);
}

int attr_reference(struct call *call, const struct atlock_reference *reference, struct stat *st)
{
	size_t len = 0;
	char *text = atlock_reference_text(call->al, reference, &len);

	*st = (struct stat){ .st_uid = reference->uid, .st_gid = reference->gid };
	return attr_owned(call, text, len, 0666, reference->since, st);
}

/* Not the maker's alone: apps of all users come and go in it. */
void attr_shared(struct call *call, const struct atlock_shared *shared, struct stat *st)
{
	attr_virtual(call->fs, 0777, st);
	st->st_uid = shared->uid;
	st->st_gid = shared->gid;
	attr_times(st, atlock_wall(call->al, shared->changed_at));
}

void attr_app(struct call *call, const struct atlock_app *app, struct stat *st)
{
	attr_file(call->fs, 0644, strlen(atlock_app_status_name(app->status)) + 1, st);
	st->st_uid = app->uid;
	st->st_gid = app->gid;
	attr_times(st, atlock_wall(call->al, app->written_at));
}

void attr_link(struct call *call, const struct atlock_view *view, size_t size, struct stat *st)
{
	*st = (struct stat){ .st_mode = S_IFLNK | 0777, .st_nlink = 1, .st_uid = view->uid, .st_gid = view->gid };
	attr_size(st, size);
	attr_times(st, atlock_wall(call->al, view->acquired_at));
}
