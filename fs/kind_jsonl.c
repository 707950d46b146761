/*
 * locks.jsonl: every held lock, then every waiter, one JSON object a line. There may be millions, so it is made a page at a
 * time while it is read; its size is not known before and shows as 0, as in /proc. A page is one consistent state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attr.h"
#include "caller.h"
#include "handle.h"
#include "kind.h"
#include "permit.h"
#include "reach.h"

#define PAGE_LOCKS 2048

/* How far a handle was read: `text` is the current page and begins at this offset of the file. */
struct cursor {
	size_t begins;
	struct atlock_query query;
	enum { PAGES_LOCKS, PAGE_WAITERS, PAGES_END } at;
};

static int jsonl_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	(void)node;
	attr_file(call->fs, 0444, 0, st);
	*life = (struct life){ .entry = LIFE_STEADY, .attr = 0 };
	return 0;
}

struct page {
	struct call *call;
	struct atlock *al;
	struct reach reach;
	FILE *out;
	const struct atlock_name *lock;
};

static int put_line(FILE *out, char *line)
{
	if (line == NULL)
		return -ENOMEM;
	fprintf(out, "%s\n", line);
	free(line);
	return 0;
}

/* That a lock is held is known to all who may search its directory; its text is for those who may read the lock. */
static int page_lock(void *arg, const struct atlock_view *view)
{
	static char nothing[1];
	struct page *page = arg;
	struct atlock_view shown;
	char *own;
	size_t len;
	int err;

	if (!reach_lock(&page->reach, &view->name))
		return 0;
	err = caller_view(page->call, view, &shown, &own);
	if (err == 0 && permit_mode(page->call, view->mode, view->uid, view->gid, R_OK) < 0) {
		shown.meta = nothing;
		shown.meta_len = 0;
	}
	if (err == 0)
		err = put_line(page->out, atlock_view_json(page->al, &shown, &len));
	free(own);
	return err;
}

static int page_ticket(void *arg, const struct atlock_ticket *ticket)
{
	struct page *page = arg;
	size_t len;

	return put_line(page->out, atlock_ticket_json(page->al, page->lock, ticket, &len));
}

/* Queues are read one by one after the list of them. */
static int page_queue(void *arg, const struct atlock_name *name, uint64_t waiters)
{
	struct page *page = arg;
	int err;

	(void)waiters;
	if (!reach_lock(&page->reach, name))
		return 0;
	page->lock = name;
	err = atlock_queue_list(page->al, name, NULL, page_ticket, page);
	return err < 0 ? err : 0;
}

/* Makes the page after the current one. */
static int page_next(struct call *call, struct content *content, struct cursor *cursor)
{
	struct page page = { .call = call, .al = call->al };
	char *text = NULL;
	size_t len = 0;
	int err = reach_begin(&page.reach, call);

	page.out = err < 0 ? NULL : open_memstream(&text, &len);
	if (page.out == NULL) {
		reach_end(&page.reach);
		return err < 0 ? err : -ENOMEM;
	}
	if (cursor->at == PAGES_LOCKS) {
		cursor->query.limit = PAGE_LOCKS;
		err = atlock_list(call->al, &cursor->query, page_lock, &page);
		if (err == 0)
			cursor->at = PAGE_WAITERS;
	} else {
		err = atlock_queues(call->al, NULL, page_queue, &page);
		cursor->at = PAGES_END;
	}
	reach_end(&page.reach);
	if (fclose(page.out) != 0 && err >= 0)
		err = -ENOMEM;
	if (err < 0) {
		free(text);
		return err;
	}
	cursor->begins += content->len;
	free(content->text);
	content->text = text;
	content->len = len;
	return 0;
}

/* Starts over at offset 0 and when somebody seeks back. */
static int cursor_reset(struct content *content)
{
	free(content->cursor);
	free(content->text);
	content->text = NULL;
	content->len = 0;
	content->cursor = calloc(1, sizeof(struct cursor));
	return content->cursor == NULL ? -ENOMEM : 0;
}

static int jsonl_read(struct call *call, struct node *node, struct handle *handle, size_t size, off_t off)
{
	struct content *content = handle_lock(handle);
	size_t at = (size_t)off;
	struct cursor *cursor;
	int err = 0;

	(void)node;
	if (content == NULL)
		return -ENOMEM;
	cursor = content->cursor;
	if (at == 0 || cursor == NULL || at < cursor->begins)
		err = cursor_reset(content);
	cursor = content->cursor;
	while (err == 0 && at >= cursor->begins + content->len && cursor->at != PAGES_END)
		err = page_next(call, content, cursor);
	if (err == 0) {
		size_t skip = at - cursor->begins;
		size_t left = skip < content->len ? content->len - skip : 0;

		fuse_reply_buf(call->req, left == 0 ? NULL : content->text + skip, size < left ? size : left);
	}
	pthread_mutex_unlock(&content->mutex);
	return err;
}

const struct kind kind_locks_jsonl = {
	.type = S_IFREG,
	.hint = "it is written by the file system alone: locks are changed as files below repos/, custom/ and global/",
	.stat = jsonl_stat,
	.read = jsonl_read,
};
