/*
 * locks.jsonl: every held lock, then every waiter, one JSON object a line. There may be millions, so it is made a page
 * at a time while it is read, and an open file keeps one page and its place. A page is one consistent state.
 *
 * A short list is made as a whole, and its size is exact. The size of a long list is counted when it is asked for, and
 * may have changed by the time the list is read. read(2) goes on to the end whatever was counted. Other reads that stop
 * at the counted size while the list goes on, or that begin beyond its end, fail with EIO instead of leaving lines out.
 */
#include <bsd/sys/queue.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attr.h"
#include "call_user.h"
#include "handle.h"
#include "pages.h"
#include "permit.h"
#include "reach.h"
#include "rows.h"
#include "texts.h"

#define PAGE_LINES 32
#define PAGE_BYTES (16U * 1024) /* a page ends after the line that exceeds this: texts may be long */
#define WHOLE_MAX (64U * 1024)  /* bytes of a list that is made as a whole */

/* How far a list is made. */
struct cursor {
	struct atlock_query query;
	struct atlock_place queue; /* of the current or the last queue */
	struct atlock_name lock;   /* whose queue is shown; len 0: none */
	struct atlock_place ticket;
	enum { MAKE_LOCKS, MAKE_WAITERS, MADE } at;
};

/* A list in an open file: content->text is the part from offset `begins` up to where the cursor is. */
struct reading {
	struct cursor cursor;
	size_t begins;
	size_t counted; /* the reported size of a long list; 0: none */
	bool whole;     /* the text is the whole list */
};

struct page {
	struct call *call;
	struct atlock *al;
	struct reach reach;
	FILE *out;
	struct cursor *cursor;
	long begins; /* where its lines begin in `out` */
	unsigned int lines;
	int err;
};

static bool page_is_full(const struct page *page)
{
	return page->lines >= PAGE_LINES || ftell(page->out) - page->begins >= (long)PAGE_BYTES;
}

static int put_line(struct page *page, char *line)
{
	if (line == NULL)
		return -ENOMEM;
	fprintf(page->out, "%s\n", line);
	free(line);
	page->lines++;
	return 0;
}

/* All who may search a lock's directory may know that it is held; its text is only for those who may read the lock. */
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
		err = put_line(page, atlock_view_json(page->al, &shown, &len));
	free(own);
	page->err = err < 0 ? err : 0;
	return err < 0 || page_is_full(page);
}

static int page_ticket(void *arg, const struct atlock_ticket *ticket)
{
	struct page *page = arg;
	size_t len;

	page->err = put_line(page, atlock_ticket_json(page->al, &page->cursor->lock, ticket, &len));
	return page->err < 0 || page_is_full(page);
}

/* Finds the next queue that the reader may know of. */
static int page_queue(void *arg, const struct atlock_name *name, uint64_t waiters)
{
	struct page *page = arg;

	(void)waiters;
	if (!reach_lock(&page->reach, name))
		return 0;
	page->cursor->lock = *name;
	page->cursor->ticket.len = 0;
	return 1;
}

static int page_locks(struct page *page)
{
	int err;

	page->cursor->query.limit = PAGE_LINES;
	err = atlock_list(page->al, &page->cursor->query, page_lock, page);
	if (err == 0)
		page->cursor->at = MAKE_WAITERS;
	return page->err < 0 ? page->err : err < 0 ? err : 0;
}

static int page_waiters(struct page *page)
{
	struct cursor *cursor = page->cursor;
	int err = 0;

	while (err == 0 && cursor->at == MAKE_WAITERS && !page_is_full(page)) {
		if (cursor->lock.len == 0) {
			err = atlock_queues(page->al, &cursor->queue, page_queue, page);
			if (err == 0 && cursor->lock.len == 0)
				cursor->at = MADE;
		} else {
			err = atlock_queue_list(page->al, &cursor->lock, &cursor->ticket, page_ticket, page);
			if (!page_is_full(page))
				cursor->lock.len = 0;
		}
		err = page->err < 0 ? page->err : err < 0 ? err : 0;
	}
	return err;
}

/* Adds some lines to `out`, or none and sets cursor->at to MADE. */
static int cursor_step(struct call *call, struct cursor *cursor, FILE *out)
{
	struct page page = { .call = call, .al = call->al, .out = out, .begins = ftell(out), .cursor = cursor };
	int err = reach_begin(&page.reach, call);

	if (err == 0 && cursor->at == MAKE_LOCKS)
		err = page_locks(&page);
	else if (err == 0)
		err = page_waiters(&page);
	reach_end(&page.reach);
	return err;
}

/* The next lines, at least one, or "" at the end; with `most`, lines until there are that many bytes. */
static int cursor_text(struct call *call, struct cursor *cursor, size_t most, char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);
	int err = out == NULL ? -ENOMEM : 0;

	while (err == 0 && cursor->at != MADE && (ftell(out) == 0 || (size_t)ftell(out) < most))
		err = cursor_step(call, cursor, out);
	if (out != NULL && fclose(out) != 0 && err == 0)
		err = -ENOMEM;
	if (out != NULL && err < 0)
		free(*text);
	return err;
}

/* Counts the whole list. */
static int cursor_count(struct call *call, size_t *size)
{
	struct cursor *cursor = calloc(1, sizeof(*cursor));
	int err = cursor == NULL ? -ENOMEM : 0;

	*size = 0;
	while (err == 0 && cursor->at != MADE) {
		char *text = NULL;
		size_t len = 0;

		err = cursor_text(call, cursor, WHOLE_MAX, &text, &len);
		if (err == 0)
			free(text);
		*size += len;
	}
	free(cursor);
	return err;
}

/* --- Its size --- */

#define SIZES 64
#define SIZE_SHARE 10 /* counting may take one part in so many of the time, per user */
#define SIZE_CHEAP (ATLOCK_SECOND / 1000)
#define LINE_ABOUT 400 /* bytes of a line, as a guess */

/* The last count for a user. */
struct size {
	uid_t uid;
	gid_t gid;
	int64_t at; /* monotonic; 0: none */
	int64_t took;
	int64_t changed; /* fs->changed before it was counted */
	size_t size;
};

/* A thread that counts. One user has one at a time: many would take the processors from the requests of other users. */
struct counter {
	uid_t uid;
	LIST_ENTRY(counter) link;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t ended; /* one has counted */
	LIST_HEAD(, counter) counters;
	struct size of[SIZES]; /* the users for whom was counted last */
} sizes = { .mutex = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

/* Call with the mutex held. */
static bool is_counting(uid_t uid)
{
	const struct counter *counter;

	LIST_FOREACH(counter, &sizes.counters, link)
		if (counter->uid == uid)
			return true;
	return false;
}

static void counter_end(struct counter *counter)
{
	pthread_mutex_lock(&sizes.mutex);
	LIST_REMOVE(counter, link);
	pthread_cond_broadcast(&sizes.ended);
	pthread_mutex_unlock(&sizes.mutex);
}

/* Counts the whole list, when no other thread counts for this user. */
static int count_in_turn(struct call *call, size_t *size)
{
	struct counter counter = { .uid = call->ctx->uid };
	int err;

	pthread_mutex_lock(&sizes.mutex);
	while (is_counting(counter.uid))
		pthread_cond_wait(&sizes.ended, &sizes.mutex);
	LIST_INSERT_HEAD(&sizes.counters, &counter, link);
	pthread_mutex_unlock(&sizes.mutex);
	err = cursor_count(call, size);
	counter_end(&counter);
	return err;
}

static bool size_is_of(const struct size *size, const struct call *call)
{
	return size->uid == call->ctx->uid && size->gid == call->ctx->gid;
}

static int64_t size_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * ATLOCK_SECOND + time.tv_nsec;
}

/*
 * Whether the last count is still valid. A list that is counted quickly is counted each time. Otherwise the count is
 * valid until the user's share of time (SIZE_SHARE) allows another; and while nothing has changed, for a second, because
 * groups and policy are not compared.
 */
static bool size_holds(const struct size *size, const struct call *call, int64_t now)
{
	int64_t age = now - size->at;

	if (size->at == 0 || size->took < SIZE_CHEAP || !size_is_of(size, call))
		return false;
	return age < SIZE_SHARE * size->took ||
	       (age < ATLOCK_SECOND && size->changed == atomic_load(&call->fs->changed));
}

/* What is told while another thread counts: the last count, or about what the list will have. */
static size_t size_meanwhile(const struct size *size, const struct call *call)
{
	struct atlock_status status;

	if (size->at != 0 && size_is_of(size, call))
		return size->size;
	return atlock_status(call->al, &status) < 0 ? LINE_ABOUT : (status.held + status.waiting + 1) * LINE_ABOUT;
}

/* The last count for this user, or if there is none the oldest of all. Call with the mutex held. */
static struct size *size_kept(const struct call *call)
{
	struct size *kept = &sizes.of[0];

	for (size_t i = 0; i < SIZES; i++) {
		if (size_is_of(&sizes.of[i], call))
			return &sizes.of[i];
		if (sizes.of[i].at < kept->at)
			kept = &sizes.of[i];
	}
	return kept;
}

/* For stat(2) by name. No read relies on that size: an open file reports its own. */
static int size_by_name(struct call *call, size_t *out)
{
	struct counter counter = { .uid = call->ctx->uid };
	struct size size = { .uid = call->ctx->uid, .gid = call->ctx->gid, .changed = atomic_load(&call->fs->changed) };
	int64_t begun = size_now();
	const struct size *kept;
	bool counts;
	int err;

	pthread_mutex_lock(&sizes.mutex);
	kept = size_kept(call);
	counts = !size_holds(kept, call, begun) && !is_counting(counter.uid);
	*out = counts ? 0 : size_meanwhile(kept, call);
	if (counts)
		LIST_INSERT_HEAD(&sizes.counters, &counter, link);
	pthread_mutex_unlock(&sizes.mutex);
	if (!counts)
		return 0;
	err = cursor_count(call, out);
	size.size = *out;
	size.at = size_now();
	size.took = size.at - begun;
	pthread_mutex_lock(&sizes.mutex);
	if (err == 0)
		*size_kept(call) = size;
	pthread_mutex_unlock(&sizes.mutex);
	counter_end(&counter);
	return err;
}

/* --- An open file --- */

static void reading_drop(struct content *content)
{
	free(content->text);
	content->text = NULL;
	content->len = 0;
}

/* Goes back to the start. */
static int reading_reset(struct content *content)
{
	struct reading *reading = content->cursor;
	size_t counted = reading != NULL ? reading->counted : 0;

	reading_drop(content);
	free(content->cursor);
	content->cursor = reading = calloc(1, sizeof(*reading));
	if (reading == NULL)
		return -ENOMEM;
	reading->counted = counted;
	return 0;
}

/* Goes to the next part. */
static int reading_step(struct call *call, struct content *content)
{
	struct reading *reading = content->cursor;
	char *text = NULL;
	size_t len = 0;
	int err = cursor_text(call, &reading->cursor, 0, &text, &len);

	if (err < 0)
		return err;
	reading->begins += content->len;
	free(content->text);
	content->text = text;
	content->len = len;
	return 0;
}

/*
 * Makes the list as a whole if it is short; else leaves it at its start. A counted size stays valid for a reader to
 * whom it was reported and who has not read yet.
 */
static int reading_begin(struct call *call, struct content *content)
{
	struct reading *reading;
	int err = reading_reset(content);

	if (err < 0)
		return err;
	reading = content->cursor;
	if (!content->sized)
		reading->counted = 0;
	err = cursor_text(call, &reading->cursor, WHOLE_MAX, &content->text, &content->len);
	if (err < 0) {
		content->text = NULL;
		content->len = 0;
		return err;
	}
	clock_gettime(CLOCK_REALTIME, &content->made);
	content->done = false;
	reading->whole = reading->cursor.at == MADE;
	return reading->whole ? 0 : reading_reset(content);
}

/* Goes to the part that has this offset; beyond the end, to the last part. */
static int reading_seek(struct call *call, struct content *content, size_t at)
{
	struct reading *reading = content->cursor;
	int err = 0;

	if (at < reading->begins) {
		err = reading_reset(content);
		reading = content->cursor;
	}
	while (err == 0 && !reading->whole && at >= reading->begins + content->len && reading->cursor.at != MADE)
		err = reading_step(call, content);
	return err;
}

/* Fills `data` from an offset on: returns how much, or a negative errno. */
static ssize_t reading_fill(struct call *call, struct content *content, char *data, size_t size, size_t off)
{
	size_t filled = 0;

	while (filled < size) {
		const struct reading *reading;
		size_t left;
		size_t n;
		int err = reading_seek(call, content, off + filled);

		if (err < 0)
			return err;
		reading = content->cursor;
		if (off + filled >= reading->begins + content->len)
			break;
		left = reading->begins + content->len - off - filled;
		n = size - filled < left ? size - filled : left;
		memcpy(data + filled, content->text + (off + filled - reading->begins), n);
		filled += n;
	}
	return (ssize_t)filled;
}

/* Whether a read of a long list stops at the counted size while the list goes on, or begins beyond its end. */
static bool reading_misses(struct call *call, struct content *content, size_t size, size_t off, size_t filled)
{
	const struct reading *reading = content->cursor;
	size_t counted = reading->counted;

	if (reading->whole || counted == 0)
		return false;
	if (filled == 0)
		return off > reading->begins + content->len;
	if (call->paged)
		return off + filled > counted && off < counted;
	return off + size == counted && reading_seek(call, content, counted) == 0 &&
	       counted < ((const struct reading *)content->cursor)->begins + content->len;
}

static int reading_serve(struct call *call, struct content *content, size_t size, size_t off)
{
	char *data = malloc(size);
	ssize_t n = data == NULL ? -ENOMEM : reading_fill(call, content, data, size, off);

	if (n >= 0 && reading_misses(call, content, size, off, (size_t)n))
		n = call_refuse(call, -EIO, ATLOCK_INVALID_REQUEST,
				"locks.jsonl has changed since its size was asked for: read it to its end instead");
	if (!call->paged)
		content->done = n >= 0 && (size_t)n < size;
	if (n >= 0)
		fuse_reply_buf(call->req, data, (size_t)n);
	free(data);
	return n < 0 ? (int)n : CALL_ANSWERED;
}

static int jsonl_read(struct call *call, struct node *node, struct handle *handle, size_t size, off_t off)
{
	struct content *content = handle_lock(handle);
	const struct reading *reading;
	int err = 0;

	(void)node;
	if (content == NULL)
		return -ENOMEM;
	reading = content->cursor;
	if (content->dropped && (off > 0 || call->paged || content_is_told(content))) {
		err = call_refuse(
			call, -EIO, ATLOCK_QUOTA,
			"you have too many files open of which only a part was read: close some, and read again");
		pthread_mutex_unlock(&content->mutex);
		return err;
	}
	/* A list whose size was reported stays the same, and so does a short one that is read through pages. */
	if (reading == NULL || (off == 0 && !content_is_told(content) && !(call->paged && reading->whole)))
		err = reading_begin(call, content);
	if (err == 0)
		err = reading_serve(call, content, size, (size_t)off);
	if (!call->paged)
		content->sized = false;
	if (content->cursor != NULL)
		texts_keep(call->fs->texts, content, handle->uid, content->len + sizeof(*reading));
	pthread_mutex_unlock(&content->mutex);
	return err;
}

/*
 * The exact size of what an open file is about to show. A reader in the middle of the list stays with it; if that list
 * was dropped, the size is that of another, which the reader does not get: its next read is still EIO.
 */
static int reading_size(struct call *call, struct content *content, size_t *size)
{
	struct reading *reading = content->cursor;
	bool middle = reading != NULL && !content->sized && (!content->done || content_is_young(content));
	int err = 0;

	if (content->dropped && !content->sized && !content->done)
		return count_in_turn(call, size);
	if (reading == NULL || !(middle || content_is_told(content))) {
		content->sized = false;
		err = reading_begin(call, content);
	}
	if (err < 0)
		return err;
	reading = content->cursor;
	if (!reading->whole && reading->counted == 0)
		err = count_in_turn(call, &reading->counted);
	*size = reading->whole ? content->len : reading->counted;
	content->sized = !middle;
	return err;
}

static int jsonl_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	struct handle *reader = node == NULL ? NULL : pages_reader(call, node);
	struct content *content = reader == NULL ? NULL : handle_lock(reader);
	const struct fuse_ctx *caller = call->ctx;
	size_t size = 0;
	int err;

	if (content == NULL) {
		err = size_by_name(call, &size);
		attr_telling(call->fs, 0444, size, st);
	} else {
		caller_act_as_opener(call, reader);
		err = reading_size(call, content, &size);
		call->ctx = caller;
		if (content->cursor != NULL)
			texts_keep(call->fs->texts, content, reader->uid, content->len + sizeof(struct reading));
		attr_telling(call->fs, 0444, size, st);
		pthread_mutex_unlock(&content->mutex);
	}
	handle_drop(reader);
	*life = (struct life){ 0 };
	return err;
}

const struct kind kind_locks_jsonl = {
	.type = S_IFREG,
	.hint = "it is written by the file system alone: locks are changed as files below repos/, custom/ and global/",
	.passing = true,
	.most = (off_t)1 << 30,
	.stat = jsonl_stat,
	.read = jsonl_read,
};
