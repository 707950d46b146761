#include "lockpath.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "legacy_key.h"

static const char *const trees[] = { "repos/", "custom/", "global/", "shared/" };

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool in_tree(const char *text)
{
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		if (has_prefix(text, trees[i]))
			return true;
	return false;
}

/* Removes repeated slashes, which the kernel ignores, too. */
static void squeeze(char *path)
{
	char *out = path;

	for (const char *in = path; *in != '\0'; in++)
		if (in[0] != '/' || in[1] != '/')
			*out++ = *in;
	*out = '\0';
}

static void below_root(const struct mount *mount, const char *text, char out[ATLOCK_PATH_MAX])
{
	const char *inside = mount_below(mount, text);
	char *here = in_tree(text) ? NULL : getcwd(NULL, 0);
	const char *prefix = here == NULL || text[0] == '/' ? NULL : mount_below(mount, here);

	if (prefix != NULL && prefix[0] != '\0')
		(void)snprintf(out, ATLOCK_PATH_MAX, "%s/%s", prefix, text);
	else
		(void)strlcpy(out, inside != NULL ? inside : text, ATLOCK_PATH_MAX);
	free(here);
	squeeze(out);
}

/* "repos", "repos/", "repos/acme"; and from inside the mount also "acme" and ".". */
int lockpath_prefix(const struct tool *tool, const struct mount *mount, const char *text, char out[ATLOCK_PATH_MAX])
{
	char tree[ATLOCK_PATH_MAX];
	size_t len;

	(void)snprintf(tree, sizeof(tree), "%s/", text);
	if (in_tree(tree))
		(void)strlcpy(out, text, ATLOCK_PATH_MAX);
	else
		below_root(mount, text, out);
	squeeze(out);
	len = strlen(out);
	while (len > 0 && (out[len - 1] == '/' || (out[len - 1] == '.' && (len == 1 || out[len - 2] == '/'))))
		len--;
	/* A lone slash is the root of the host, not of the mount. */
	if (out[0] != '/')
		out[len] = '\0';
	(void)snprintf(tree, sizeof(tree), "%s/", out);
	if (out[0] == '\0' || in_tree(tree))
		return EXIT_DONE;
	if (out[0] == '/' && mount->path[0] != '\0')
		return tool_usage(tool, "%s is not in %s, which is the mount", text, mount->path);
	return tool_usage(tool, "there are no locks in \"%s\": name a path in repos/, custom/, global/ or shared/%s%s",
			  text, mount->path[0] != '\0' ? " of " : "", mount->path);
}

/* Writes how a name with slashes in it is spelled; "" if the path has no such name. */
static void slashes_spell(const char *path, char *spelled, size_t len)
{
	const char *name = has_prefix(path, "global/") ? path + strlen("global/") : NULL;

	for (const char *at = path; has_prefix(path, "repos/") && (at = strstr(at, "/-/")) != NULL; at++)
		name = at + strlen("/-/");
	spelled[0] = '\0';
	if (name == NULL)
		return;
	(void)strlcpy(spelled, ": a slash inside a name is spelled %2F: ", len);
	while (*name != '\0') {
		const char one[2] = { *name, '\0' };

		(void)strlcat(spelled, *name == '/' ? "%2F" : one, len);
		name++;
	}
}

int lockpath_take(const struct tool *tool, const struct mount *mount, const char *text, char out[ATLOCK_PATH_MAX])
{
	struct atlock_why why = { .text = "" };
	struct atlock_name name;
	char spelled[3 * ATLOCK_PATH_MAX];
	int err;

	below_root(mount, text, out);
	if (!in_tree(out) || strlen(text) >= ATLOCK_PATH_MAX)
		return tool_usage(tool, "\"%s\" is no lock: name one in repos/, custom/ or global/", text);
	if (has_prefix(out, "custom/"))
		return EXIT_DONE;
	err = atlock_name_parse(out, &name, &why);
	if (err == -EISDIR)
		return tool_usage(tool, "%s is a directory: name a lock in it", out);
	if (err == -ENOTDIR) {
		slashes_spell(out, spelled, sizeof(spelled));
		return tool_usage(tool, "%s: %s%s", out, why.text, spelled);
	}
	if (err < 0)
		return tool_usage(tool, "%s: %s", out, why.text[0] != '\0' ? why.text : strerror(-err));
	err = atlock_name_print(NULL, &name, out, ATLOCK_PATH_MAX);
	if (err == 0 && name.who[0] != '\0') {
		(void)strlcat(out, "@", ATLOCK_PATH_MAX);
		(void)strlcat(out, name.who, ATLOCK_PATH_MAX);
	}
	return EXIT_DONE;
}

bool lockpath_is_id(const char *text)
{
	return has_prefix(text, "lock_") && strchr(text, '/') == NULL;
}

/* "lock_<ns>_<owner>_<8 hex>" names its owner, and by/owner/ has links by id. */
bool lockpath_of_id(const struct mount *mount, const char *id, char out[ATLOCK_PATH_MAX])
{
	const char *owner = strchr(id + strlen("lock_"), '_');
	const char *end = strrchr(id, '_');
	char link[ATLOCK_PATH_MAX];
	const char *up;
	ssize_t n;

	if (owner == NULL || end <= owner)
		return false;
	owner++;
	(void)snprintf(link, sizeof(link), "by/owner/%.*s/%s", (int)(end - owner), owner, id);
	n = readlinkat(mount->fd, link, out, ATLOCK_PATH_MAX - 1);
	if (n <= 0)
		return false;
	out[n] = '\0';
	/* "../../../custom/x": what follows the way up is the path below the root. */
	for (up = out; has_prefix(up, "../"); up += 3)
		;
	memmove(out, up, strlen(up) + 1);
	return in_tree(out);
}

/* Whether a word can only be Atlantis' key: as a path it would be in none of the trees. */
static bool is_key(const struct mount *mount, const char *text)
{
	char path[ATLOCK_PATH_MAX];

	below_root(mount, text, path);
	return !in_tree(path) && legacy_key_is(text);
}

int lockpath_find(const struct tool *tool, const struct mount *mount, const char *text, char out[ATLOCK_PATH_MAX])
{
	if (!lockpath_is_id(text))
		return is_key(mount, text) ? legacy_key_find(tool, mount, text, out)
					   : lockpath_take(tool, mount, text, out);
	if (lockpath_of_id(mount, text, out))
		return EXIT_DONE;
	return tool_fail(tool, EXIT_REFUSED, "%s: no lock has that id any more", text);
}

void lockpath_holder(const struct mount *mount, const char *path, char *out, size_t len)
{
	char owner[ATLOCK_OWNER_MAX + 1];
	char who[ATLOCK_WHO_MAX + 1];

	out[0] = '\0';
	if (mount_field(mount, path, "owner", owner, sizeof(owner)) &&
	    mount_field(mount, path, "who", who, sizeof(who)))
		(void)snprintf(out, len, "%s@%s", owner, who);
}

/* Only its holder may open a lock for writing. */
int lockpath_mine(const struct mount *mount, const char *path)
{
	return mount_try(mount, path, 0);
}

/*
 * With admin_rm=any an administrator's unlink releases any holder's lock, so the holder is checked first. The file system compares
 * only a name with "@who" in the same step; a session has no such name, and a lease that ends in between goes unnoticed.
 */
int lockpath_release(const struct mount *mount, const char *path)
{
	int err = strchr(path, '@') != NULL ? 0 : lockpath_mine(mount, path);

	if (err == 0 && unlinkat(mount->fd, path, 0) != 0)
		err = -errno;
	return err;
}

/*
 * Unlinks LOCK@WHO, which the file system compares in the same step: administrators may use every who, users those of their own
 * that are no sessions. For the rest, the user's own session and callers that are refused, the holder is compared just before.
 */
int lockpath_force(const struct mount *mount, const char *path, const char *who)
{
	char name[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 2];
	char now[ATLOCK_WHO_MAX + 1];

	(void)snprintf(name, sizeof(name), "%s@%s", path, who);
	if (strchr(path, '@') == NULL) {
		if (unlinkat(mount->fd, name, 0) == 0)
			return 0;
		if (errno == ENOENT && geteuid() == 0)
			return -ENOENT;
		if (mount_field(mount, path, "who", now, sizeof(now)) && strcmp(now, who) != 0)
			return -ENOENT;
	}
	return unlinkat(mount->fd, path, 0) == 0 ? 0 : -errno;
}

int lockpath_give_back(const struct mount *mount, const char *path, const char *who, uint64_t token, const char *reason)
{
	char name[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 64];
	char state[ATLOCK_REASON_MAX + 64];
	int len = snprintf(state, sizeof(state), "released token=%" PRIu64 " reason=%s", token, reason);

	if (len < 0 || (size_t)len >= sizeof(state))
		return -EINVAL;
	/* There is no call that takes a directory and a path. */
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d/%s@%s", mount->fd, path, who);
	return setxattr(name, "user.state", state, (size_t)len, 0) == 0 ? 0 : -errno;
}

/* An id or a key of Atlantis' stands for a grant, whose holder may have a name: that is "LOCK@WHO". */
static void holder_add(const struct mount *mount, char path[ATLOCK_PATH_MAX])
{
	char who[ATLOCK_WHO_MAX + 1];

	if (strchr(path, '@') != NULL || !mount_field(mount, path, "who", who, sizeof(who)) ||
	    atlock_who_is_implied(who) || atlock_who_is_flock(who))
		return;
	(void)strlcat(path, "@", ATLOCK_PATH_MAX);
	(void)strlcat(path, who, ATLOCK_PATH_MAX);
}

bool lockpath_other(const struct mount *mount, const char *path, char *out, size_t len)
{
	const char *at = strrchr(path, '@');
	char plain[ATLOCK_PATH_MAX];
	char owner[ATLOCK_OWNER_MAX + 1];
	char who[ATLOCK_WHO_MAX + 1];
	char since[64];

	if (at == NULL)
		return false;
	(void)snprintf(plain, sizeof(plain), "%.*s", (int)(at - path), path);
	if (!mount_field(mount, plain, "owner", owner, sizeof(owner)) ||
	    !mount_field(mount, plain, "who", who, sizeof(who)) ||
	    !mount_field(mount, plain, "acquired_at", since, sizeof(since)))
		return false;
	(void)snprintf(out, len, "%s is held by %s@%s since %s, not by you as %s", plain, owner, who, since, at);
	return true;
}

/* Says that a lock is not held: which is a refusal, or as it should be. A lock that another has is always a refusal. */
static int absent_say(const struct tool *tool, const struct mount *mount, const char *path, bool absent)
{
	char other[ATLOCK_PATH_MAX + 512];

	if (lockpath_other(mount, path, other, sizeof(other)))
		return tool_fail(tool, EXIT_REFUSED, "%s", other);
	return absent ? tool_fail(tool, EXIT_DONE, "%s: it was not held", path)
		      : tool_fail(tool, EXIT_REFUSED, "%s: it is not held", path);
}

int lockpath_each(struct tool *tool, struct mount *mount, char *const *words, const struct lockpath_act *act)
{
	char path[ATLOCK_PATH_MAX];
	int first = mount_open(tool, mount);

	if (first != EXIT_DONE)
		return first;
	for (; *words != NULL; words++) {
		bool gone = act->absent && lockpath_is_id(*words) && !lockpath_of_id(mount, *words, path);
		int code = gone ? tool_fail(tool, EXIT_DONE, "%s: no lock has that id any more", *words)
				: lockpath_find(tool, mount, *words, path);
		int err;

		if (code == EXIT_DONE && !gone && act->named && (lockpath_is_id(*words) || is_key(mount, *words)))
			holder_add(mount, path);
		err = code == EXIT_DONE && !gone ? act->fn(act->arg, path, *words) : 0;
		if (err == -ENOENT)
			code = absent_say(tool, mount, path, act->absent);
		else if (err < 0)
			code = lockpath_refused(tool, mount, path, -err, act->advice);
		else if (err > 0)
			code = err;
		if (first == EXIT_DONE)
			first = code;
	}
	mount_close(mount);
	return first;
}

static const struct tool_code codes[] = {
	{ EAGAIN, EXIT_REFUSED },  { EBUSY, EXIT_REFUSED },       { EEXIST, EXIT_REFUSED },
	{ EACCES, EXIT_REFUSED },  { EPERM, EXIT_REFUSED },       { ENOENT, EXIT_REFUSED },
	{ ESTALE, EXIT_REFUSED },  { EDEADLK, EXIT_TRY_AGAIN },   { EDQUOT, EXIT_TRY_AGAIN },
	{ EINTR, EXIT_TRY_AGAIN }, { ECANCELED, EXIT_TRY_AGAIN }, { ENAMETOOLONG, EXIT_USAGE },
	{ ENOTDIR, EXIT_USAGE },   { EISDIR, EXIT_USAGE },        { .err = 0 },
};

/* Whether the file system advises to use its files, where the caller needs an option of a command. */
static bool advice_is_of_files(const struct mount *mount)
{
	static const enum atlock_advice files[] = { ATLOCK_ADVICE_WAIT, ATLOCK_ADVICE_NAME, ATLOCK_ADVICE_SESSION };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (mount_advises(mount, files[i]))
			return true;
	return false;
}

/* The field `fact` has neither the advice nor the line number of a request, which only this program has seen. */
void lockpath_why(const struct mount *mount, const char *advice, char *out, size_t len)
{
	char fact[WHY_MAX];
	char *at;

	mount_why(mount, out, len);
	if (out[0] == '\0' || !mount_field(mount, "why", "fact", fact, sizeof(fact)) ||
	    (at = strstr(out, fact)) == NULL)
		return;
	memmove(out, at, strlen(at) + 1);
	if (advice == NULL || !advice_is_of_files(mount))
		return;
	out[strlen(fact)] = '\0';
	if (advice[0] != '\0') {
		(void)strlcat(out, ": ", len);
		(void)strlcat(out, advice, len);
	}
}

/* Says which part of a path is missing or is no directory. */
static int fail_not_directory(const struct tool *tool, const struct mount *mount, const char *path)
{
	char part[ATLOCK_PATH_MAX];
	struct stat st;

	for (const char *end = strchr(path, '/'); end != NULL; end = strchr(end + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (fstatat(mount->fd, part, &st, 0) != 0)
			return tool_fail(tool, EXIT_USAGE, "%s: there is no directory %s: mkdir it first", path, part);
		if (!S_ISDIR(st.st_mode))
			return tool_fail(tool, EXIT_USAGE, "%s: %s is a lock, nothing is below it", path, part);
	}
	return tool_fail(tool, EXIT_USAGE, "%s: %s", path, strerror(ENOTDIR));
}

/* EINVAL is a refused value, or a wrong name below custom/, which cannot be looked up either. */
static bool is_nameable(const struct mount *mount, const char *path)
{
	return faccessat(mount->fd, path, F_OK, 0) == 0 || errno != EINVAL;
}

int lockpath_refused(const struct tool *tool, const struct mount *mount, const char *path, int err, const char *advice)
{
	size_t plain = strcspn(path, "@");
	int code = tool_exit_code_in(codes, err);
	char why[WHY_MAX];

	if (err == ENOENT)
		return absent_say(tool, mount, path, false);
	if (err == ENOTDIR)
		return fail_not_directory(tool, mount, path);
	lockpath_why(mount, advice, why, sizeof(why));
	if (err == EINVAL)
		code = is_nameable(mount, path) ? EXIT_REFUSED : EXIT_USAGE;
	if (strncmp(why, path, plain) == 0 && why[plain] == ' ')
		return tool_fail(tool, code, "%s", why);
	return tool_fail(tool, code, "%s: %s", path, why[0] != '\0' ? why : strerror(err));
}
