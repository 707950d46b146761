#include "texts.h"

#include <bsd/sys/tree.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

TAILQ_HEAD(contents, content);

/* Exists only while it has a text, or an unfinished write. */
struct text_user {
	RB_ENTRY(text_user) link;
	uid_t uid;
	size_t bytes;
	size_t tails;
	struct contents contents; /* the one whose text was made first is first */
};

RB_HEAD(text_users, text_user);

struct texts {
	pthread_mutex_t mutex;
	struct text_users users; /* mutex, as the next */
	size_t bytes;
	size_t tails;
};

static int user_compare(const struct text_user *a, const struct text_user *b)
{
	return a->uid < b->uid ? -1 : a->uid > b->uid;
}

RB_GENERATE_INTERNAL(text_users, text_user, link, user_compare, __attribute__((unused)) static)

struct texts *texts_new(void)
{
	struct texts *texts = calloc(1, sizeof(*texts));

	if (texts == NULL)
		return NULL;
	pthread_mutex_init(&texts->mutex, NULL);
	RB_INIT(&texts->users);
	return texts;
}

void texts_free(struct texts *texts)
{
	if (texts == NULL)
		return;
	pthread_mutex_destroy(&texts->mutex);
	free(texts);
}

bool texts_same(const struct content *content, const char *text, size_t len)
{
	return content->len == len && content->sum == hash_bytes(HASH_START, text, len);
}

/* --- With the mutex held --- */

static void user_remove(struct texts *texts, struct text_user *user, struct content *content)
{
	TAILQ_REMOVE(&user->contents, content, kept);
	user->bytes -= content->bytes;
	texts->bytes -= content->bytes;
	content->texts = NULL;
}

static void user_end(struct texts *texts, struct text_user *user)
{
	if (!TAILQ_EMPTY(&user->contents) || user->tails > 0)
		return;
	RB_REMOVE(text_users, &texts->users, user);
	free(user);
}

static struct text_user *user_of(struct texts *texts, uid_t uid)
{
	struct text_user *user = RB_FIND(text_users, &texts->users, &(struct text_user){ .uid = uid });

	if (user != NULL)
		return user;
	user = calloc(1, sizeof(*user));
	if (user == NULL)
		return NULL;
	user->uid = uid;
	TAILQ_INIT(&user->contents);
	RB_INSERT(text_users, &texts->users, user);
	return user;
}

/* The content's mutex is held, too. */
static void content_forget(struct content *content)
{
	if (content->text != NULL)
		content->sum = hash_bytes(HASH_START, content->text, content->len);
	free(content->text);
	free(content->cursor);
	content->text = NULL;
	content->cursor = NULL;
	content->dropped = true;
}

/*
 * Drops texts of a user until at most `most` bytes are left. A text whose mutex is taken is being read, and stays:
 * there are at most as many of those as threads.
 */
static void user_shrink(struct texts *texts, struct text_user *user, size_t most)
{
	struct content *content;
	struct content *next;

	TAILQ_FOREACH_SAFE(content, &user->contents, kept, next) {
		if (user->bytes <= most)
			break;
		if (pthread_mutex_trylock(&content->mutex) != 0)
			continue;
		content_forget(content);
		user_remove(texts, user, content);
		pthread_mutex_unlock(&content->mutex);
	}
}

/* Drops an eighth more than necessary, so that the users need not be searched for each text. */
static void texts_shrink(struct texts *texts)
{
	struct text_user *user;
	struct text_user *next;
	size_t most = TEXTS_OF_USER;

	while (texts->bytes > TEXTS_IN_ALL / 8 * 7 && most > 0) {
		most /= 2;
		RB_FOREACH_SAFE(user, text_users, &texts->users, next) {
			user_shrink(texts, user, most);
			user_end(texts, user);
		}
	}
}

static void texts_remove(struct content *content)
{
	struct texts *texts = content->texts;
	struct text_user *user;

	if (texts == NULL)
		return;
	user = RB_FIND(text_users, &texts->users, &(struct text_user){ .uid = content->uid });
	user_remove(texts, user, content);
	user_end(texts, user);
}

/* --- */

void texts_keep(struct texts *texts, struct content *content, uid_t uid, size_t bytes)
{
	struct text_user *user;

	content->dropped = false;
	pthread_mutex_lock(&texts->mutex);
	texts_remove(content);
	user = user_of(texts, uid);
	if (user != NULL) {
		content->texts = texts;
		content->uid = uid;
		content->bytes = bytes;
		TAILQ_INSERT_TAIL(&user->contents, content, kept);
		user->bytes += bytes;
		texts->bytes += bytes;
		user_shrink(texts, user, TEXTS_OF_USER);
	}
	if (texts->bytes > TEXTS_IN_ALL)
		texts_shrink(texts);
	pthread_mutex_unlock(&texts->mutex);
}

/* Another thread that drops the text holds the content's mutex. */
void texts_leave(struct content *content)
{
	struct texts *texts = content->texts;

	if (texts == NULL)
		return;
	pthread_mutex_lock(&texts->mutex);
	texts_remove(content);
	pthread_mutex_unlock(&texts->mutex);
}

int texts_tail(const struct handle *handle, const struct content *content, size_t len)
{
	struct texts *texts = handle->fs->texts;
	struct text_user *user;
	int err = 0;

	if (content->tail_len == len)
		return 0;
	pthread_mutex_lock(&texts->mutex);
	user = user_of(texts, handle->uid);
	if (user == NULL) {
		err = -ENOMEM;
	} else {
		size_t mine = user->tails - content->tail_len + len;
		size_t all = texts->tails - content->tail_len + len;

		if (len > content->tail_len && (mine > TAILS_OF_USER || all > TAILS_IN_ALL)) {
			err = -EDQUOT;
		} else {
			user->tails = mine;
			texts->tails = all;
		}
		user_end(texts, user);
	}
	pthread_mutex_unlock(&texts->mutex);
	return err;
}

int texts_tail_refuse(struct call *call)
{
	return call_refuse(call, -EDQUOT, ATLOCK_QUOTA,
			   "your open files have %zu KiB of unfinished writes, or all users' %zu: close some of them",
			   TAILS_OF_USER / 1024, TAILS_IN_ALL / 1024);
}

void texts_drop(struct content *content)
{
	texts_leave(content);
	content_forget(content);
}
